// Whether free capacity has changed so little since it was published that sources may learn it a few seconds later. A
// target that is nearly full has no small changes: there each pod decides what fits.
import type { ClusterSummary, NodeGroup } from '../../api/kinds/cluster-summary.ts';
import type { ResourceList } from '../../api/objects/core.ts';
import { parseResourceList } from '../../model/resources/resources.ts';

/** A change up to this part of what was free is small. */
const SMALL_PART = 0.1;

/**
 * Whether two summaries of a target differ in free capacity alone, and there, in each group of nodes, by at most a
 * tenth of what was free: of their sum, and of the most that one node has. Any change of GPUs or ResourceShares counts.
 */
export function isSmallChange(before: ClusterSummary, after: ClusterSummary): boolean {
  if (fixedPart(before) !== fixedPart(after)) return false;
  return (before.nodeGroups ?? []).every((group, index) => {
    const next = after.nodeGroups?.[index];
    return next !== undefined && isSmallInGroup(group, next);
  });
}

function fixedPart(summary: ClusterSummary): string {
  const { free: _free, largestFree: _largest, observed: _observed, nodeGroups, ...fixed } = summary;
  return JSON.stringify([fixed, nodeGroups?.map(({ holes, ...group }) => [group, nodesIn(holes)])]);
}

function nodesIn(shapes: NodeGroup['holes']): number {
  return shapes.reduce((sum, { count }) => sum + count, 0);
}

function isSmallInGroup(before: NodeGroup, after: NodeGroup): boolean {
  return Object.keys(before.shape ?? {}).every((resource) => {
    const [was, is] = [freeIn(before, resource), freeIn(after, resource)];
    return isSmallPart(is.sum - was.sum, was.sum) && isSmallPart(is.most - was.most, was.most);
  });
}

function isSmallPart(difference: number, of: number): boolean {
  return Math.abs(difference) <= of * SMALL_PART;
}

function freeIn({ shape, holes }: NodeGroup, resource: string): { readonly sum: number; readonly most: number } {
  let [sum, most] = [0, 0];
  for (const { count, free } of holes) {
    const amount = amountOf(free, resource) ?? amountOf(shape, resource) ?? 0;
    sum += count * amount;
    most = Math.max(most, amount);
  }
  return { sum, most };
}

function amountOf(list: ResourceList | undefined, resource: string): number | undefined {
  const value = list?.[resource];
  return value === undefined ? undefined : parseResourceList({ [resource]: value }).amounts.get(resource);
}
