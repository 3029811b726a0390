// The peering component of a process, in both roles: in a target it maintains the identities of its sources, in a
// source the tokens of its targets.
import type { Logger } from 'pino';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import type { EventSink } from '../kubernetes/controller/event-recorder.ts';
import type { TargetClusters } from '../targets/target-clusters.ts';
import { startCredentials } from './access/credential-controller.ts';
import { startJoining } from './invitation/join-controller.ts';
import { startSources } from './identity/source-controller.ts';

/** Dependencies and options. */
export interface PeeringOptions {
  readonly client: ClusterClient;
  /** UID of the cluster's kube-system Namespace. */
  readonly sourceId: string;
  readonly targets: TargetClusters;
  readonly installNamespace: string;
  /** Whether this cluster accepts sources. */
  readonly takesPods: boolean;
  /** Whether this cluster uses targets. */
  readonly sendsPods: boolean;
  readonly events: EventSink;
  readonly logger: Logger;
}

/** Starts the component; the caller runs the targets, which may be shared. */
export function startPeering(
  { client, sourceId, targets, installNamespace, takesPods, sendsPods, events, logger }: PeeringOptions,
  signal: AbortSignal,
): void {
  const own = logger.child({ component: 'peering' });
  if (sendsPods) startCredentials({ source: client, targets, installNamespace, logger: own, now: Date.now }, signal);
  if (!takesPods) return;
  startSources({ client, installNamespace, logger: own }, signal);
  startJoining({ client, clusterId: sourceId, installNamespace, events, logger: own }, signal);
}
