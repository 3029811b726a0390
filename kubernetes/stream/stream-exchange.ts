// One HTTP/1.1 exchange with an API server on its own connection: a followed log, or an upgraded connection (exec,
// attach, port-forward). Pools and deadlines suit neither. Everything closes once `signal` is aborted.
import { request, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { onAbort } from '../flow/abort.ts';
import { UnreachableError } from '../flow/api-error.ts';
import { CANNOT_BE_REACHED } from '../connect/connection-limits.ts';
import type { Transport } from '../http/transport.ts';
import { messageOf } from '../../process/errors.ts';

/** The request. Header names are in lower case; authentication is added. */
export interface StreamRequest {
  readonly method: 'GET' | 'POST';
  /** Starts with `/api`. */
  readonly path: string;
  /** A parameter may repeat. */
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Timeout for the response headers in ms; unlimited when missing, as for a log without a line. */
  readonly headersTimeoutMs?: number;
}

/**
 * A response whose body is still to be read, or an upgraded connection, which now belongs to the caller; `head` holds
 * the bytes already received.
 */
export type StreamAnswer =
  | { readonly kind: 'answer'; readonly response: IncomingMessage }
  | { readonly kind: 'upgraded'; readonly response: IncomingMessage; readonly socket: Socket; readonly head: Buffer };

/**
 * Sends the request; an error status is a response like any other.
 * @throws UnreachableError when there is no response, the signal's reason when aborted.
 */
export async function openExchange(
  transport: Transport, asked: StreamRequest, signal: AbortSignal,
): Promise<StreamAnswer> {
  try {
    const answer = await exchangeOnce(transport, asked, signal);
    if (answer.response.statusCode !== 401 || !(await transport.credentials.renew())) return answer;
    answer.response.destroy();
    return await exchangeOnce(transport, asked, signal);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (transport.limits !== undefined) throw new UnreachableError(CANNOT_BE_REACHED, { cause: error });
    throw new UnreachableError(
      `${asked.method} ${asked.path}: ${messageOf(error)}`, { cause: error, server: transport.server },
    );
  }
}

async function exchangeOnce(transport: Transport, asked: StreamRequest, signal: AbortSignal): Promise<StreamAnswer> {
  const access = await transport.access();
  const socket = await access.dial();
  const forget = onAbort(signal, () => socket.destroy());
  socket.once('close', forget);
  socket.on('error', () => undefined); // 'close' follows
  const headers = {
    'user-agent': transport.userAgent,
    ...access.identity,
    host: access.host,
    ...asked.headers,
  };
  return new Promise((resolve, reject) => {
    const path = withParameters(access.basePath + asked.path, asked.query);
    const sent = request({
      createConnection: () => socket, method: asked.method, path, headers: headers as Record<string, string | string[]>,
    });
    const timer = asked.headersTimeoutMs === undefined
      ? undefined
      : setTimeout(() => sent.destroy(new Error('no answer in time')), asked.headersTimeoutMs);
    sent.on('error', reject); // also later errors, which the body or the socket reports
    sent.once('close', () => {
      clearTimeout(timer);
      reject(new Error('the connection was closed before an answer'));
    });
    sent.once('response', (response) => {
      clearTimeout(timer);
      resolve({ kind: 'answer', response });
    });
    sent.once('upgrade', (response, upgraded: Socket, head) => {
      clearTimeout(timer);
      resolve({ kind: 'upgraded', response, socket: upgraded, head });
    });
    sent.end();
  });
}

function withParameters(path: string, parameters: StreamRequest['query']): string {
  const encoded = new URLSearchParams(parameters.map(([name, value]): [string, string] => [name, value])).toString();
  return encoded === '' ? path : `${path}?${encoded}`;
}
