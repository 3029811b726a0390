// Events of a virtual node. Its condition Ready stays True whatever happens to the target (ADR 0052), so that an
// Event, in addition to the condition TargetReady, shows it in `kubectl describe node`.
import type { Condition, Node } from '../../api/objects/core.ts';
import { TARGET_READY_CONDITION } from '../../api/objects/keys.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import type { EventRecord } from '../../model/proxy/event-record.ts';

/** Nothing is known of the target yet: every start of this process begins so. */
const CONNECTING = 'Connecting';

/** The event of a node whose target became ready or stopped being so; undefined when neither is known. */
export function targetEvent({ metadata, status }: Node, conditions: readonly Condition[]): EventRecord | undefined {
  const before = findCondition(status?.conditions, TARGET_READY_CONDITION);
  const now = findCondition(conditions, TARGET_READY_CONDITION);
  if (before === undefined || now === undefined || !hasTurned(before, now)) return undefined;
  const { name = '', uid = '' } = metadata;
  const isReady = now.status === 'True';
  return {
    regarding: { apiVersion: 'v1', kind: 'Node', name, uid },
    type: isReady ? 'Normal' : 'Warning',
    reason: isReady ? 'TargetReady' : 'TargetNotReady',
    action: 'Report',
    note: isReady ? 'The target accepts pods again.' : `The target accepts no pods (${now.reason}): ${now.message}`,
  };
}

/** After a start, a target that is ready needs no Event. */
function hasTurned(before: Condition, now: Condition): boolean {
  if (now.reason === CONNECTING) return false;
  return before.reason === CONNECTING ? now.status !== 'True' : before.status !== now.status;
}
