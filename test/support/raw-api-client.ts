// Calls as an attacker makes them: any method, path, body and header, with a bearer token, and the answer as it came.
import { Pool } from 'undici';
import type { ClusterConnection } from '../../kubernetes/credentials/kubeconfig.ts';

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
}

/** A caller with one token; close it in the end. */
export class RawApiClient {
  readonly #pool: Pool;
  readonly #token: string;

  constructor({ server, certificateAuthority }: ClusterConnection, token: string) {
    this.#token = token;
    this.#pool = new Pool(server.origin, {
      connections: 8, connect: { ...(certificateAuthority !== undefined && { ca: certificateAuthority }) },
    });
  }

  async call({ method, path, body, headers = {} }: RawCall): Promise<RawAnswer> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const { statusCode, body: answer } = await this.#pool.request({
      method, path,
      headers: {
        authorization: `Bearer ${this.#token}`, accept: 'application/json',
        ...(body !== undefined && { 'content-type': type }), ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: statusCode, text: await answer.text() };
  }

  /** The answer as JSON. Throws Error for a refusal. */
  async json<T>(call: RawCall): Promise<T> {
    const { status, text } = await this.call(call);
    if (status >= 300) throw new Error(`${call.method} ${call.path}: ${status} ${text.slice(0, 300)}`);
    return JSON.parse(text) as T;
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}
