// The screen of pods that do not run yet, grouped by why, with the smallest change that would help.
import { shortTargetName } from '../../model/naming/target-ref.ts';
import type { Explanation } from '../../scheduler/explain/explain.ts';
import type { Filters } from '../wire/routes.ts';
import type { UnreadablePart, PendingGroup, PendingScreen } from '../wire/screens.ts';
import type { WaitReason } from '../pod/wait-reason.ts';
import { filtered } from './pod-lists.ts';
import { unreadableIn } from './reading.ts';
import type { SeenPod } from './seen-pod.ts';
import type { SeenSource } from './targets-view.ts';

const MOST_GROUPS = 50;
const MOST_EXAMPLES = 5;

/** Pods that wait for the same reason. */
export interface WaitingGroup extends WaitReason {
  /** Oldest first. */
  readonly pods: readonly [SeenPod, ...SeenPod[]];
}

/** The groups, largest first; undefined while pods are being read. */
export function waitingGroups(source: SeenSource, filters: Filters): readonly WaitingGroup[] | undefined {
  const pods = filtered(source, filters);
  if (pods === undefined) return undefined;
  const groups = new Map<string, WaitReason & { readonly pods: [SeenPod, ...SeenPod[]] }>();
  for (const pod of pods.toSorted((one, other) => (one.createdAt < other.createdAt ? -1 : 1))) {
    const { waits } = pod;
    if (waits === undefined || pod.status === 'Terminating') continue;
    const key = `${waits.reason} ${waits.message}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { ...waits, pods: [pod] });
    else group.pods.push(pod);
  }
  return [...groups.values()].toSorted((one, other) => other.pods.length - one.pods.length);
}

/** How the scheduler would decide for the first pod of a group, by its UID; missing where that is not known. */
export type Explanations = ReadonlyMap<string, Explanation>;

/** The screen; `unevaluated` says why there are no explanations. */
export function pendingScreen(
  source: SeenSource, groups: readonly WaitingGroup[], explanations: Explanations, unevaluated?: UnreadablePart,
): PendingScreen {
  const isExplainable = groups.some(({ pods: [first] }) => first.nodeName === undefined);
  return {
    screen: 'pending',
    groups: groups.slice(0, MOST_GROUPS).map((group) => groupOf(group, explanations.get(group.pods[0].uid))),
    reasons: groups.length, total: groups.reduce((sum, { pods }) => sum + pods.length, 0),
    unreadable: [
      ...unreadableIn({ pods: source.pods }, source.namespace),
      ...(unevaluated !== undefined && isExplainable ? [unevaluated] : []),
    ],
  };
}

function groupOf({ reason, message, pods }: WaitingGroup, explanation: Explanation | undefined): PendingGroup {
  const { smallestChange: change, chosen } = explanation ?? {};
  return {
    reason: change === undefined ? reason : reasonsIn(change.changes, reason), message, pods: pods.length,
    since: pods[0].createdAt,
    workloads: [...new Set(pods.map(({ namespace, workload }) => `${namespace}/${workload}`))].slice(0, MOST_EXAMPLES),
    examples: pods.slice(0, MOST_EXAMPLES).map(({ namespace, name }) => ({ namespace, name })),
    change, wouldGoTo: chosen === undefined ? undefined : shortTargetName(chosen),
  };
}

/** The reasons of the target that is nearest, which say more than `Unschedulable`. */
function reasonsIn(changes: readonly string[], otherwise: string): string {
  const reasons = changes.flatMap((change) => /^[A-Z][A-Za-z]+(?=: )/.exec(change)?.[0] ?? []);
  return reasons.length === 0 ? otherwise : reasons.join(', ');
}
