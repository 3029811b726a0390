// Controller that updates the status of placement policies, and deletes those of moves that have expired.
import type { Logger } from 'pino';
import { ignoreStale } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { DONE, startController, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import { executePlan } from '../../kubernetes/controller/execute-plan.ts';
import type { TargetClusters } from '../../targets/target-clusters.ts';
import type { PlacementInputs } from '../cache/placement-inputs.ts';
import type { KnownPolicy } from '../snapshot/placement-rules.ts';
import { toTargetLabels, type TargetLabels } from '../snapshot/virtual-node-info.ts';
import { planExpiry } from './move-expiry.ts';
import { reachOf } from './policy-reach.ts';
import { planPolicyStatus } from './policy-status.ts';

/** What the controller works with. */
export interface PolicyStatusOptions {
  readonly source: ClusterClient;
  readonly targets: TargetClusters;
  readonly inputs: PlacementInputs;
  readonly logger: Logger;
}

/**
 * Starts the controller; call before the inputs run. Keys of namespaced policies contain a slash, those of cluster
 * policies do not.
 */
export function startPolicyStatus({ source, targets, inputs, logger }: PolicyStatusOptions, signal: AbortSignal): void {
  const reconcile = async (key: string): Promise<ReconcileResult> => {
    const policy = inputs.policies.map((informer) => informer.get(key)).find((found) => found !== undefined);
    if (policy === undefined) return DONE;
    const expiry = planExpiry(policy.object, source.transport.clock.earliest(performance.now()));
    if (expiry.kind === 'expired') {
      await executePlan(source, expiry.plan, signal).catch(ignoreStale);
      return DONE;
    }
    // Of a policy that is invalid no part can be relied on.
    const reach = policy.problem === undefined ? reachOf(policy, targetsFor(policy, targets, inputs)) : undefined;
    await executePlan(source, planPolicyStatus(policy, new Date().toISOString(), reach), signal).catch(ignoreStale);
    return expiry.kind === 'later' ? { kind: 'requeue-after', ms: expiry.ms } : DONE;
  };
  const ready = Promise.all([inputs.untilReadOrBroken(), targets.untilSynced()]);
  const controller = startController({ name: 'policy-status', reconcile, concurrency: 4, logger, ready }, signal);
  for (const informer of inputs.policies) informer.onChange((key) => controller.enqueue(key));
  const enqueueAll = (): void => {
    for (const informer of inputs.policies) for (const key of informer.keys()) controller.enqueue(key);
  };
  inputs.listen({ nodeChanged: enqueueAll, rulesChanged: () => undefined });
  targets.listen({ changed: enqueueAll, removed: enqueueAll });
}

/** Labels of the targets that pods of the policy may use; none while one of them is not known yet. */
function targetsFor(
  { namespace }: KnownPolicy, targets: TargetClusters, inputs: PlacementInputs,
): readonly TargetLabels[] {
  const open = [...targets.all()].filter(
    ({ ref }) => namespace === undefined || ref.kind === 'ClusterTarget' || ref.namespace === namespace,
  );
  if (open.some(({ nodeName }) => inputs.nodes.get(nodeName) === undefined)) return [];
  return open.map(({ ref, nodeName }) => toTargetLabels(
    { kind: ref.kind, nodeName, node: inputs.nodes.get(nodeName), labels: targets.object(ref)?.labels ?? {} },
  ));
}
