// One HTTP/1.1 exchange with an API server over a connection of its own: a log that is followed, or a connection that both sides then use for
// something else (exec, attach, port-forward). Pools and deadlines fit neither. Nothing that was opened here stays open once `signal` is aborted.
import { request, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { onAbort } from '../flow/abort.ts';
import { UnreachableError } from '../flow/api-error.ts';
import { CANNOT_BE_REACHED } from '../connect/connection-limits.ts';
import type { Transport } from '../http/transport.ts';
import { messageOf } from '../../process/errors.ts';

/** What is asked. Names of headers are in lower case; who we are is added. */
export interface StreamRequest {
  readonly method: 'GET' | 'POST';
  /** Starts with `/api`. */
  readonly path: string;
  /** A parameter may come several times. */
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** How long the head of the answer may take, in ms; for as long as it likes when missing, as a log without a line does. */
  readonly headTimeoutMs?: number;
}

/** An answer whose body is still to be read, or a connection that now belongs to whoever asked; `head` is what came on it already. */
export type StreamAnswer =
  | { readonly kind: 'answer'; readonly response: IncomingMessage }
  | { readonly kind: 'upgraded'; readonly response: IncomingMessage; readonly socket: Socket; readonly head: Buffer };

/**
 * Asks; an error status is an answer like any other.
 * @throws UnreachableError when there is none, the signal's reason when aborted.
 */
export async function openExchange(transport: Transport, asked: StreamRequest, signal: AbortSignal): Promise<StreamAnswer> {
  try {
    const answer = await exchangeOnce(transport, asked, signal);
    if (answer.response.statusCode !== 401 || !(await transport.credentials.renew())) return answer;
    answer.response.destroy();
    return await exchangeOnce(transport, asked, signal);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (transport.limits !== undefined) throw new UnreachableError(CANNOT_BE_REACHED, { cause: error });
    throw new UnreachableError(`${asked.method} ${asked.path}: ${messageOf(error)}`, { cause: error });
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
    ...(access.authorization !== undefined && { authorization: access.authorization }),
    host: access.host,
    ...asked.headers,
  };
  return new Promise((resolve, reject) => {
    const path = withParameters(access.basePath + asked.path, asked.query);
    const sent = request({ createConnection: () => socket, method: asked.method, path, headers: headers as Record<string, string | string[]> });
    const timer = asked.headTimeoutMs === undefined ? undefined : setTimeout(() => sent.destroy(new Error('no answer in time')), asked.headTimeoutMs);
    sent.on('error', reject); // also later, when nobody waits any more: the body or the socket tells it then
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
