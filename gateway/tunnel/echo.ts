// Measures round-trip times between gateways through the tunnel with echoed UDP datagrams: Node has no ICMP socket.
import { createSocket, type Socket } from 'node:dgram';
import { addRoundTrip, NO_ROUND_TRIPS, type RoundTrips } from '../protocol/round-trip-statistics.ts';

/** Port of the echo on every gateway's tunnel address. */
export const ECHO_PORT = 4_490;
const SIZE = 20;
const MAGIC = 0x69736d45;
const REQUEST = 1;
const ANSWER = 2;

/** State of one address. */
export interface EchoState {
  readonly trips: RoundTrips;
  /** Time of its last reply, by `performance.now()`; undefined before. */
  readonly answeredMs: number | undefined;
}

/** Sends and answers echoes at one address of the tunnel. */
export class Echo {
  readonly #socket: Socket;
  readonly #states = new Map<string, EchoState>();

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('message', (message, { address, port }) => this.#take(message, address, port))
      .on('error', () => undefined);
  }

  /** Listens there. Throws what binding throws: the address must exist. */
  static async open(address: string, port = ECHO_PORT): Promise<Echo> {
    const socket = createSocket('udp4');
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.bind(port, address, () => {
        socket.removeListener('error', reject);
        resolve();
      });
    });
    return new Echo(socket);
  }

  /** Sends an echo request. */
  send(address: string, port = ECHO_PORT): void {
    const message = Buffer.alloc(SIZE);
    message.writeUInt32BE(MAGIC, 0);
    message.writeUInt32BE(REQUEST, 4);
    message.writeDoubleBE(performance.now(), 8);
    this.#socket.send(message, port, address, () => undefined);
  }

  /** What is known of an address. */
  state(address: string): EchoState {
    return this.#states.get(address) ?? { trips: NO_ROUND_TRIPS, answeredMs: undefined };
  }

  /** Forgets an address. */
  forget(address: string): void {
    this.#states.delete(address);
  }

  close(): void {
    this.#socket.close();
  }

  /** A reply is as long as the request, so it cannot be used for amplification. */
  #take(message: Buffer, address: string, port: number): void {
    if (message.length !== SIZE || message.readUInt32BE(0) !== MAGIC) return;
    if (message.readUInt32BE(4) === REQUEST) {
      message.writeUInt32BE(ANSWER, 4);
      this.#socket.send(message, port, address, () => undefined);
      return;
    }
    const now = performance.now();
    const ms = now - message.readDoubleBE(8);
    if (ms < 0 || ms > 60_000 || !Number.isFinite(ms)) return;
    const { trips } = this.state(address);
    this.#states.set(address, { trips: addRoundTrip(trips, ms), answeredMs: now });
  }
}
