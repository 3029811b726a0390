// The contract of a cable driver: what carries traffic to the other members of a clusterset. Types only. One suite of tests holds every
// driver to it (test/contract/cable-driver.ts). Names of states and fields are those of Submariner's Gateway object.
import type { Duplex } from 'node:stream';
import type { FailureCause } from './failure-cause.ts';
import type { RoundTripStatistics } from './round-trip-statistics.ts';

/** Another member. */
export interface Peer {
  readonly clusterId: string;
  /** `host:port` where its gateways listen, tried in turn; empty where it can only dial out, so that we wait for it. */
  readonly addresses: readonly string[];
}

/** Calls and watches travel apart from bulk (logs, exec, kubectl), so that a long answer never stands in their way. */
export type TrafficClass = 'calls' | 'bulk';

/** A cable as it is now. */
export interface CableConnection {
  readonly clusterId: string;
  readonly status: 'connecting' | 'connected' | 'error';
  /** What is going on, for people; with status `error` the cause in words and what to change. */
  readonly statusMessage: string;
  /** With status `error`. */
  readonly cause?: FailureCause;
  /** Address of the peer that is in use. */
  readonly usingIP?: string;
  /** Whether the peer's address as we see it is none of those that it announced. */
  readonly usingNAT: boolean;
  /** Bytes on the wire since the process began. */
  readonly rxBytes: number;
  readonly txBytes: number;
  readonly latencyRTT?: RoundTripStatistics;
  /** The last round trip in ms; missing before the first. */
  readonly roundTripMs?: number;
}

/** Carries traffic to peers. Errors are told by {@link CableDriver.connections}, never thrown. */
export interface CableDriver {
  /** Name as in `Endpoint.spec.backend`. */
  readonly name: string;
  /** Wants a cable to a peer from now on. Idempotent; with other addresses the cable moves without a break. */
  connect(peer: Peer): void;
  /** Wants none any more: sessions are closed at once, and the peer is refused. */
  disconnect(clusterId: string): void;
  /** A cable for each peer that is wanted. */
  connections(): readonly CableConnection[];
  /** Ends everything. With `drainMs` streams may go on for that long, while new ones are refused. */
  close(drainMs?: number): Promise<void>;
}

/** What a stream is opened for. */
export interface StreamRequest {
  readonly clusterId: string;
  /** Name of a service on the peer's list, {@link API_SERVER_SERVICE} first. */
  readonly service: string;
  readonly lane: TrafficClass;
}

/** A driver that carries byte streams to services of peers. */
export interface StreamDriver extends CableDriver {
  /**
   * Opens a stream, waiting a while for a cable that is just being made.
   * @throws StreamRefusedError with what is wrong.
   */
  openStream(request: StreamRequest, signal: AbortSignal): Promise<Duplex>;
}

/** Who opened what, for the audit log. */
export interface StreamRecord {
  /** Opened by us towards the peer, or by the peer towards us. */
  readonly direction: 'out' | 'in';
  readonly clusterId: string;
  readonly service: string;
  readonly lane: TrafficClass;
  /** Address of the local client (out) or of the peer (in). */
  readonly from: string;
  readonly outcome: 'opened' | 'refused';
  /** Why it was refused; empty when opened. */
  readonly reason: string;
}
