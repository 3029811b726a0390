// Controller that updates the status of placement policies.
import type { Logger } from 'pino';
import { ignoreStale } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { DONE, startController } from '../../kubernetes/controller/controller.ts';
import { executePlan } from '../../kubernetes/controller/execute-plan.ts';
import type { PlacementInputs } from '../cache/placement-inputs.ts';
import { planPolicyStatus } from './policy-status.ts';

/** What the controller works with. */
export interface PolicyStatusOptions {
  readonly source: ClusterClient;
  readonly inputs: PlacementInputs;
  readonly logger: Logger;
}

/**
 * Starts the controller; call before the inputs run. Keys of namespaced policies contain a slash, those of cluster
 * policies do not.
 */
export function startPolicyStatus({ source, inputs, logger }: PolicyStatusOptions, signal: AbortSignal): void {
  const reconcile = async (key: string) => {
    const policy = inputs.policies.map((informer) => informer.get(key)).find((found) => found !== undefined);
    if (policy !== undefined) {
      await executePlan(source, planPolicyStatus(policy, new Date().toISOString()), signal).catch(ignoreStale);
    }
    return DONE;
  };
  const controller =
    startController({ name: 'policy-status', reconcile, concurrency: 4, logger, ready: inputs.untilHeard() }, signal);
  for (const informer of inputs.policies) informer.onChange((key) => controller.enqueue(key));
}
