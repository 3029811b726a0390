// Virtual nodes as one part of a process.
import type { Logger } from 'pino';
import type { ClusterClient } from '../kubernetes/cluster-client.ts';
import type { TargetClusters } from '../kubernetes/target-clusters.ts';
import { startVirtualNodes } from './virtual-node-controller.ts';

/** Starts the component; targets are run by the caller, who may share them. */
export function startVirtualNode(options: { readonly source: ClusterClient; readonly targets: TargetClusters; readonly logger: Logger }, signal: AbortSignal): void {
  startVirtualNodes(options, signal);
}
