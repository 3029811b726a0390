// Hypotheses of `isthmus plan`: unavailable targets, additional nodes.
import type { ResourceList, StringMap } from '../../api/objects/core.ts';
import { parseResourceList } from '../../model/resources/resources.ts';
import { AppError } from '../../process/errors.ts';
import type { RecordedTarget } from '../../scheduler/explain/recorded-inputs.ts';

/** Additional nodes. */
export interface AddedNodes {
  readonly count: number;
  readonly resources: ResourceList;
  readonly labels: Readonly<Record<string, string>>;
  /** Key or name of the target; every target when missing. */
  readonly target?: string;
}

/** Label by which NVIDIA's device plugin (gpu-feature-discovery) names a node's GPUs. */
const GPU_PRODUCT_LABEL = 'nvidia.com/gpu.product';
/** Resources that come with each GPU of a node, as in common machine types. */
const PER_GPU = { cpu: 16, memoryGi: 128 };

/**
 * Reads `4xH100`, one node with 4 GPUs of this product, or `3xcpu=16,memory=64Gi`, three nodes with these resources;
 * both with
 * `@TARGET` at the end for one target only. Throws AppError `BadInput`.
 */
export function parseAdd(text: string): AddedNodes {
  const [, digits = '', what = '', target] = /^(\d{1,4})x([^@]+)(?:@(.+))?$/.exec(text) ?? [];
  const count = Number(digits);
  if (count < 1) throw badAdd(text);
  const where = target === undefined ? {} : { target };
  if (!what.includes('=')) {
    const resources = {
      cpu: String(PER_GPU.cpu * count), memory: `${PER_GPU.memoryGi * count}Gi`, 'nvidia.com/gpu': String(count),
      pods: '110',
    };
    return { count: 1, resources, labels: { [GPU_PRODUCT_LABEL]: what }, ...where };
  }
  const resources = Object.fromEntries(what.split(',').map((part) => part.split('=', 2)));
  if (
    parseResourceList(resources).invalid.length > 0 || Object.values(resources).some((value) => value === undefined)
  ) throw badAdd(text);
  return { count, resources: { pods: '110', ...resources }, labels: {}, ...where };
}

function badAdd(text: string): AppError {
  return new AppError(
    'BadInput',
    '--add takes 4xH100 (one node with 4 GPUs) or 3xcpu=16,memory=64Gi (three nodes), with @TARGET for one target, ' +
      `not ${JSON.stringify(text)}.`,
  );
}

/** Whether a target is meant by its key or its name. */
function isMeant({ key, ref }: RecordedTarget, text: string): boolean {
  return key === text || ref.name === text;
}

/** The hypothetical targets. Throws AppError `BadInput` for an unknown target. */
export function suppose(
  targets: readonly RecordedTarget[], without: readonly string[], added: readonly AddedNodes[],
): readonly RecordedTarget[] {
  for (const name of [...without, ...added.flatMap(({ target }) => (target === undefined ? [] : [target]))]) {
    if (!targets.some((target) => isMeant(target, name))) throw new AppError(
      'BadInput', `There is no target ${name}; there are ${targets.map(({ key }) => key).join(', ') || 'none'}.`,
    );
  }
  const left = targets.filter((target) => !without.some((name) => isMeant(target, name)));
  return left.map((target) => added.reduce(
    (grown, nodes) => (nodes.target === undefined || isMeant(target, nodes.target)
      ? withNodes(grown, nodes, target.summary?.commonLabels)
      : grown),
    target,
  ));
}

/** `common` are the labels that every real node has: a new node has them, too. */
function withNodes(
  target: RecordedTarget, { count, resources, labels }: AddedNodes, common: StringMap = {},
): RecordedTarget {
  const { summary } = target;
  if (summary === undefined) return target;
  const group = { labels: { ...common, ...labels }, holes: [{ count, free: resources }] };
  const { commonLabels: _folded, nodeGroups = [], ...rest } = summary;
  const groups = nodeGroups.map((known) => ({ ...known, labels: { ...summary.commonLabels, ...known.labels } }));
  const [allocatable, free] = [summary.allocatable, summary.free].map((list) => sum(list ?? {}, resources, count));
  return {
    ...target,
    summary: { ...rest, ...(allocatable && { allocatable }), ...(free && { free }), nodeGroups: [...groups, group] },
  };
}

/** In whole units, which every quantity can express: CPU in milli-units. */
function sum(list: ResourceList, added: ResourceList, count: number): ResourceList {
  const amounts = new Map(parseResourceList(list).amounts);
  for (const [resource, amount] of parseResourceList(added).amounts) {
    amounts.set(resource, (amounts.get(resource) ?? 0) + amount * count);
  }
  return Object.fromEntries(
    [...amounts].map(([resource, amount]) => [resource, resource === 'cpu' ? `${amount}m` : String(amount)]),
  );
}
