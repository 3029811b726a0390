// Peering as one part of a process, in its two roles: as a target it keeps the identities of its sources, as a source the tokens of its targets.
import type { Logger } from 'pino';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import type { EventSink } from '../kubernetes/controller/event-recorder.ts';
import type { TargetClusters } from '../targets/target-clusters.ts';
import { startCredentials } from './access/credential-controller.ts';
import { startJoining } from './invitation/join-controller.ts';
import { startSources } from './identity/source-controller.ts';

/** What peering needs. */
export interface PeeringOptions {
  readonly client: ClusterClient;
  /** UID of the cluster's kube-system Namespace. */
  readonly sourceId: string;
  readonly targets: TargetClusters;
  readonly installNamespace: string;
  /** Whether other clusters may be sources of this one. */
  readonly takesPods: boolean;
  /** Whether this cluster may be a source of others. */
  readonly sendsPods: boolean;
  readonly events: EventSink;
  readonly logger: Logger;
}

/** Starts the component; targets are run by the caller, who may share them. */
export function startPeering({ client, sourceId, targets, installNamespace, takesPods, sendsPods, events, logger }: PeeringOptions, signal: AbortSignal): void {
  const own = logger.child({ component: 'peering' });
  if (sendsPods) startCredentials({ source: client, targets, installNamespace, logger: own, now: Date.now }, signal);
  if (!takesPods) return;
  startSources({ client, installNamespace, logger: own }, signal);
  startJoining({ client, clusterId: sourceId, installNamespace, events, logger: own }, signal);
}
