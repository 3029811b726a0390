// The wire between nodes and their API server, as a process of its own: takes ports that were opened in other network
// namespaces, and passes on what comes there to a port of this one's loopback.
import { connect, type Server, type Socket } from 'node:net';

const [port = ''] = process.argv.slice(2);

process.on('message', (_what: unknown, handle: unknown) => {
  (handle as Server).on('connection', pass);
  process.send?.('taken');
});

function pass(near: Socket): void {
  const far = connect({ host: '127.0.0.1', port: Number(port) });
  for (const [from, to] of [[near, far], [far, near]] as const) {
    from.on('error', () => undefined).on('close', () => to.destroy()).setNoDelay(true).pipe(to);
  }
}
