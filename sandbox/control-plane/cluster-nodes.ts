// What a control plane asks of the real nodes that it is given. Without them it has kwok's.
import type { Transport } from '../../kubernetes/http/transport.ts';

/** The real nodes of one cluster. */
export interface ClusterNodes {
  /** Makes the network that the API server listens in. */
  open(signal: AbortSignal): Promise<void>;
  /** Starts the nodes and the cluster's DNS, once the API answers. */
  start(api: Transport, signal: AbortSignal): Promise<void>;
  /** Ends everything, also after a start that failed. */
  stop(): Promise<void>;
}
