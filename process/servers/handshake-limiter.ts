// Limits TLS handshakes of unknown clients on a server that anybody can reach. A handshake costs a millisecond of CPU,
// so each address gets only a few until it has authenticated. Further connections wait unread and are dropped after a
// timeout. Addresses are served round robin.
import type { Server, Socket } from 'node:net';
import { connectionKey } from './handshakes.ts';
import { peerOf, TokenBucket, type PeerLimits } from './peer-budget.ts';

/** Limits and timeouts. Times in ms. */
export interface HandshakeLimits {
  /** Each address that has not authenticated. */
  readonly stranger: PeerLimits;
  /** Each address that has: an API server, and anybody who shares its address. */
  readonly known: PeerLimits;
  /** All unknown addresses together. */
  readonly strangers: PeerLimits;
  /** Deadline for an unknown client's connection to authenticate. */
  readonly timeoutMs: number;
  /** How long an address stays known after it last authenticated. */
  readonly rememberMs: number;
}

/** Interval at which waiting and overdue connections are checked, in ms. */
const WAITING_EVERY_MS = 20;
const SWEEP_EVERY_MS = 1_000;

interface Peer {
  readonly asStranger: TokenBucket;
  readonly asKnown: TokenBucket;
  /** Its unauthenticated connections, the oldest first. */
  readonly unproven: Set<Arrival>;
  readonly waiting: Set<Arrival>;
  knownUntil: number;
}

interface Arrival {
  readonly socket: Socket;
  readonly peer: Peer;
  readonly at: number;
}

/**
 * Wraps a server that does not listen yet. `now` is a monotonic clock, in ms; `onDropped` is called for each connection
 * that is dropped.
 */
export class HandshakeLimiter {
  readonly #limits: HandshakeLimits;
  readonly #now: () => number;
  readonly #onDropped: () => void;
  readonly #pass: (socket: Socket) => void;
  readonly #peers = new Map<string, Peer>();
  /** By address and port of the client: the accepted socket and the readable one are different objects. */
  readonly #arrivals = new Map<string, Arrival>();
  readonly #asStrangers = new TokenBucket();
  /** Addresses with waiting connections, in round-robin order. */
  readonly #queue = new Set<Peer>();
  #unproven = 0;
  #waitTimer: NodeJS.Timeout | undefined;

  constructor(
    server: Server, limits: HandshakeLimits, onDropped: () => void = () => undefined, now = () => performance.now(),
  ) {
    this.#limits = limits;
    this.#now = now;
    this.#onDropped = onDropped;
    const listeners = server.listeners('connection') as ((this: Server, socket: Socket) => void)[];
    server.removeAllListeners('connection');
    this.#pass = (socket) => listeners.forEach((listener) => listener.call(server, socket));
    server.on('connection', (socket) => this.#arrived(socket));
    const sweep = setInterval(() => this.sweep(), SWEEP_EVERY_MS).unref();
    server.once('close', () => {
      clearInterval(sweep);
      clearTimeout(this.#waitTimer);
    });
  }

  /**
   * The client of this connection has authenticated: the connection no longer counts, and its address gets the higher
   * limits.
   */
  know(socket: Socket): void {
    const arrival = this.#arrivals.get(connectionKey(socket));
    if (arrival === undefined) return;
    arrival.peer.knownUntil = this.#now() + this.#limits.rememberMs;
    this.#leave(arrival);
    if (arrival.peer.waiting.size > 0) this.#serveWaiting();
  }

  /** Closes overdue connections and drops idle addresses. */
  sweep(): void {
    const now = this.#now();
    for (const [name, peer] of this.#peers) {
      if (!this.#isKnown(peer)) {
        for (const arrival of peer.unproven) if (now - arrival.at > this.#limits.timeoutMs) this.#drop(arrival);
      }
      if (peer.unproven.size === 0 && !this.#isKnown(peer) && peer.asStranger.isFull(this.#limits.stranger, now)) {
        this.#peers.delete(name);
      }
    }
  }

  #arrived(socket: Socket): void {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined) return void socket.destroy(); // already closed
    const peer = this.#peer(peerOf(remoteAddress));
    const arrival = { socket, peer, at: this.#now() };
    socket.on('error', () => undefined); // nobody else listens while it waits
    if (!this.#hasRoom(peer)) {
      this.#onDropped();
      return void socket.resetAndDestroy();
    }
    this.#arrivals.set(connectionKey(socket), arrival);
    peer.unproven.add(arrival);
    this.#unproven += 1;
    const key = connectionKey(socket);
    socket.once('close', () => {
      this.#leave(arrival);
      if (this.#arrivals.get(key) === arrival) this.#arrivals.delete(key);
    });
    if (peer.waiting.size === 0 && this.#mayBegin(peer)) return this.#pass(socket);
    peer.waiting.add(arrival);
    this.#queue.add(peer);
    this.#waitTimer ??= setTimeout(() => this.#serveWaiting(), WAITING_EVERY_MS);
  }

  #peer(name: string): Peer {
    let peer = this.#peers.get(name);
    if (peer === undefined) {
      this.#peers.set(name, (
        peer = {
          asStranger: new TokenBucket(), asKnown: new TokenBucket(), unproven: new Set(), waiting: new Set(),
          knownUntil: -Infinity,
        }
      ));
    }
    return peer;
  }

  /**
   * Whether an address may open one more connection. When unknown clients are too many, the address with the most loses
   * its oldest.
   */
  #hasRoom(peer: Peer): boolean {
    const isKnown = this.#isKnown(peer);
    if (peer.unproven.size >= (isKnown ? this.#limits.known : this.#limits.stranger).open) return false;
    if (isKnown || this.#unproven < this.#limits.strangers.open) return true;
    const largest = [...this.#peers.values()].filter((other) => !this.#isKnown(other))
      .reduce((most, other) => (other.unproven.size > most.unproven.size ? other : most), peer);
    const [oldest] = largest.unproven;
    if (largest === peer || oldest === undefined) return false;
    this.#drop(oldest);
    return true;
  }

  #mayBegin(peer: Peer): boolean {
    const now = this.#now();
    if (this.#isKnown(peer)) return peer.asKnown.take(this.#limits.known, now);
    const { stranger, strangers } = this.#limits;
    return this.#asStrangers.has(strangers, now) && peer.asStranger.take(stranger, now)
      && this.#asStrangers.take(strangers, now);
  }

  /** One connection per address, round robin, while budgets allow. */
  #serveWaiting(): void {
    this.#waitTimer = undefined;
    for (const peer of this.#queue) {
      const [first] = peer.waiting;
      if (first !== undefined && !this.#mayBegin(peer)) continue;
      this.#queue.delete(peer);
      if (first === undefined) continue;
      peer.waiting.delete(first);
      this.#pass(first.socket);
      this.#queue.add(peer); // served again in this loop
    }
    if (this.#queue.size > 0) this.#waitTimer ??= setTimeout(() => this.#serveWaiting(), WAITING_EVERY_MS);
  }

  #isKnown({ knownUntil }: Peer): boolean {
    return knownUntil > this.#now();
  }

  #drop(arrival: Arrival): void {
    this.#onDropped();
    this.#leave(arrival);
    arrival.socket.resetAndDestroy();
  }

  /** No longer unauthenticated: either known or closed. */
  #leave(arrival: Arrival): void {
    arrival.peer.waiting.delete(arrival);
    if (arrival.peer.unproven.delete(arrival)) this.#unproven -= 1;
  }
}
