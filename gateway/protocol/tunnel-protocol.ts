// What both ends of a session agree on before the first HTTP/2 frame. Each TLS connection carries one HTTP/2 session in one direction and lane;
// ALPN says which. The one that dials may be the HTTP/2 server: roles flip, and so a member that can only dial out is reached (ADR 0009).
import type { TrafficClass } from './cable-driver.ts';

/** One of the four sessions of a cable, as its dialer sees it: `open` means that the dialer opens streams, `serve` that its peer does. */
export interface Purpose {
  readonly dialer: 'open' | 'serve';
  readonly lane: TrafficClass;
}

/** All sessions of a cable. Those over which the dialer is reached come first: a target behind NAT has nothing else to offer. */
export const PURPOSES: readonly Purpose[] = [
  { dialer: 'serve', lane: 'calls' },
  { dialer: 'serve', lane: 'bulk' },
  { dialer: 'open', lane: 'calls' },
  { dialer: 'open', lane: 'bulk' },
];

/** The ALPN protocol of a purpose (RFC 7301). A changed protocol gets another number, so that old and new never misread one another. */
export function alpnOf({ dialer, lane }: Purpose): string {
  return `isthmus-1-${dialer}-${lane}`;
}

/** The purpose behind a negotiated ALPN protocol; undefined when none of ours was negotiated. */
export function purposeOf(alpn: string | false | null | undefined): Purpose | undefined {
  return PURPOSES.find((purpose) => alpnOf(purpose) === alpn);
}

/** Windows of flow control in bytes: at 64 KiB, HTTP/2's own, a stream makes 10 Mbit/s over a round trip of 50 ms. */
export const STREAM_WINDOW = 8 << 20;
/** Of all streams of a session together. */
export const SESSION_WINDOW = 32 << 20;
/** What Node may hold for one session, in MiB: beyond its window there are headers and frames under way. */
export const SESSION_MEMORY_MIB = 64;

/** Bounds and times (ms) of sessions and listeners; tests shorten them. */
export interface TunnelLimits {
  /** For a connection, its TLS handshake and the first answered ping, together. */
  readonly handshakeMs: number;
  /** For one address of several. */
  readonly dialMs: number;
  readonly pingEveryMs: number;
  /** Without an answered ping or any other byte for so long, a session is dead. */
  readonly deadAfterMs: number;
  /** First and longest wait before a new dial. */
  readonly redialFirstMs: number;
  readonly redialMaxMs: number;
  /** How long a stream waits for a cable that is being made. */
  readonly cableWaitMs: number;
  /** For the connection from a gateway to a service of its cluster. */
  readonly serviceMs: number;
  /** A stream of which one direction has ended may stay for so long. */
  readonly halfClosedMs: number;
  readonly streamsPerSession: number;
  /** Streams of one peer whose service has not answered yet. */
  readonly pendingStreamsPerPeer: number;
  readonly sessionsPerPeer: number;
  /** Sessions of one peer that end before they are open; beyond it the peer is refused for the rest of the minute. */
  readonly brokenPerMinute: number;
  readonly handshakes: number;
  readonly handshakesPerAddress: number;
  readonly connections: number;
}

/** What production uses. A dead peer is noticed within 8 s (fault 55 of table B2 asks for 10); a refused one is dialled again after at most 10 s. */
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
 * The bytes that refuse a peer after the TLS handshake, without reading anything of it: an HTTP/2 preface, then GOAWAY with the reason
 * (RFC 9113 §3.4, §6.8). TLS 1.3 lets a dialer believe that it is connected before its certificate was looked at; so it learns why not.
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
