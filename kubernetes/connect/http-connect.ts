// HTTP CONNECT: a connection through a proxy or gateway, as a socket to whatever is behind it.
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { messageOf } from '../../process/errors.ts';
import { SilenceError } from './silence.ts';

/** One attempt. */
export interface Connecting {
  /** The CONNECT request, not sent yet. */
  readonly request: ClientRequest;
  /** Whom it asks, for messages: `gateway HOST:PORT`. */
  readonly asked: string;
  /** Why it was refused, where the response says so. */
  readonly refusal?: (response: IncomingMessage) => string | undefined;
}

/**
 * The connection, once it is open.
 * @throws Error that names whom it asked.
 */
export function openTunnel({ request, asked, refusal }: Connecting, timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => request.destroy(new SilenceError('no answer in time')), timeoutMs);
    request.once('connect', (response, socket: Socket, head: Buffer) => {
      clearTimeout(timer);
      if (response.statusCode !== 200) {
        socket.destroy();
        return reject(new Error(`${asked}: ${refusal?.(response) ?? `it answers ${response.statusCode}`}`));
      }
      if (head.length > 0) socket.unshift(head);
      socket.setNoDelay(true);
      resolve(socket);
    });
    request.once('error', (error) => {
      clearTimeout(timer);
      reject(new Error(`${asked}: ${messageOf(error)}`, { cause: error }));
    });
    request.end();
  });
}
