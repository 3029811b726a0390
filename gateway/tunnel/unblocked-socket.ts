// Wraps the TLS socket of an HTTP/2 server session. Node stops reading from a session's socket while a write to it is
// pending (`Http2Session::MaybeStopReading`), so two ends with much to send can deadlock. Here a write completes at
// once, so that this end always reads and the other end's writes complete. Memory is bounded by the HTTP/2 windows.
import { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';

/** A duplex whose writes never block its reads. Destroying either end destroys the other. */
export function unblocked(socket: TLSSocket): Duplex {
  const duplex = new Duplex({
    allowHalfOpen: false,
    highWaterMark: 256 << 10,
    read: () => void socket.resume(),
    write: (chunk: Buffer, _encoding, done) => {
      socket.write(chunk);
      done();
    },
    writev: (chunks, done) => {
      socket.cork();
      for (const { chunk } of chunks) socket.write(chunk as Buffer);
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
