// The screen of targets, and of clusters that could become some.
import type { ClusterTarget, Target } from '../../api/kinds/cluster-target.ts';
import type { TargetDiscovery } from '../../api/registry/target-discovery.ts';
import type { Node } from '../../api/objects/core.ts';
import { targetOverviews } from '../../cli/get/target-table.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import type { ActionKind } from '../wire/actions.ts';
import type { ProposedCluster, TargetCard, TargetsScreen } from '../wire/screens.ts';
import { unreadableIn, knownRecords, type Reading } from './reading.ts';
import type { SeenPod } from './seen-pod.ts';

/** More are shown once some have been approved. */
const MOST_PROPOSED = 50;

/** The source as the viewer may read it. */
export interface SeenSource {
  /** The only namespace that was read; all when missing. */
  readonly namespace?: string | undefined;
  readonly clusterTargets: Reading<ClusterTarget>;
  readonly targets: Reading<Target>;
  readonly nodes: Reading<Node>;
  readonly pods: Reading<SeenPod>;
  /** What the viewer may do with targets; nothing when missing. */
  readonly actions?: readonly ActionKind[] | undefined;
}

/** What is kept of a TargetDiscovery, which may have thousands of entries. */
export type Proposals = readonly ProposedCluster[];

/** TargetDiscoveries as the viewer may read them. */
export interface SeenDiscoveries {
  readonly discoveries: Reading<Proposals>;
  /** What the viewer may do with them. */
  readonly actions: readonly ActionKind[];
}

/** The screen; undefined until everything was read once. */
export function targetsScreen(source: SeenSource, discovered: SeenDiscoveries): TargetsScreen | undefined {
  const { clusterTargets, targets, nodes, pods, namespace, actions = [] } = source;
  const { discoveries } = discovered;
  if ([clusterTargets, targets, nodes, pods, discoveries].some(({ kind }) => kind === 'reading')) return undefined;
  const [known, all, proposed] = [knownRecords(pods), targetsOf(source), proposedClusters(discovered)];
  const running = countByNode(known ?? []);
  const byName = new Map(knownRecords(nodes)?.map((one) => [one.metadata.name, one]));
  const view = { pods: known?.map(({ nodeName }) => ({ spec: nodeName === undefined ? {} : { nodeName } })) };
  return {
    screen: 'targets',
    targets: targetOverviews(all, { ...view, nodes: knownRecords(nodes) }).map(({ target, node, ...overview }) => ({
      name: overview.name, node, state: overview.state, isReady: overview.state === 'Ready',
      isCordoned: overview.isCordoned, message: overview.message, pods: overview.pods,
      running: known === undefined ? undefined : (running.get(node) ?? 0), ...statusFields(target),
      reportedAt: findCondition(byName.get(node)?.status?.conditions, 'Ready')?.lastHeartbeatTime,
    })),
    waiting: known?.filter(({ nodeName, waits }) => nodeName === undefined && waits !== undefined).length,
    actions: [...actions, ...discovered.actions],
    proposed: proposed.slice(0, MOST_PROPOSED), proposedTotal: proposed.length,
    unreadable: unreadableIn({ clustertargets: clusterTargets, nodes, targetdiscoveries: discoveries }, undefined)
      .concat(unreadableIn({ targets, pods }, namespace)),
  };
}

/** Targets of both kinds, as far as they can be read. */
export function targetsOf({ clusterTargets, targets }: SeenSource): readonly (ClusterTarget | Target)[] {
  return [...(knownRecords(clusterTargets) ?? []), ...(knownRecords(targets) ?? [])];
}

function countByNode(pods: readonly SeenPod[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { nodeName = '', status } of pods) {
    if (status === 'Running') counts.set(nodeName, (counts.get(nodeName) ?? 0) + 1);
  }
  return counts;
}

function statusFields({ spec: { prices, gateway }, status = {} }: ClusterTarget | Target): Partial<TargetCard> {
  const { free = {}, rtt, delegation, conditions } = status;
  return {
    freeCpu: free.cpu, freeMemory: free.memory, freeGpus: free.gpu, rtt, delegation,
    prices: prices && Object.entries(prices).map((pair) => pair.join(' ')).toSorted().join(', '),
    gateway: gateway?.cluster,
    since: findCondition(conditions, 'Ready')?.lastTransitionTime,
  };
}

/** The proposed clusters of a TargetDiscovery; one that has been approved is no longer among them. */
export function proposalsOf({ metadata: { name = '' }, spec, status }: TargetDiscovery): Proposals {
  const approved = new Set(spec.approved);
  return (status?.clusters ?? []).flatMap(({ state, name: cluster, entry, clusterID: clusterId, message }) => (
    state === 'Proposed' && !approved.has(cluster) ? [{ discovery: name, cluster, entry, clusterId, message }] : []
  ));
}

/** Those of all TargetDiscoveries, by name. */
function proposedClusters({ discoveries }: SeenDiscoveries): readonly ProposedCluster[] {
  const key = ({ discovery, cluster, entry }: ProposedCluster): string => `${discovery} ${cluster} ${entry}`;
  return (knownRecords(discoveries) ?? []).flat().toSorted((one, other) => (key(one) < key(other) ? -1 : 1));
}
