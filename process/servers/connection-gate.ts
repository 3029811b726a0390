// What stands before the TLS of a server that anybody may connect to and few may use. A handshake costs a millisecond of CPU, so each address has
// only so many until it has shown that it is known; what is too much waits unread, and is dropped when it has waited too long. No
// address gets another one's turn.
import type { Server, Socket } from 'node:net';
import { peerOf, TokenBucket, type PeerLimits } from './peer-budget.ts';

/** Who gets how much, and for how long. Times in ms. */
export interface GateLimits {
  /** Each address that has not shown that it is known. */
  readonly stranger: PeerLimits;
  /** Each address that has: an API server, but also whoever shares an address with one. */
  readonly known: PeerLimits;
  /** All strangers together. */
  readonly strangers: PeerLimits;
  /** A stranger's connection ends after this time if nothing was right about it. */
  readonly patience: number;
  /** An address stays known for so long after it has last shown it. */
  readonly remember: number;
}

/** How often those that wait, and those that are late, are looked at, in ms. */
const WAITING_EVERY_MS = 20;
const SWEEP_EVERY_MS = 1_000;

interface Peer {
  readonly asStranger: TokenBucket;
  readonly asKnown: TokenBucket;
  /** Its connections that have not shown that they are known, the oldest first. */
  readonly unproven: Set<Arrival>;
  readonly waiting: Set<Arrival>;
  knownUntil: number;
}

interface Arrival {
  readonly socket: Socket;
  readonly peer: Peer;
  readonly at: number;
}

/** Stands before a server that does not listen yet. `now` is a monotonic clock, in ms; `onDropped` is told of each connection that is not served. */
export class ConnectionGate {
  readonly #limits: GateLimits;
  readonly #now: () => number;
  readonly #onDropped: () => void;
  readonly #pass: (socket: Socket) => void;
  readonly #peers = new Map<string, Peer>();
  /** By address and port of the client: the socket that was accepted and the one that can be read are different ones. */
  readonly #arrivals = new Map<string, Arrival>();
  readonly #asStrangers = new TokenBucket();
  /** Addresses with connections that wait, in the order of their turns. */
  readonly #queue = new Set<Peer>();
  #unproven = 0;
  #waitTimer: NodeJS.Timeout | undefined;

  constructor(server: Server, limits: GateLimits, onDropped: () => void = () => undefined, now = () => performance.now()) {
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

  /** The client of this connection has shown that it is known: the connection counts no more, and its address may begin many. */
  know(socket: Socket): void {
    const arrival = this.#arrivals.get(keyOf(socket));
    if (arrival === undefined) return;
    arrival.peer.knownUntil = this.#now() + this.#limits.remember;
    this.#leave(arrival);
    if (arrival.peer.waiting.size > 0) this.#serveWaiting();
  }

  /** Ends what is late, and forgets addresses about which there is nothing to remember. */
  sweep(): void {
    const now = this.#now();
    for (const [name, peer] of this.#peers) {
      if (!this.#isKnown(peer)) {
        for (const arrival of peer.unproven) if (now - arrival.at > this.#limits.patience) this.#drop(arrival);
      }
      if (peer.unproven.size === 0 && !this.#isKnown(peer) && peer.asStranger.isFull(this.#limits.stranger, now)) this.#peers.delete(name);
    }
  }

  #arrived(socket: Socket): void {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined) return void socket.destroy(); // gone already
    const peer = this.#peer(peerOf(remoteAddress));
    const arrival = { socket, peer, at: this.#now() };
    socket.on('error', () => undefined); // while it waits nobody else listens
    if (!this.#hasRoom(peer)) {
      this.#onDropped();
      return void socket.resetAndDestroy();
    }
    this.#arrivals.set(keyOf(socket), arrival);
    peer.unproven.add(arrival);
    this.#unproven += 1;
    const key = keyOf(socket);
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
    if (peer === undefined) this.#peers.set(name, (peer = { asStranger: new TokenBucket(), asKnown: new TokenBucket(), unproven: new Set(), waiting: new Set(), knownUntil: -Infinity }));
    return peer;
  }

  /** Whether one more connection of an address may be open. Where strangers are too many, the one with the most of them loses its oldest. */
  #hasRoom(peer: Peer): boolean {
    const isKnown = this.#isKnown(peer);
    if (peer.unproven.size >= (isKnown ? this.#limits.known : this.#limits.stranger).open) return false;
    if (isKnown || this.#unproven < this.#limits.strangers.open) return true;
    const largest = [...this.#peers.values()].filter((other) => !this.#isKnown(other)).reduce((most, other) => (other.unproven.size > most.unproven.size ? other : most), peer);
    const [oldest] = largest.unproven;
    if (largest === peer || oldest === undefined) return false;
    this.#drop(oldest);
    return true;
  }

  #mayBegin(peer: Peer): boolean {
    const now = this.#now();
    if (this.#isKnown(peer)) return peer.asKnown.take(this.#limits.known, now);
    const { stranger, strangers } = this.#limits;
    return this.#asStrangers.has(strangers, now) && peer.asStranger.take(stranger, now) && this.#asStrangers.take(strangers, now);
  }

  /** One of each address in turn, for as long as any may begin: who had a turn is last from then on. */
  #serveWaiting(): void {
    this.#waitTimer = undefined;
    for (const peer of this.#queue) {
      const [first] = peer.waiting;
      if (first !== undefined && !this.#mayBegin(peer)) continue;
      this.#queue.delete(peer);
      if (first === undefined) continue;
      peer.waiting.delete(first);
      this.#pass(first.socket);
      this.#queue.add(peer); // comes again in this loop
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

  /** It is not among the unproven any more: known, or gone. */
  #leave(arrival: Arrival): void {
    arrival.peer.waiting.delete(arrival);
    if (arrival.peer.unproven.delete(arrival)) this.#unproven -= 1;
  }
}

function keyOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress}:${remotePort}`;
}
