// What an HTTP/2 server session writes to instead of its TLS socket. Node reads nothing from a session's socket while a write to it is under way
// (`Http2Session::MaybeStopReading`). Two ends that both have much to send then wait for one another for ever. Here a write is done at once, so
// that this end always reads, and so the other's writes end as well, which has the bare socket. How much may wait is bounded by the windows of
// HTTP/2, and so is memory.
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
