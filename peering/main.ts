// Peering as one part of a process, in its two roles: as a target it keeps the identities of its sources, as a source the tokens of its targets.
import type { Logger } from 'pino';
import type { ClusterClient } from '../kubernetes/cluster-client.ts';
import type { TargetClusters } from '../kubernetes/target-clusters.ts';
import { startCredentials } from './credential-controller.ts';
import { startSources } from './source-controller.ts';

/** What peering needs. */
export interface PeeringOptions {
  readonly client: ClusterClient;
  readonly targets: TargetClusters;
  readonly installNamespace: string;
  /** Whether other clusters may be sources of this one. */
  readonly takesPods: boolean;
  readonly logger: Logger;
}

/** Starts the component; targets are run by the caller, who may share them. */
export function startPeering({ client, targets, installNamespace, takesPods, logger }: PeeringOptions, signal: AbortSignal): void {
  const own = logger.child({ component: 'peering' });
  startCredentials({ source: client, targets, installNamespace, logger: own }, signal);
  if (takesPods) startSources({ client, installNamespace, logger: own }, signal);
}
