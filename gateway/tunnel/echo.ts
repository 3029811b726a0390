// Measures round-trip times between gateways through the tunnel with echoed UDP datagrams: Node has no ICMP socket.
// A datagram is a magic number, its kind, and twelve random bytes that an answer returns. Anybody can send one under
// another's address, so only what was asked counts as an answer, and only once.
import { randomBytes } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { addRoundTrip, NO_ROUND_TRIPS, type RoundTrips } from '../protocol/round-trip-statistics.ts';

/** Port of the echo on every gateway's tunnel address. */
export const ECHO_PORT = 4_490;
const SIZE = 20;
const MAGIC = 0x69736d45;
const REQUEST = 1;
const ANSWER = 2;
/** More unanswered requests of an address than these are forgotten, the oldest first. */
const MOST_UNANSWERED = 16;

/** State of one address. */
export interface EchoState {
  readonly trips: RoundTrips;
  /** Time of its last reply, by `performance.now()`; undefined before. */
  readonly answeredMs: number | undefined;
}

/** An address that was asked. */
interface Asked {
  readonly state: EchoState;
  /** Times of the requests without an answer, by `performance.now()`, by their random bytes. */
  readonly sentMs: Map<string, number>;
}

const UNHEARD: EchoState = { trips: NO_ROUND_TRIPS, answeredMs: undefined };
const idOf = (message: Buffer): string => message.toString('hex', 8);

/** Sends and answers echoes at one address of the tunnel. */
export class Echo {
  /** Where it listens. */
  readonly address: string;
  readonly #socket: Socket;
  readonly #asked = new Map<string, Asked>();

  private constructor(socket: Socket, address: string) {
    this.#socket = socket;
    this.address = address;
    socket.on('message', (message, { address, port }) => this.#take(message, address, port))
      .on('error', () => undefined);
  }

  /** Listens there. Throws what binding throws: the address must exist. */
  static async open(address: string, port = ECHO_PORT): Promise<Echo> {
    const socket = createSocket('udp4');
    await once(socket.bind(port, address), 'listening');
    return new Echo(socket, address);
  }

  /** Sends an echo request. */
  send(address: string, port = ECHO_PORT): void {
    const message = randomBytes(SIZE);
    message.writeUInt32BE(MAGIC, 0);
    message.writeUInt32BE(REQUEST, 4);
    const asked = this.#asked.get(address) ?? { state: UNHEARD, sentMs: new Map<string, number>() };
    this.#asked.set(address, asked);
    asked.sentMs.set(idOf(message), performance.now());
    const [oldest] = asked.sentMs.keys();
    if (oldest !== undefined && asked.sentMs.size > MOST_UNANSWERED) asked.sentMs.delete(oldest);
    this.#socket.send(message, port, address, () => undefined);
  }

  /** What is known of an address. */
  state(address: string): EchoState {
    return this.#asked.get(address)?.state ?? UNHEARD;
  }

  /** Forgets an address. */
  forget(address: string): void {
    this.#asked.delete(address);
  }

  close(): void {
    this.#socket.close();
  }

  /** A reply is as long as the request, so it cannot be used for amplification. */
  #take(message: Buffer, address: string, port: number): void {
    if (message.length !== SIZE || message.readUInt32BE(0) !== MAGIC) return;
    const kind = message.readUInt32BE(4);
    if (kind === ANSWER) this.#takeAnswer(message, address);
    if (kind !== REQUEST || port === 0) return; // nobody can be answered at port 0: it is forged, and sending throws
    message.writeUInt32BE(ANSWER, 4);
    this.#socket.send(message, port, address, () => undefined);
  }

  #takeAnswer(message: Buffer, address: string): void {
    const asked = this.#asked.get(address);
    const sentMs = asked?.sentMs.get(idOf(message));
    if (asked === undefined || sentMs === undefined) return;
    asked.sentMs.delete(idOf(message));
    const answeredMs = performance.now();
    const trips = addRoundTrip(asked.state.trips, answeredMs - sentMs);
    this.#asked.set(address, { ...asked, state: { trips, answeredMs } });
  }
}
