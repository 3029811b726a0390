// A process that serves one collection whose objects change thousands of times a second: a server of its own, so that
// its memory is not counted to the client's. Arguments: number of keys, events a second, seconds. Sends its port as a
// message.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const [keys = 0, rate = 0, seconds = 0] = process.argv.slice(2).map(Number);
const FIRST_VERSION = 100;
const FILLER = 'x'.repeat(1_000);
const PACE_MS = 10;

function line(version: number): string {
  const metadata = { namespace: 'a', name: `k-${version % keys}`, resourceVersion: String(version) };
  return `${JSON.stringify({ type: 'MODIFIED', object: { metadata, filler: FILLER } })}\n`;
}

/** Sends at the rate; what is not taken waits with us, as it does in a server, and is made up for when it is. */
async function flood(response: ServerResponse): Promise<void> {
  const began = performance.now();
  for (let sent = 0; sent < rate * seconds; ) {
    const due = Math.min(((performance.now() - began) / 1_000) * rate, rate * seconds);
    while (sent < due) {
      sent += 1;
      if (!response.write(line(FIRST_VERSION + sent))) await once(response, 'drain');
    }
    await sleep(PACE_MS);
  }
}

const server = createServer((request, response) => {
  if (!(request.url ?? '').includes('watch=true')) {
    return void response.end(JSON.stringify({ metadata: { resourceVersion: String(FIRST_VERSION) }, items: [] }));
  }
  response.flushHeaders();
  void flood(response);
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => {
  server.close();
  server.closeAllConnections();
  process.kill(process.pid, 'SIGKILL');
});
