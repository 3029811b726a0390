// The cable driver interface: what connects a cluster to the other members of its clusterset. A cable, as Submariner
// calls it, is what users read of as a gateway connection. Types only. One contract test suite covers every driver
// (test/contract/cable-driver.ts). States and fields are named as in Submariner's ClustersetGateway object.
import type { Duplex } from 'node:stream';
import type { FailureCause } from './failure-cause.ts';
import type { RoundTripStatistics } from '../../api/kinds/gateway.ts';

/** Another member. */
export interface Peer {
  readonly clusterId: string;
  /** `host:port` where its gateways listen, tried in order; empty when it can only dial out, so that we wait for it. */
  readonly addresses: readonly string[];
}

/**
 * Traffic classes with separate sessions: calls and watches, or bulk (logs, exec, kubectl), so that a long response
 * never delays a call. Fields and the header that hold one are named `lane`.
 */
export type TrafficClass = 'calls' | 'bulk';

/** State of a gateway connection. */
export interface CableConnection {
  readonly clusterId: string;
  readonly status: 'connecting' | 'connected' | 'error';
  /** Status message; with status `error` the cause and what to change. */
  readonly statusMessage: string;
  /** With status `error`. */
  readonly cause?: FailureCause;
  /** The peer's address in use. */
  readonly usingIP?: string;
  /** Whether the observed address of the peer differs from all announced ones (NAT). */
  readonly usingNAT: boolean;
  /** Bytes on the wire since the process started. */
  readonly rxBytes: number;
  readonly txBytes: number;
  readonly latencyRTT?: RoundTripStatistics;
  /** The last round-trip time in ms; missing before the first. */
  readonly roundTripMs?: number;
}

/** Carries traffic to peers. Errors are reported by {@link CableDriver.connections}, never thrown. */
export interface CableDriver {
  /** Name as in `Endpoint.spec.backend`. */
  readonly name: string;
  /** Adds or updates a peer. Idempotent; with new addresses the connection moves without interruption. */
  connect(peer: Peer): void;
  /** Removes a peer: its sessions close at once, and it is rejected. */
  disconnect(clusterId: string): void;
  /** State of each peer's connection. */
  connections(): readonly CableConnection[];
  /** Shuts down. With `drainMs` open streams may continue for that long, while new ones are rejected. */
  close(drainMs?: number): Promise<void>;
}

/** What to open a stream for. */
export interface StreamRequest {
  readonly clusterId: string;
  /** Name of a service on the peer's list, {@link API_SERVER_SERVICE} first. */
  readonly service: string;
  /** The sessions that may carry it. */
  readonly lane: TrafficClass;
}

/** A driver that carries byte streams to services of peers. */
export interface StreamDriver extends CableDriver {
  /**
   * Opens a stream; waits a while for a connection that is being established.
   * @throws StreamRefusedError with what is wrong.
   */
  openStream(request: StreamRequest, signal: AbortSignal): Promise<Duplex>;
}

/** Audit record of a stream. */
export interface StreamRecord {
  /** Opened by us towards the peer, or by the peer towards us. */
  readonly direction: 'out' | 'in';
  readonly clusterId: string;
  readonly service: string;
  readonly lane: TrafficClass;
  /** Address of the local client (out) or of the peer (in). */
  readonly from: string;
  readonly outcome: 'opened' | 'refused';
  /** Why it was rejected; empty when opened. */
  readonly reason: string;
}
