// Opens a stream to a peer for a local client, aborts it when the client leaves, and records the outcome in the audit
// log.
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { messageOf } from '../../process/errors.ts';
import type { StreamDriver, StreamRecord, StreamRequest } from '../protocol/cable-driver.ts';
import { unmapped } from '../../model/network/socket-address.ts';

/** Opens it. Throws what {@link StreamDriver.openStream} throws; also when the client leaves first. */
export async function openForClient(
  driver: StreamDriver, request: StreamRequest, socket: Socket, audit: (record: StreamRecord) => void,
): Promise<Duplex> {
  const note = (reason: string) => audit({
    direction: 'out', ...request, from: unmapped(socket.remoteAddress ?? ''),
    outcome: reason === '' ? 'opened' : 'refused', reason,
  });
  const gone = new AbortController();
  const leave = () => gone.abort(new Error('the client has gone'));
  socket.once('close', leave);
  try {
    const stream = await driver.openStream(request, gone.signal);
    note('');
    return stream;
  } catch (error) {
    note(messageOf(error));
    throw error;
  } finally {
    socket.removeListener('close', leave);
  }
}
