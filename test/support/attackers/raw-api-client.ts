// Calls as an attacker makes them: any method, path, body and header, with a bearer token, and the answer as it came.
import { once } from 'node:events';
import { Pool } from 'undici';
import type { ClusterConnection } from '../../../kubernetes/credentials/kubeconfig.ts';

/** A call. */
export interface RawCall {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer, whatever it says. */
export interface RawAnswer {
  readonly status: number;
  readonly text: string;
  /** Missing for an upgrade. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
}

/** A caller with one token, or as its connection says who it is; close it in the end. */
export class RawApiClient {
  readonly #pool: Pool;
  readonly #authorization: Readonly<Record<string, string>>;

  constructor({ server, certificateAuthority: ca, credentials }: ClusterConnection, token?: string) {
    const bearer = token ?? (credentials.kind === 'token' ? credentials.token : undefined);
    this.#authorization = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
    const own = bearer === undefined
      && credentials.kind === 'certificate' ? { cert: credentials.certificate, key: credentials.key } : {};
    this.#pool = new Pool(server.origin, { connections: 8, connect: { ...own, ...(ca !== undefined && { ca }) } });
  }

  async call({ method, path, body, headers = {} }: RawCall): Promise<RawAnswer> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const { statusCode, headers: answered, body: answer } = await this.#pool.request({
      method, path,
      headers: {
        ...this.#authorization, accept: 'application/json', ...(body !== undefined && { 'content-type': type }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: statusCode, text: await answer.text(), headers: answered };
  }

  /** The answer as JSON. Throws Error for a refusal. */
  async json<T>(call: RawCall): Promise<T> {
    const { status, text } = await this.call(call);
    if (status >= 300) throw new Error(`${call.method} ${call.path}: ${status} ${text.slice(0, 600)}`);
    return JSON.parse(text) as T;
  }

  /**
   * Asks for a WebSocket with a subprotocol: the status, and what came until a text was among it, three seconds at
   * most.
   */
  async upgrade(path: string, protocol: string, until: string): Promise<RawAnswer> {
    const headers = {
      ...this.#authorization, 'sec-websocket-key': Buffer.alloc(16).toString('base64'), 'sec-websocket-version': '13',
      'sec-websocket-protocol': protocol,
    };
    try {
      const { socket } = await this.#pool.upgrade({ path, protocol: 'websocket', headers });
      let text = '';
      const ended = setTimeout(() => socket.destroy(), 3_000);
      socket.on('error', () => undefined).on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1');
        if (text.includes(until)) socket.destroy();
      });
      await once(socket, 'close');
      clearTimeout(ended);
      return { status: 101, text };
    } catch (error) {
      return this.call({ method: 'GET', path })
        .then((answer) => (answer.status < 400 ? Promise.reject(error as Error) : answer));
    }
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}
