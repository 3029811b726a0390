// Tables of `isthmus get`. Pure. One row per elected pod, with its state at both ends.
import type { Node, Pod } from '../../api/objects/core.ts';
import { DELEGATE_NAME_ANNOTATION, TARGET_ANNOTATION } from '../../api/objects/keys.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import { shortTargetName } from '../../model/naming/target-ref.ts';
import { isTerminating } from '../../model/pod/pod.ts';
import { ageOf } from '../output/text-table.ts';

/** Rows under their titles. */
export interface Table {
  readonly header: readonly string[];
  readonly rows: readonly (readonly (string | undefined)[])[];
}

/** A cell whose value the user may not read. */
export const UNKNOWN = '<unknown>';

/** A delegate as its target shows it; `unknown` when the target does not respond. */
export type DelegateView = { readonly kind: 'found'; readonly node: string | undefined; readonly phase: string }
  | { readonly kind: 'missing' } | { readonly kind: 'unknown' };

/** Key of a delegate: its target as `Kind/name`, its namespace and its name. */
export function delegateKey({ metadata }: Pod): string | undefined {
  const [target, name] = [metadata.annotations?.[TARGET_ANNOTATION], metadata.annotations?.[DELEGATE_NAME_ANNOTATION]];
  return target === undefined || name === undefined ? undefined : `${target} ${metadata.namespace}/${name}`;
}

/** Elected pods with their delegates. `now` is in ms since the epoch. */
export function podTable(pods: readonly Pod[], delegates: ReadonlyMap<string, DelegateView>, options: {
  readonly now: number; readonly wide: boolean
}): Table {
  const header = ['NAMESPACE', 'NAME', 'STATUS', 'TARGET', 'NODE', 'STATUS THERE', 'AGE', ...(
    options.wide ? ['DELEGATE', 'MESSAGE'] : []
  )];
  return { header, rows: sortedByName(pods).map((pod) => podRow(pod, delegates.get(delegateKey(pod) ?? ''), options)) };
}

function podRow(
  pod: Pod, delegate: DelegateView | undefined, { now, wide }: { readonly now: number; readonly wide: boolean },
): (string | undefined)[] {
  const { namespace, name, annotations = {}, creationTimestamp } = pod.metadata;
  const [target, waiting] = [annotations[TARGET_ANNOTATION], findCondition(pod.status?.conditions, 'PodScheduled')];
  return [
    namespace, name, statusOf(pod), target === undefined ? undefined : shortTargetName(target),
    delegate?.kind === 'found' ? delegate.node : undefined,
    delegate === undefined ? undefined : statusThere(delegate), ageOf(creationTimestamp, now),
    ...(wide ? [annotations[DELEGATE_NAME_ANNOTATION], waiting?.status === 'False' ? waiting.message : undefined] : []),
  ];
}

function statusThere(delegate: DelegateView): string {
  if (delegate.kind === 'found') return delegate.phase;
  return delegate.kind === 'missing' ? 'Missing' : 'Unknown';
}

/** The phase, or Terminating. */
export function statusOf(pod: Pod): string {
  return isTerminating(pod) ? 'Terminating' : (pod.status?.phase ?? 'Pending');
}

/** Virtual nodes with the number of pods on each. */
export function nodeTable(
  nodes: readonly Node[], pods: readonly Pod[] | undefined, { now }: { readonly now: number },
): Table {
  const counts = new Map<string, number>();
  for (const { spec } of pods ?? []) counts.set(spec.nodeName ?? '', (counts.get(spec.nodeName ?? '') ?? 0) + 1);
  const rows = sortedByName(nodes).map((node) => {
    const { name = '', creationTimestamp } = node.metadata;
    const { cpu = '', memory = '' } = node.status?.allocatable ?? {};
    return [
      name, stateOf(node), pods === undefined ? UNKNOWN : String(counts.get(name) ?? 0),
      String(cpu), String(memory), ageOf(creationTimestamp, now),
    ];
  });
  return { header: ['NAME', 'STATUS', 'PODS', 'CPU', 'MEMORY', 'AGE'], rows };
}

function stateOf({ spec, status }: Node): string {
  const ready = findCondition(status?.conditions, 'Ready')?.status === 'True' ? 'Ready' : 'NotReady';
  return spec?.unschedulable === true ? `${ready},SchedulingDisabled` : ready;
}

/** By namespace and name. */
export function sortedByName<T extends { readonly metadata: { readonly namespace?: string; readonly name?: string } }>(
  objects: readonly T[],
): readonly T[] {
  const key = ({ metadata }: T) => `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
  return objects.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}
