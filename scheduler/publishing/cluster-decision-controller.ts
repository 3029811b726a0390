// Controller that publishes ClusterDecisions. Policies, targets and namespaces are followed; capacity is looked at
// again every half minute, since it only lets clusters join.
import type { Logger } from 'pino';
import type { ClusterDecision } from '../../api/placement/cluster-decision.ts';
import type { TargetDiscovery } from '../../api/registry/target-discovery.ts';
import { CLUSTER_DECISIONS, TARGET_DISCOVERIES } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { DONE, startController } from '../../kubernetes/controller/controller.ts';
import { executePlan } from '../../kubernetes/controller/execute-plan.ts';
import { ignoreLate, ignoreStale } from '../../kubernetes/flow/api-error.ts';
import { fullInformersOf } from '../../kubernetes/watch/full-objects.ts';
import { NOTHING, type Plan } from '../../model/objects/plan.ts';
import { argoClusterNames } from '../../model/naming/argo-cluster-names.ts';
import type { TargetClusters } from '../../targets/target-clusters.ts';
import type { PlacementInputs } from '../cache/placement-inputs.ts';
import type { TargetViews } from '../cache/target-views.ts';
import type { PlacementContext } from '../decision/placement-constraints.ts';
import { chooseClusters, type ClusterDecisionContext } from './choose-clusters.ts';
import type { ClusterInventory } from './cluster-inventory.ts';
import { planDecisionStatus } from './decision-status.ts';
import { planSlices, publishedTargets } from './placement-slices.ts';

/** What the controller works with. */
export interface ClusterDecisionOptions {
  readonly source: ClusterClient;
  readonly targets: TargetClusters;
  readonly inputs: PlacementInputs;
  readonly inventory: ClusterInventory;
  readonly logger: Logger;
  /** The scheduler's cache. */
  readonly cache: { readonly views: TargetViews; readonly context: PlacementContext };
}

/** Polling interval of capacity, in ms. */
const INTERVAL_MS = 30_000;

/** Starts the controller; call before the inputs run. TargetDiscoveries are followed once there is a decision. */
export function startClusterDecisions(options: ClusterDecisionOptions, signal: AbortSignal): void {
  const { source, targets, inputs, inventory, logger, cache } = options;
  const inform = fullInformersOf({ client: source, logger });
  const [decisions, discoveries] = [inform(CLUSTER_DECISIONS), inform(TARGET_DISCOVERIES)];
  const reconcile = async (key: string) => {
    const decision = decisions.get(key);
    if (decision === undefined) return DONE;
    const names = discoveries.hasSynced ? namesOf(targets, [...discoveries.records()]) : undefined;
    const now = new Date();
    const context = { targets: cache.views.snapshots(), placement: cache.context, names, now: now.getTime() };
    const plan = planDecisionStatus(decision, chooseClusters(decision, context), now.toISOString());
    await executePlan(source, plan, signal).catch(ignoreStale);
    await executePlan(source, slicesOf(decision, context, inventory), signal).catch(ignoreLate);
    return { kind: 'requeue-after', ms: INTERVAL_MS } as const;
  };
  const ready = Promise.all([inputs.untilReadOrBroken(), targets.untilSynced()]);
  const controller = startController({ name: 'cluster-decisions', reconcile, concurrency: 4, logger, ready }, signal);
  const enqueueAll = (): void => {
    for (const key of decisions.keys()) controller.enqueue(key);
  };
  inputs.listen({ nodeChanged: enqueueAll, rulesChanged: enqueueAll });
  targets.listen({ changed: enqueueAll, removed: enqueueAll });
  inventory.onChange(enqueueAll);
  discoveries.onChange(enqueueAll);
  discoveries.onListed(enqueueAll);
  let isFollowing = false;
  decisions.onChange((key, _before, after) => {
    if (after !== undefined && !isFollowing) {
      isFollowing = true;
      void discoveries.run(signal);
    }
    controller.enqueue(key);
  });
  void decisions.run(signal);
}

/** The same decision for readers of ClusterProfiles, by their names: where there are any, and these are known. */
function slicesOf(decision: ClusterDecision, context: ClusterDecisionContext, inventory: ClusterInventory): Plan {
  const { namespace = '' } = decision.metadata;
  const existing = inventory.slicesIn(namespace);
  const profiles = inventory.profileNames(namespace);
  if (existing === undefined || profiles === undefined) return NOTHING;
  const published = publishedTargets(decision, existing)
    .filter((name) => profiles.has(name) || inventory.profile(`${namespace}/${name}`) === undefined)
    .map((target) => ({ clusterName: target, target }));
  const names = new Map([...profiles].map((name) => [name, name]));
  const choice = chooseClusters({ ...decision, status: { decisions: published } }, { ...context, names });
  return planSlices(decision, choice, existing);
}

/** Without targets that are being deleted. */
function namesOf(
  targets: TargetClusters, discoveries: readonly TargetDiscovery[],
): ReadonlyMap<string, string> {
  const named = [...targets.all()].flatMap(({ ref }) => {
    const object = targets.object(ref);
    if (object === undefined || object.terminating || ref.kind !== 'ClusterTarget') return [];
    return [{ name: ref.name, isSelf: object.spec.self === true, clusterId: object.status.clusterID }];
  });
  return argoClusterNames(named, discoveries);
}
