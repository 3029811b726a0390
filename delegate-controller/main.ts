// The delegate controller component of a process, in both roles. Without targets the source role is idle; without
// chaperons the target role is.
import type { Logger } from 'pino';
import type { Pod } from '../api/objects/core.ts';
import { PODS } from '../api/resource-types.ts';
import type { ProxyPod } from '../model/proxy/proxy-pod.ts';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import type { EventSink } from '../kubernetes/controller/event-recorder.ts';
import { Informer } from '../kubernetes/watch/informer.ts';
import type { OwnRanges } from '../targets/own-ranges.ts';
import type { TargetClusters } from '../targets/target-clusters.ts';
import type { ReadyChecks } from '../process/health-server.ts';
import { startChaperons } from './chaperon/chaperon-controller.ts';
import { startCopiedSecrets } from './copies/secret-copy-report-controller.ts';
import { startDelegateEvents } from './feedback/delegate-events-controller.ts';
import { startFailover } from './failover/failover-controller.ts';
import { SourceLeases } from './failover/source-lease-controller.ts';
import { startFollow } from './follow/follow-controller.ts';
import type { FollowRules } from './follow/follow-needs.ts';
import { startFeedback } from './feedback/feedback-controller.ts';
import { startPodModeSummaries } from './capacity/pod-mode-summary-controller.ts';
import { SourcePodPlane } from './follow/source-pod-plane.ts';
import { ResourceShares } from './resource-shares/resource-share-controller.ts';
import { SourceRules } from './target-cache/source-rules-cache.ts';
import { StreamGrants } from './streams/stream-grants-controller.ts';
import { startSummary } from './capacity/summary-controller.ts';
import { TARGET_POD_FIELDS, toTargetPodRecord, type TargetPod } from './target-cache/target-pod.ts';

/** Options of the delegate controller. */
export interface DelegateControllerOptions {
  readonly client: ClusterClient;
  /** UID of the cluster's kube-system Namespace. */
  readonly sourceId: string;
  readonly installNamespace: string;
  readonly proxies: Informer<Pod, ProxyPod>;
  readonly targets: TargetClusters;
  readonly ownRanges: OwnRanges;
  /** What placement policies say about objects that are copied to all targets. */
  readonly rules: FollowRules;
  /** Sink of Events about pods. */
  readonly events: EventSink;
  /** Whether this cluster is a target; if not, its own pods and nodes are not watched. */
  readonly takesPods: boolean;
  /** Whether this cluster is a source; if not, the source role is not started. */
  readonly sendsPods: boolean;
  /** Duration of this source's leases in targets, in seconds. */
  readonly leaseSeconds?: number | undefined;
  readonly logger: Logger;
}

/**
 * Starts the source role, and the target role if wanted. The caller runs proxies and targets and may share them.
 * Returns checks whether its own caches are synced.
 */
export function startDelegateController(options: DelegateControllerOptions, signal: AbortSignal): ReadyChecks {
  const own = { ...options, logger: options.logger.child({ component: 'delegate-controller' }) };
  if (options.sendsPods) startInSource(own, signal);
  return options.takesPods ? startInTarget(own, signal) : {};
}

function startInSource(
  {
    client, sourceId, installNamespace, proxies, targets, ownRanges, rules, events, leaseSeconds, logger: own,
  }: DelegateControllerOptions,
  signal: AbortSignal,
): void {
  const podPlane = new SourcePodPlane({ source: client, installNamespace, logger: own });
  startFeedback({ source: client, proxies, targets, podPlane, ownRanges, events, logger: own }, signal);
  startFollow({ source: client, sourceId, proxies, targets, rules, podPlane, events, logger: own }, signal);
  void podPlane.run(signal);
  startFailover({ source: client, sourceId, proxies, targets, events, leaseSeconds, logger: own }, signal);
  startDelegateEvents({ proxies, targets, events, logger: own });
  startPodModeSummaries({ source: client, sourceId, targets, logger: own }, signal);
}

function startInTarget(
  { client, sourceId: ownClusterId, events, logger: own }: DelegateControllerOptions, signal: AbortSignal,
): ReadyChecks {
  const pods = new Informer<Pod, TargetPod>(
    { client, logger: own, type: PODS, selection: {}, project: toTargetPodRecord, fields: TARGET_POD_FIELDS },
  );
  const resourceShares = new ResourceShares({ client, pods, logger: own });
  const sources = new SourceRules({ client, ownClusterId, logger: own });
  const streams = new StreamGrants({ client, pods, sources, logger: own });
  sources.run(signal);
  const hasChaperons = startChaperons(
    {
      client, pods, resourceShares, sources, streams, events, leases: new SourceLeases({ client, logger: own }),
      logger: own,
    },
    signal,
  );
  const hasNodes = startSummary({ client, pods, resourceShares, logger: own }, signal);
  startCopiedSecrets({ client, logger: own }, signal);
  resourceShares.run(signal);
  void pods.run(signal);
  return { chaperons: hasChaperons, nodes: hasNodes, pods: () => pods.hasSynced };
}
