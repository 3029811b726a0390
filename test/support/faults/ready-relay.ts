// What a Service is to the webhook's pods: one address, behind which new connections go to the replica that is ready.
// Those that are open stay where they are.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Agent } from 'undici';
import type { ComponentProcess } from '../../../sandbox/processes/component-process.ts';

const TIMEOUT_MS = 60_000;

/** The address and what is behind it. */
export class ReadyRelay {
  #server: Server | undefined;
  #backend: number | undefined;
  readonly #open = new Set<Socket>();

  /** The port of the address; connections are closed at once while nothing is ready. */
  async port(): Promise<number> {
    if (this.#server === undefined) {
      this.#server = createServer((socket) => this.#forward(socket));
      this.#server.listen(0, '127.0.0.1');
      await once(this.#server, 'listening');
    }
    return (this.#server.address() as AddressInfo).port;
  }

  /** Waits until the webhook on this port is ready, and turns new connections to it. */
  async turnTo(port: number, component: ComponentProcess): Promise<void> {
    await untilAnswers(`https://127.0.0.1:${port}/readyz`, component);
    this.#backend = port;
  }

  #forward(socket: Socket): void {
    if (this.#backend === undefined) return void socket.destroy();
    const backend = connect(this.#backend, '127.0.0.1');
    for (const [one, other] of [[socket, backend], [backend, socket]] as const) {
      this.#open.add(one);
      one.on('error', () => other.destroy()).on('close', () => {
        this.#open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }

  /** Closes the address and every connection. */
  async close(): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    if (this.#server === undefined) return;
    this.#server.close();
    await once(this.#server, 'close');
    this.#server = undefined;
  }
}

/** Waits until a URL answers with 200, whoever signed its certificate. Fails when the process ends before. */
export async function untilAnswers(url: string, component: ComponentProcess): Promise<void> {
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  try {
    while (component.isRunning && !deadline.aborted) {
      const status = await dispatcher.request(
        { origin: new URL(url).origin, path: new URL(url).pathname, method: 'GET' },
      ).then(async ({ statusCode, body }) => {
        await body.dump();
        return statusCode;
      }, () => 0);
      if (status === 200) return;
      await new Promise((resolve) => { setTimeout(resolve, 50); });
    }
    throw await component.failure();
  } finally {
    await dispatcher.close();
  }
}
