// The pod-plane process of a node: its network, leader election among the gateway candidates, and its
// ClustersetGateway object.
import type { Logger } from 'pino';
import { POD_PLANE_BACKEND } from '../../api/kinds/gateway.ts';
import { forwardAbort } from '../../kubernetes/flow/abort.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import { LeaderElection } from '../../kubernetes/lease/leader-election.ts';
import type { LeaseTimings } from '../../kubernetes/lease/lease-record.ts';
import { isInstanceGone } from '../../process/instance-id.ts';
import { version } from '../../process/version.ts';
import { keepGatewayObject } from '../../gateway/status/gateway-object-controller.ts';
import { leaseIdentity, readLeaseIdentity } from '../plan/plane-nodes.ts';
import { LINK_NAMES } from '../network/node-network.ts';
import { PodPlaneController, type PodPlaneOptions } from './pod-plane-controller.ts';
import { POD_PLANE_LEASE } from './pod-plane-state.ts';
import { RouteAgent } from './route-agent.ts';
import { observeGateway } from '../../gateway/status/tunnel-metrics.ts';

/** Dependencies and options. */
export interface PodPlaneNodeOptions extends Pick<
  PodPlaneOptions,
  'client' | 'namespace' | 'node' | 'program' | 'listenPort' | 'addresses' | 'pathMtu' | 'startDriver'
> {
  /** Holder identity for the Lease. */
  readonly instanceId: string;
  readonly makeAgent?: () => RouteAgent;
  readonly timings?: LeaseTimings;
  readonly logger: Logger;
}

/** A running process. */
export interface PodPlaneNode {
  readonly hasSynced: boolean;
  /** Resolves when everything has stopped and was removed after the signal. */
  readonly ended: Promise<void>;
}

/**
 * A Lease of 5 s with a renew deadline of 3.5 s, renewed each second: of the 8 s for a failover, almost three are left
 * for a busy machine.
 */
const POD_PLANE_TIMINGS: LeaseTimings =
  { leaseMs: 5_000, renewWithinMs: 3_500, renewEveryMs: 1_000, retryMs: 250, callMs: 1_200 };
const INTERVAL_MS = 500;

/** Starts it. When `signal` is aborted, the tunnel is removed first and then the Lease is released. */
export function startPodPlaneNode(options: PodPlaneNodeOptions, signal: AbortSignal): PodPlaneNode {
  const { client, namespace, node, instanceId, timings = POD_PLANE_TIMINGS, logger: root } = options;
  const logger = root.child({ component: 'pod-plane', node });
  const identity = leaseIdentity(node, instanceId);
  const isHolderGone = (holder: string) => isInstanceGone(readLeaseIdentity(holder).instanceId);
  const election =
    new LeaderElection({ client, namespace, name: POD_PLANE_LEASE, identity, timings, isHolderGone, logger });
  const { makeAgent = () => new RouteAgent(LINK_NAMES, logger) } = options;
  const controller =
    new PodPlaneController({ ...options, makeAgent, fence: election, changed: () => undefined, logger });
  election.listen({ leading: () => controller.followFence() });
  observeGateway({ connections: () => controller.connections(), certificateEndMs: () => undefined });
  const down = new AbortController();
  const running = controller.run(signal).finally(() => down.abort());
  return {
    get hasSynced() {
      return controller.hasSynced;
    },
    ended: Promise
      .all([running, campaign(election, controller, down.signal), showCandidate(options, controller, logger, signal)])
      .then(() => undefined),
  };
}

/**
 * Takes part in the election while this node is a candidate. The Lease outlives the tunnel, never the other way round.
 */
export async function campaign(
  election: Pick<LeaderElection, 'run'>,
  controller: Pick<PodPlaneController, 'hasSynced' | 'isCandidate' | 'withoutTunnel'>, signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    if (controller.hasSynced && controller.isCandidate) {
      const turn = new AbortController();
      const forget = forwardAbort([signal], turn);
      const ended = election.run(turn.signal);
      while (!signal.aborted && controller.isCandidate) await delay(INTERVAL_MS, signal);
      await controller.withoutTunnel(() => {
        turn.abort();
        return ended;
      });
      await ended;
      forget();
    }
    await delay(INTERVAL_MS, signal);
  }
}

/** Only candidates have a ClustersetGateway object; there may be thousands of other nodes. */
async function showCandidate(
  { client, namespace, node }: { readonly client: ClusterClient; readonly namespace: string; readonly node: string },
  controller: PodPlaneController, logger: Logger, signal: AbortSignal,
): Promise<void> {
  while (
    !signal.aborted && !(controller.hasSynced && (controller.isCandidate || controller.isActive))
  ) await delay(INTERVAL_MS, signal);
  if (signal.aborted) return;
  const facts = () => ({
    isActive: controller.isActive, version: version(), clusterId: controller.clusterId ?? '',
    backend: POD_PLANE_BACKEND, connections: controller.connections(), nowMs: Date.now(), failure: controller.failure,
  });
  await keepGatewayObject({ client, namespace, name: `pod-plane-${node}`, facts, logger }, signal);
}
