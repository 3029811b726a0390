// HTTP upgrades of streams: the headers that both ends negotiate, and the responses to a caller that asked for one.
import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** Headers of an upgrade that both ends negotiate; all others are dropped. */
const UPGRADE_HEADERS = [
  'connection', 'upgrade', 'x-stream-protocol-version', 'sec-websocket-version', 'sec-websocket-key',
  'sec-websocket-protocol', 'sec-websocket-extensions',
];

/** The headers of a caller's upgrade request that the target gets. */
export function upgradeHeaders({ headersDistinct }: IncomingMessage): Record<string, readonly string[]> {
  return Object.fromEntries(UPGRADE_HEADERS.flatMap(
    (name) => (headersDistinct[name] === undefined ? [] : [[name, headersDistinct[name]] as const]),
  ));
}

/** An ordinary response to an upgrade request that is refused. */
export function createResponse(request: IncomingMessage, socket: Socket): ServerResponse {
  const reply = new ServerResponse(request);
  reply.shouldKeepAlive = false;
  reply.assignSocket(socket);
  reply.once('finish', () => {
    socket.resume(); // unread data would reset the connection before the response is read
    socket.destroySoon();
  });
  return reply;
}

/** Status line and headers of a target's 101 response, unchanged. */
export function responseHeaderText({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`];
  for (let at = 0; at < rawHeaders.length; at += 2) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}
