// Relays bytes between a caller and a target without parsing them. Each side is read only as fast as the other accepts
// data, so a stream buffers only a few times 64 KiB whatever its line lengths. Idle streams are closed.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** How long streams may be idle, in ms. */
export interface IdleLimits {
  /**
   * Without a byte in either direction (kubelet's `streamingConnectionIdleTimeout`); for a log: with bytes that its
   * reader does not accept.
   */
  readonly idleMs: number;
  /** After one side has closed and its data was delivered, until the other closes. */
  readonly lingerMs: number;
}

/** The limits in production; four hours are the kubelet's. */
export const IDLE_LIMITS: IdleLimits = { idleMs: 4 * 3_600_000, lingerMs: 30_000 };

/** How often a stream is checked within its limit. */
const CHECKS_PER_PERIOD = 4;

/**
 * Joins two connections until both have closed or one broke. `head` is data that was already read. A side that has
 * closed may have left data that the other accepts slowly: all of it is delivered. Resolves when both are closed.
 */
export function spliceConnections(caller: Connection, target: Connection, limits: IdleLimits): Promise<void> {
  const [one, other] = [caller.socket, target.socket];
  one.write(target.head);
  other.write(caller.head);
  let lastAt = performance.now();
  let ended = 0;
  const moved = () => {
    lastAt = performance.now();
  };
  for (const [from, to] of [[one, other], [other, one]] as const) {
    from.on('data', () => to.destroyed || moved());
    from.on('end', () => {
      ended += 1;
      moved();
    });
    for (const taken of ['drain', 'finish']) to.on(taken, moved);
    from.on('error', () => undefined); // 'close' follows
    const leave = () => {
      // it broke; after a proper end the pipe ends the other side when all is written
      if (!from.readableEnded) to.destroy();
    };
    if (from.closed) leave(); // closed before they were joined
    else from.on('close', leave);
    from.pipe(to);
    // its data is no longer needed, but its end must be observed, and unread data would reset it
    to.once('close', () => from.resume());
  }
  const check = () => {
    const isDelivered = one.writableLength === 0 && other.writableLength === 0;
    if (performance.now() - lastAt < (ended > 0 && isDelivered ? limits.lingerMs : limits.idleMs)) return;
    one.destroy();
    other.destroy();
  };
  const timer = setInterval(check, Math.min(limits.idleMs, limits.lingerMs) / CHECKS_PER_PERIOD).unref();
  return Promise.all([closed(one), closed(other)]).then(() => clearInterval(timer));
}

/** One side of a joined pair. */
export interface Connection {
  readonly socket: Duplex;
  /** Data that was already read from it. */
  readonly head: Buffer;
}

/**
 * Relays a response. If it is cut off, it is cut off for the caller as well. Resolves when the caller has it or is
 * gone.
 */
export function relayAnswer(from: IncomingMessage, to: ServerResponse, limits: IdleLimits): Promise<void> {
  const type = from.headers['content-type'];
  to.writeHead(from.statusCode ?? 502, type === undefined ? {} : { 'content-type': type });
  to.flushHeaders(); // the first line of a followed log may take long
  let takenAt = performance.now();
  from.on('data', () => {
    takenAt = performance.now();
  });
  from.on('close', () => {
    if (!from.complete) to.destroy();
  });
  from.on('error', () => to.destroy());
  from.pipe(to);
  const check = () => {
    if (to.writableNeedDrain && performance.now() - takenAt >= limits.idleMs) to.destroy();
  };
  const timer = setInterval(check, limits.idleMs / CHECKS_PER_PERIOD).unref();
  return new Promise((resolve) => {
    to.once('close', () => {
      clearInterval(timer);
      from.destroy();
      resolve();
    });
  });
}

function closed(socket: Duplex): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
  });
}
