// A relay between one of our processes and an API server that can become a black hole: it then drops all bytes and
// closes no connection, like a network that drops packets. TLS passes through, so the relay costs next to nothing
// otherwise.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

interface Pair {
  readonly front: Socket;
  readonly back: Socket;
}

/** A running relay on 127.0.0.1. */
export class TcpRelay {
  readonly #listener: Server;
  readonly #upstreamPort: number;
  readonly #pairs = new Set<Pair>();
  #swallows = false;
  #refuses = false;
  /** Connections so far. */
  joined = 0;
  readonly #waiting = new Set<() => void>();

  private constructor(listener: Server, upstreamPort: number) {
    this.#listener = listener;
    this.#upstreamPort = upstreamPort;
    listener.on('connection', (front) => this.#join(front));
  }

  /** Starts a relay to this port of 127.0.0.1. */
  static async start(upstreamPort: number): Promise<TcpRelay> {
    const listener = createServer({ allowHalfOpen: false });
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    return new TcpRelay(listener, upstreamPort);
  }

  /** Port that it listens on. */
  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  /** Resolves when there have been so many connections. */
  async untilJoined(count: number): Promise<void> {
    while (this.joined < count) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  /** From now on bytes go nowhere, on connections that are open and on new ones. */
  blackHole(): void {
    this.#swallows = true;
    for (const { front, back } of this.#pairs) {
      front.unpipe(back).pause();
      back.unpipe(front).pause();
    }
  }

  /** From now on connections are ended, those that are open and new ones. */
  refuse(): void {
    this.#refuses = true;
    this.#cut();
  }

  /** All is well again; connections of before are broken, for bytes of theirs are lost. */
  heal(): void {
    this.#swallows = false;
    this.#refuses = false;
    this.#cut();
  }

  /** Ends all connections and frees the port. */
  async stop(): Promise<void> {
    const closed = once(this.#listener, 'close');
    this.#listener.close();
    this.#cut();
    await closed;
  }

  #join(front: Socket): void {
    if (this.#refuses) {
      front.destroy();
      return;
    }
    const back = connect(this.#upstreamPort, '127.0.0.1');
    const pair = { front, back };
    this.#pairs.add(pair);
    this.joined += 1;
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
    for (const [one, other] of [[front, back], [back, front]] as const) {
      one.setNoDelay(true);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        other.destroy();
        this.#pairs.delete(pair);
      });
      if (this.#swallows) one.pause();
      else one.pipe(other);
    }
  }

  #cut(): void {
    for (const { front, back } of this.#pairs) {
      front.resetAndDestroy();
      back.destroy();
    }
  }
}
