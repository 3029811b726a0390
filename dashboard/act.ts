// Does what a viewer asked for on the page, by the code of the command of the same name and with the viewer's client.
import type { TargetDiscovery } from '../api/registry/target-discovery.ts';
import { TARGET_DISCOVERIES } from '../api/resource-types.ts';
import { parseTarget, targetText } from '../cli/clusters/cluster-flags.ts';
import { requireLabel } from '../cli/output/object-names.ts';
import { cordonTarget, drainTarget } from '../cli/pods/drain-target.ts';
import { movePod } from '../cli/pods/move.ts';
import { planApproval } from '../discovery/plan/approval.ts';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import { within } from '../kubernetes/flow/abort.ts';
import { isConflict, isNotFound, unless } from '../kubernetes/flow/api-error.ts';
import { AppError } from '../process/errors.ts';
import type { Action, ApproveAction, MoveAction, TargetAction } from './wire/actions.ts';
import { isObjectName } from './wire/routes.ts';

/** How long a call may take, how long pods may stay after their eviction, and how long a move may take, in ms. */
const [ACT_MS, DRAIN_MS, MOVE_MS] = [15_000, 300_000, 300_000];
/** Discovery writes the status of an object that is approved: a conflict is usual. */
const APPROVE_ATTEMPTS = 5;

/**
 * Resolves to what was done, in a sentence.
 * @throws AppError `BadInput` for a text that names no object, and what the command throws.
 */
export function act(client: ClusterClient, action: Action, signal: AbortSignal): Promise<string> {
  switch (action.kind) {
    case 'move':
      return move(client, action, signal);
    case 'approve':
      return within(ACT_MS, signal, (either) => approve(client, action, either));
    case 'cordon':
    case 'uncordon':
    case 'drain':
      return onTarget(client, action, signal);
  }
}

async function onTarget(
  client: ClusterClient, { kind, target }: TargetAction, signal: AbortSignal,
): Promise<string> {
  const ref = parseTarget(target);
  if (kind === 'drain') {
    const options = { evictUnmanaged: false, forMs: DRAIN_MS };
    await drainTarget(client, ref, options, { tell: () => undefined, signal });
    return `Target ${target} is drained.`;
  }
  await within(ACT_MS, signal, (either) => cordonTarget(client, ref, kind === 'cordon', either));
  return `Target ${target} is ${kind}ed.`;
}

async function move(client: ClusterClient, action: MoveAction, signal: AbortSignal): Promise<string> {
  const { namespace, name } = action;
  requireLabel('The namespace of a pod', namespace);
  requireObjectName('pod', name);
  const target = parseTarget(action.target);
  const request = { at: { namespace, name }, target, recreates: false, forMs: MOVE_MS };
  const moved = await movePod(client, request, { tell: () => undefined, signal });
  return `Pod ${namespace}/${moved} runs in ${targetText(target)}.`;
}

async function approve(
  client: ClusterClient, { discovery: name, ...seen }: ApproveAction, signal: AbortSignal,
): Promise<string> {
  requireObjectName('TargetDiscovery', name);
  const { cluster } = seen;
  for (let attempt = 1; ; attempt += 1) {
    const found: TargetDiscovery | undefined =
      await client.get<TargetDiscovery>(TARGET_DISCOVERIES, { name }, signal).catch(unless(isNotFound));
    if (found === undefined) throw new AppError('NotFound', `There is no TargetDiscovery ${name}.`);
    const plan = planApproval(found, seen);
    if (plan.kind === 'refuse') throw new AppError('BadInput', plan.message);
    if (plan.kind === 'nothing') return `${cluster} is approved already.`;
    const patch = {
      metadata: { resourceVersion: found.metadata.resourceVersion }, spec: { approved: plan.approved },
    };
    try {
      await client.patch(TARGET_DISCOVERIES, { name }, { patchType: 'merge', patch }, signal);
      return `${cluster} is approved. It becomes a target once its credentials can be used.`;
    } catch (error) {
      if (!isConflict(error) || attempt === APPROVE_ATTEMPTS) throw error;
    }
  }
}

function requireObjectName(kind: string, name: string): void {
  if (!isObjectName(name)) throw new AppError('BadInput', `${JSON.stringify(name)} is no name of a ${kind}.`);
}
