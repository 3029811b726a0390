// What stands between two gateways in a test: passes bytes on, looks through them for plain text, and spoils them when
// told to.
import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * Bytes of a chunk before which no bit is flipped, so that it falls into a record of TLS and not always into its
 * header.
 */
const FLIP_AT = 60;
const RECORD_BYTES = 100_000;

/** A relay between two ports, or several. */
export class SpoilingRelay {
  bytes = 0;
  /** How often a plain text was seen. */
  markersSeen = 0;
  flips = 0;
  repeats = 0;
  /** What the first that dialled has sent, up to {@link RECORD_BYTES}: to be sent again by a stranger. */
  firstDialled: Buffer = Buffer.alloc(0);
  readonly #plainTexts: readonly string[];
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  #next: 'pass' | 'flip' | 'repeat' = 'pass';
  #isCut = false;

  constructor(plainTexts: readonly string[]) {
    this.#plainTexts = plainTexts;
  }

  /** Passes on what comes to a port. */
  listen(from: number, to: number, { host = '127.0.0.1', toHost = '127.0.0.1' } = {}): Promise<void> {
    const server = createServer(
      { noDelay: true }, (client) => this.#join(client, connect({ host: toHost, port: to, noDelay: true })),
    );
    this.#servers.push(server);
    return new Promise((resolve, reject) => void server.once('error', reject).listen(from, host, resolve));
  }

  /** Flips one bit of the next chunk, or sends the next chunk twice. */
  spoil(how: 'flip' | 'repeat'): void {
    this.#next = how;
  }

  /** Lets nothing through, without a word to either side, until it is healed. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.pause();
  }

  heal(): void {
    this.#isCut = false;
    for (const socket of this.#sockets) socket.resume();
  }

  close(): void {
    for (const server of this.#servers) server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(one: Socket, other: Socket): void {
    if (this.firstDialled.length === 0) {
      one.on('data', (chunk: Buffer) => {
        if (this.firstDialled.length < RECORD_BYTES) this.firstDialled = Buffer.concat([this.firstDialled, chunk]);
      });
    }
    for (const [from, to] of [[one, other], [other, one]] as const) {
      this.#sockets.add(from);
      from.on('error', () => undefined).on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      from.on('data', (chunk: Buffer) => void to.write(this.#pass(chunk)));
      if (this.#isCut) from.pause();
    }
  }

  #pass(chunk: Buffer): Buffer {
    this.bytes += chunk.length;
    for (const text of this.#plainTexts) if (chunk.includes(text)) this.markersSeen += 1;
    if (this.#next === 'pass' || chunk.length <= FLIP_AT) return chunk;
    const how = this.#next;
    this.#next = 'pass';
    if (how === 'repeat') {
      this.repeats += 1;
      return Buffer.concat([chunk, chunk]);
    }
    this.flips += 1;
    chunk.writeUInt8(chunk.readUInt8(FLIP_AT) ^ 1, FLIP_AT);
    return chunk;
  }
}
