// In a namespace without any way out: a port of its loopback that leads over a Unix socket, which no network namespace holds back, to an API server.
import { connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';

const [port = '', socketPath = ''] = process.argv.slice(2);

const server = createServer((socket) => {
  const far = connect(socketPath);
  for (const [from, to] of [[socket, far], [far, socket]] as const) from.on('error', () => undefined).on('close', () => to.destroy()).pipe(to);
});
await new Promise<void>((resolve) => server.listen(Number(port), '127.0.0.1', resolve));
for await (const question of createInterface({ input: process.stdin })) process.stdout.write(question.length > 0 ? '{}\n' : '');
process.exit(0);
