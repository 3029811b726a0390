// The screens of workloads and of pods: filtered, grouped, and cut to what a page can show.
import type { Filters } from '../wire/routes.ts';
import type { PodRow, PodsScreen, WorkloadPart, WorkloadRow, WorkloadsScreen } from '../wire/screens.ts';
import { unreadableIn } from './reading.ts';
import type { SeenPod } from './seen-pod.ts';
import type { SeenSource } from './targets-view.ts';

/** Maximum number of rows of a screen; filters narrow it. */
export const MOST_ROWS = 200;
/** The filter for pods without a target. */
const WAITING = 'none';

/** The screen of pods; undefined until they were read once. */
export function podsScreen(source: SeenSource, filters: Filters): PodsScreen | undefined {
  const pods = filtered(source, filters);
  if (pods === undefined) return undefined;
  const rows = pods.toSorted((one, other) => (one.key < other.key ? -1 : 1));
  return {
    screen: 'pods', rows: rows.slice(0, MOST_ROWS).map(rowOf), total: rows.length,
    targets: targetsOf(rows), unreadable: unreadableIn({ pods: source.pods }, source.namespace),
  };
}

/** The screen of workloads; undefined until pods were read once. */
export function workloadsScreen(source: SeenSource, filters: Filters): WorkloadsScreen | undefined {
  const pods = filtered(source, filters);
  if (pods === undefined) return undefined;
  const groups = new Map<string, SeenPod[]>();
  for (const pod of pods) {
    const key = `${pod.namespace}/${pod.workload}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [pod]);
    else group.push(pod);
  }
  const largest = [...groups].toSorted(([a, ones], [b, others]) => others.length - ones.length || (a < b ? -1 : 1));
  return {
    screen: 'workloads', rows: largest.slice(0, MOST_ROWS).map(([, group]) => workloadRow(group)),
    total: largest.length, targets: targetsOf(pods), unreadable: unreadableIn({ pods: source.pods }, source.namespace),
  };
}

/** Pods that match the filters, as far as they can be read; undefined while they are being read. */
export function filtered({ pods }: SeenSource, filters: Filters): readonly SeenPod[] | undefined {
  if (pods.kind === 'reading') return undefined;
  return pods.kind === 'read' ? pods.records.filter((pod) => matches(pod, filters)) : [];
}

function matches(pod: SeenPod, { namespace, target, status, workload, text }: Filters): boolean {
  return (namespace === undefined || pod.namespace === namespace)
    && (target === undefined || (pod.target ?? WAITING) === target)
    && (status === undefined || pod.status.toLowerCase() === status.toLowerCase())
    && (workload === undefined || pod.workload === workload)
    && (text === undefined || `${pod.key} ${pod.workload}`.toLowerCase().includes(text.toLowerCase()));
}

/** Without what only the server needs. */
export function rowOf(pod: SeenPod): PodRow {
  const { namespace, name, createdAt, status, isReady, restarts, target, workload, problem } = pod;
  return { namespace, name, createdAt, status, isReady, restarts, target, workload, problem };
}

function targetsOf(pods: readonly SeenPod[]): readonly string[] {
  return [...new Set(pods.flatMap(({ target }) => (target === undefined ? [] : [target])))].toSorted();
}

function workloadRow(pods: readonly SeenPod[]): WorkloadRow {
  const [kind = '', ...name] = (pods[0]?.workload ?? '').split('/');
  const parts = new Map<string | undefined, WorkloadPart>();
  for (const { target, status } of pods) {
    const before = parts.get(target) ?? { target, pods: 0, running: 0 };
    parts.set(target, { target, pods: before.pods + 1, running: before.running + (status === 'Running' ? 1 : 0) });
  }
  return {
    namespace: pods[0]?.namespace ?? '', kind, name: name.join('/'), pods: pods.length,
    running: pods.filter(({ status }) => status === 'Running').length,
    parts: [...parts.values()].toSorted((one, other) => (order(one) < order(other) ? -1 : 1)),
  };
}

/** Pods without a target come last. */
function order({ target }: WorkloadPart): string {
  return target === undefined ? '~' : target;
}
