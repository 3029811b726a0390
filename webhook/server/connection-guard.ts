// Guards the admission server: few connections for unknown clients, and only the first line of each is read. Reviews on
// an accepted path are passed to the server; public paths are answered here, all others with 404, and the connection
// closes without further reading.
import { STATUS_CODES } from 'node:http';
import type { Server, Socket } from 'node:net';
import { HandshakeLimiter, type HandshakeLimits } from '../../process/servers/handshake-limiter.ts';
import { readFirstLines } from '../../process/servers/first-line.ts';
import { takeOneAtATime } from '../../process/servers/one-request.ts';
import type { AdmissionMetrics } from './admission-metrics.ts';
import { isReviewRoute, PUBLIC_PATHS, routeOf, type OpenSegments } from '../registration/review-path.ts';

/** Public paths. */
export interface PublicAnswer {
  readonly status: 200 | 404 | 503;
  readonly type: string;
  readonly text: string;
}

/** Dependencies of the guard. */
export interface ConnectionGuardOptions {
  readonly limits: HandshakeLimits;
  readonly open: () => OpenSegments;
  /** The response on a public path. */
  readonly answer: (path: string) => Promise<PublicAnswer>;
  /** Whether clients authenticate with a certificate in the handshake. */
  readonly knowsClients: boolean;
  readonly metrics: AdmissionMetrics;
}

const NOTHING: PublicAnswer = { status: 404, type: 'application/json', text: '{"message":"there is nothing here"}' };

/** Wraps a server that does not listen yet. */
export function guardConnections(
  server: Server, { limits, open, answer, knowsClients, metrics }: ConnectionGuardOptions,
): void {
  takeOneAtATime(server);
  const limiter = new HandshakeLimiter(server, limits, () => metrics.requestRejected('connection'));
  readFirstLines(server, (line, socket) => {
    const [, method = '', target = ''] = /^(\S+) (\S+) HTTP\/1\.[01]$/.exec(line) ?? [];
    const isReview = method === 'POST' && isReviewRoute(routeOf(target, open()));
    if (isReview || knowsClients) limiter.know(socket);
    if (isReview) return true;
    if (
      method === 'GET' && PUBLIC_PATHS.has(target)
    ) void answer(target).then((given) => end(socket, given), () => socket.destroy());
    else {
      metrics.requestRejected('no-path');
      end(socket, NOTHING);
    }
    return false;
  });
}

function end(socket: Socket, { status, type, text }: PublicAnswer): void {
  const header =
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: ${type}\r\ncontent-length: ` +
      `${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n`;
  socket.end(header + text, () => socket.destroy());
}
