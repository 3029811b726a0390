// Carries bytes between a caller and a target without looking at them. Each side is read only as fast as the other takes it, so a stream holds
// some buffers of 64 KiB whatever goes through it: lines have no length here. What has stood still for too long is ended.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** How long streams may stand still, in ms. */
export interface IdleLimits {
  /** Without a byte either way (kubelet's `streamingConnectionIdleTimeout`); for a log: with bytes that its reader does not take. */
  readonly idleMs: number;
  /** After one side has ended and all that it said was handed on, and the other has not ended. */
  readonly lingerMs: number;
}

/** What production uses; four hours are the kubelet's. */
export const IDLE_LIMITS: IdleLimits = { idleMs: 4 * 3_600_000, lingerMs: 30_000 };

/** How often a stream is looked at within its limit. */
const LOOKS = 4;

/**
 * Joins two connections until both have ended, or one broke. `head`s are what was read of them before. Whoever has ended may have left much that the
 * other side takes slowly: all of it is delivered. Resolves when both are closed.
 */
export function joinConnections(caller: Connection, target: Connection, limits: IdleLimits): Promise<void> {
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
      if (!from.readableEnded) to.destroy(); // it broke; after a proper end the pipe ends the other side when all is written
    };
    if (from.closed) leave(); // before they were joined
    else from.on('close', leave);
    from.pipe(to);
    to.once('close', () => from.resume()); // nobody hears it any more, but its end must be seen, and what is left unread would reset it
  }
  const look = () => {
    const isDelivered = one.writableLength === 0 && other.writableLength === 0;
    if (performance.now() - lastAt < (ended > 0 && isDelivered ? limits.lingerMs : limits.idleMs)) return;
    one.destroy();
    other.destroy();
  };
  const timer = setInterval(look, Math.min(limits.idleMs, limits.lingerMs) / LOOKS).unref();
  return Promise.all([closed(one), closed(other)]).then(() => clearInterval(timer));
}

/** One side of a joined pair. */
export interface Connection {
  readonly socket: Duplex;
  /** What was read of it already. */
  readonly head: Buffer;
}

/** Hands an answer on. One that breaks off breaks off for the caller as well. Resolves when the caller has it or has gone. */
export function relayAnswer(from: IncomingMessage, to: ServerResponse, limits: IdleLimits): Promise<void> {
  const type = from.headers['content-type'];
  to.writeHead(from.statusCode ?? 502, type === undefined ? {} : { 'content-type': type });
  to.flushHeaders(); // of a log that is followed the first line may be long in coming
  let takenAt = performance.now();
  from.on('data', () => {
    takenAt = performance.now();
  });
  from.on('close', () => {
    if (!from.complete) to.destroy();
  });
  from.on('error', () => to.destroy());
  from.pipe(to);
  const look = () => {
    if (to.writableNeedDrain && performance.now() - takenAt >= limits.idleMs) to.destroy();
  };
  const timer = setInterval(look, limits.idleMs / LOOKS).unref();
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
