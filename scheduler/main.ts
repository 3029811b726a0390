// The scheduler component of a process: the scheduling loop and the other controllers.
import { CONFIG_MAPS } from '../api/resource-types.ts';
import { messageOf } from '../process/errors.ts';
import { startFailback } from './failback/failback-controller.ts';
import { startOverdue } from './cycle/overdue-controller.ts';
import { startClusterDecisions } from './publishing/cluster-decision-controller.ts';
import { ClusterInventory } from './publishing/cluster-inventory.ts';
import { startClusterProfiles } from './publishing/cluster-profile-controller.ts';
import { startPolicyStatus } from './policies/policy-status-controller.ts';
import { toSettingsConfigMap } from './decision/scheduler-settings.ts';
import { followMisplacedPods } from './reporting/misplaced-pods-controller.ts';
import { startScheduling, type SchedulingOptions } from './cycle/scheduling-controller.ts';

/** Options of the scheduler. */
export interface SchedulerOptions extends Omit<SchedulingOptions, 'ready'> {
  /** Namespace of the Isthmus installation. */
  readonly installNamespace: string;
  /** Namespaces in which targets are published as ClusterProfiles; none when missing. */
  readonly profileNamespaces?: readonly string[] | undefined;
}

const FIELD_MANAGER = 'isthmus-scheduler';

/**
 * Starts the component. The caller runs proxies, targets and inputs and may share them; inputs must run after this has
 * started.
 */
export function startScheduler(given: SchedulerOptions, signal: AbortSignal): void {
  const { proxies, targets, inputs } = given;
  const ready = Promise.all([proxies.synced, targets.untilSynced(), inputs.untilReadOrBroken()]);
  const options = { ...given, ready, logger: given.logger.child({ component: 'scheduler' }) };
  const cache = startScheduling(options, signal);
  startOverdue({ ...options, cache }, signal);
  startFailback({ ...options, policies: () => inputs.policyIndex, viewOf: (key) => cache.views.get(key) }, signal);
  startPolicyStatus(options, signal);
  const inventory = new ClusterInventory(options, given.profileNamespaces ?? []);
  startClusterProfiles({ ...options, inventory }, signal);
  startClusterDecisions({ ...options, inventory, cache }, signal);
  inventory.run(signal);
  void followMisplacedPods(options, signal);
  void publishSettings(options, signal);
}

/** For `isthmus explain` and `isthmus plan`. Placement does not wait for it and works without it. */
async function publishSettings(
  { source, placement = {}, installNamespace, logger }: SchedulerOptions, signal: AbortSignal,
): Promise<void> {
  try {
    await source.apply(CONFIG_MAPS, toSettingsConfigMap(placement, installNamespace), FIELD_MANAGER, signal);
  } catch (error) {
    if (!signal.aborted) {
      logger.warn({ error: messageOf(error) }, 'the settings of the scheduler could not be published');
    }
  }
}
