// Wraps the TLS socket of an HTTP/2 server session. Node stops reading from a session's socket while a write to it is
// pending (`Http2Session::MaybeStopReading`), so two ends with much to send can deadlock. Here a write completes at
// once, so that this end always reads and the other end's writes complete. What waits to be sent is bounded: by the
// HTTP/2 windows where the peer keeps to them, and by the end of the connection where it does not read: answers to its
// pings count for no window, and it may announce any. All sessions of a peer count together.
import { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { SESSION_MEMORY_MIB } from '../protocol/tunnel-protocol.ts';

/** What all connections of a peer hold unsent. */
export interface Unsent {
  bytes: number;
}

/** Most of it, for the two sessions in which the peer opens streams, and what Node takes for each write besides. */
const MOST_UNSENT_BYTES = 2 * SESSION_MEMORY_MIB << 20;
const BYTES_OF_WRITE = 512;

/** A duplex whose writes never block its reads. Destroying either end destroys the other. */
export function unblocked(socket: TLSSocket, unsent: Unsent): Duplex {
  const send = (chunk: Buffer) => {
    const size = chunk.length + BYTES_OF_WRITE;
    unsent.bytes += size;
    socket.write(chunk, () => (unsent.bytes -= size)); // also when it fails
    if (unsent.bytes <= MOST_UNSENT_BYTES) return;
    // once no frame is being read (see session-end.ts)
    setImmediate(() => socket.destroy(new Error('the peer does not read what it is sent')));
  };
  const duplex = new Duplex({
    allowHalfOpen: false,
    highWaterMark: 256 << 10,
    read: () => void socket.resume(),
    write: (chunk: Buffer, _encoding, done) => {
      send(chunk);
      done();
    },
    writev: (chunks, done) => {
      socket.cork();
      for (const { chunk } of chunks) send(chunk as Buffer);
      socket.uncork();
      done();
    },
    final: (done) => {
      socket.end();
      done();
    },
    destroy: (error, done) => {
      socket.destroySoon();
      done(error);
    },
  });
  socket.on('data', (chunk: Buffer) => {
    if (!duplex.push(chunk)) socket.pause();
  });
  socket.on('end', () => duplex.push(null));
  socket.on('error', (error) => duplex.destroy(error));
  socket.on('close', () => duplex.destroy());
  return duplex;
}
