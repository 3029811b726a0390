// Session parameters that both ends agree on before the first HTTP/2 frame. A gateway connection, in code a cable as in
// Submariner, consists of four sessions: two directions, each with two lanes, that is, traffic classes. Each TLS
// connection carries one HTTP/2 session, whose purpose (direction and lane) is named by ALPN. The dialer may be the
// HTTP/2 server: roles flip, and so a member that can only dial out is reachable (ADR 0009).
import type { TrafficClass } from './cable-driver.ts';

/**
 * One of a connection's four sessions, as its dialer sees it: `open` means that the dialer opens streams, `serve` that
 * its peer does.
 */
export interface Purpose {
  readonly dialer: 'open' | 'serve';
  /** The traffic class that it carries, as in audit records and metrics. */
  readonly lane: TrafficClass;
}

/**
 * All sessions of a connection. Those by which the dialer is reached come first: a target behind NAT has nothing else
 * to offer.
 */
export const PURPOSES: readonly Purpose[] = [
  { dialer: 'serve', lane: 'calls' },
  { dialer: 'serve', lane: 'bulk' },
  { dialer: 'open', lane: 'calls' },
  { dialer: 'open', lane: 'bulk' },
];

/**
 * The ALPN protocol of a purpose (RFC 7301). A changed protocol gets another number, so that versions never misread
 * each other.
 */
export function alpnOf({ dialer, lane }: Purpose): string {
  return `isthmus-1-${dialer}-${lane}`;
}

/** The purpose of a negotiated ALPN protocol; undefined when it is not a name of this protocol. */
export function purposeOf(alpn: string | false | null | undefined): Purpose | undefined {
  return PURPOSES.find((purpose) => alpnOf(purpose) === alpn);
}

/**
 * Flow-control windows in bytes: with HTTP/2's default of 64 KiB a stream reaches 10 Mbit/s at a round trip of 50 ms.
 */
export const STREAM_WINDOW = 8 << 20;
/** For all streams of a session together. */
export const SESSION_WINDOW = 32 << 20;
/** Node's memory limit for one session, in MiB: its window plus headers and frames in flight. */
export const SESSION_MEMORY_MIB = 64;

/** Limits and timings (ms) of sessions and listeners; tests shorten them. */
export interface TunnelLimits {
  /** For a connection, its TLS handshake and the first answered HTTP/2 ping, together. */
  readonly handshakeMs: number;
  /** For one address of several. */
  readonly dialMs: number;
  /** Interval of HTTP/2 pings on each session. */
  readonly pingEveryMs: number;
  /** A session without any received byte for this long is dead. */
  readonly deadAfterMs: number;
  /** First and longest delay before a redial. */
  readonly redialFirstMs: number;
  readonly redialMaxMs: number;
  /** How long a stream waits for a connection between gateways that is being established. */
  readonly cableWaitMs: number;
  /** Connect timeout from a gateway to a service of its cluster. */
  readonly serviceMs: number;
  /** How long a half-closed stream may stay open. */
  readonly halfClosedMs: number;
  readonly streamsPerSession: number;
  /** Streams of one peer whose service has not answered yet. */
  readonly pendingStreamsPerPeer: number;
  readonly sessionsPerPeer: number;
  /**
   * Sessions of one peer that end before they are open; beyond this the peer is rejected for the rest of the minute.
   */
  readonly brokenPerMinute: number;
  readonly handshakes: number;
  readonly handshakesPerAddress: number;
  readonly connections: number;
}

/**
 * Production defaults. A dead peer is noticed within 8 s (fault 55 of `docs/results/faults.md` requires 10); a rejected
 * one is redialled after at most 10 s.
 */
export const TUNNEL_LIMITS: TunnelLimits = {
  handshakeMs: 10_000,
  dialMs: 2_000,
  pingEveryMs: 1_500,
  deadAfterMs: 6_000,
  redialFirstMs: 100,
  redialMaxMs: 10_000,
  cableWaitMs: 4_000,
  serviceMs: 5_000,
  halfClosedMs: 60_000,
  streamsPerSession: 1_000,
  pendingStreamsPerPeer: 256,
  sessionsPerPeer: 16,
  brokenPerMinute: 32,
  handshakes: 256,
  handshakesPerAddress: 64,
  connections: 4_096,
};

const CLIENT_PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const SETTINGS_FRAME = 4;
const GOAWAY_FRAME = 7;

/**
 * The bytes that reject a peer after the TLS handshake without reading anything from it: an HTTP/2 preface, then GOAWAY
 * with the reason (RFC 9113 §3.4, §6.8). In TLS 1.3 a dialer considers itself connected before its certificate was
 * verified; this tells it why it is not.
 */
export function refusalBytes(words: string, { dialer }: Purpose): Buffer {
  const reason = Buffer.from(words.slice(0, 220), 'utf8');
  const goaway = Buffer.concat([Buffer.from([0, 0, 0, 0, 0, 0, 0, 0]), reason]);
  const preface = dialer === 'serve' ? Buffer.from(CLIENT_PREFACE, 'latin1') : Buffer.alloc(0);
  return Buffer.concat([preface, frame(SETTINGS_FRAME, Buffer.alloc(0)), frame(GOAWAY_FRAME, goaway)]);
}

function frame(type: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header.writeUInt8(type, 3);
  return Buffer.concat([header, payload]);
}
