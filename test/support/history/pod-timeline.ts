// Where the time of a pod went, from its creation to its running: what the watches of all clusters saw of it, in the
// order of the steps.
import type { Pod } from '../../../api/objects/core.ts';
import { PARENT_UID_LABEL } from '../../../api/objects/keys.ts';
import { isBound } from '../../../model/pod/pod.ts';
import { isRunning, type IsthmusWorld, type WorldCluster } from '../worlds/isthmus-world.ts';

/** One step: what was seen, and how long after the pod was created it was seen first, in ms. */
export interface TimelineStep {
  readonly step: string;
  readonly afterMs: number;
}

/** What was seen at a time, on the clock of the watches. */
type Seen = readonly [at: number, step: string];

/** The steps of the pod of this UID; `createdAt` is on the clock of the watches. */
export function timelineOf({ source, targets }: IsthmusWorld, uid: string, createdAt: number): TimelineStep[] {
  const first = new Map<string, number>();
  for (const [at, step] of [...proxySteps(source, uid), ...targets.flatMap((target) => targetSteps(target, uid))]) {
    if (!first.has(step)) first.set(step, at);
  }
  return [...first].map(([step, at]) => ({ step, afterMs: Math.round(at - createdAt) }))
    .toSorted((one, other) => one.afterMs - other.afterMs);
}

function proxySteps({ pods }: WorldCluster, uid: string): Seen[] {
  return pods.history.flatMap(({ at, after }): Seen[] => {
    if (after?.metadata.uid !== uid) return [];
    const refused =
      (after.status?.conditions ?? []).filter(({ type, status }) => type === 'PodScheduled' && status === 'False');
    return [[at, 'created'], ...lifeSteps(at, after, `bound to ${after.spec.nodeName}`, 'runs'), ...refused.map(
      ({ reason }): Seen => [at, `told ${reason}`],
    )];
  });
}

function targetSteps({ cluster: { name }, pods, chaperons }: WorldCluster, uid: string): Seen[] {
  const isOurs = (after: { readonly metadata: Pod['metadata'] } | undefined) =>
    after?.metadata.labels?.[PARENT_UID_LABEL] === uid;
  const delegates = pods.history.flatMap(({ at, after }) => (
    after !== undefined
      && isOurs(after) ? lifeSteps(at, after, `${name}: delegate has its node`, `${name}: delegate runs`) : []
  ));
  return [...delegates, ...presence(pods.history, isOurs, `${name}: delegate`), ...presence(
    chaperons.history, isOurs, `${name}: chaperon`,
  )];
}

function lifeSteps(at: number, pod: Pod, bound: string, runs: string): Seen[] {
  return [...(isBound(pod) ? [[at, bound] as const] : []), ...(isRunning(pod) ? [[at, runs] as const] : [])];
}

/** Comings and goings. Of one name there may be several objects, one after the other. */
function presence<T>(
  history: readonly { readonly at: number; readonly key: string; readonly after: T | undefined }[],
  isOurs: (after: T | undefined) => boolean, what: string,
): Seen[] {
  const there = new Set<string>();
  return history.flatMap(({ at, key, after }): Seen[] => {
    if (isOurs(after)) return there.has(key) ? [] : (there.add(key), [[at, what]]);
    return there.delete(key) ? [[at, `${what} gone`]] : [];
  });
}
