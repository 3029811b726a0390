// A sandbox of twelve clusters is started on one signal: that many may wait on it, and nothing of theirs stays there.
import assert from 'node:assert/strict';
import { getEventListeners, once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { pollUntil } from '../../../../cli/clusters/poll-until.ts';
import { Transport } from '../../../../kubernetes/http/transport.ts';
import { waitUntil } from '../../../../sandbox/control-plane/wait-until.ts';

const CLUSTERS = 12;

describe('what starts a sandbox waits on the signal of all', () => {
  let silent: Server;
  let api: Transport;
  before(async () => {
    silent = createServer(() => undefined);
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    const server = new URL(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`);
    api = new Transport({ server, insecure: false, credentials: { kind: 'none' } }, 'isthmus-test');
  });
  after(async () => {
    await api.close();
    silent.closeAllConnections();
    silent.close();
  });

  const ways: Record<string, (signal: AbortSignal) => Promise<unknown>> = {
    'for an answer of an API server': (signal) => api.call({ method: 'GET', path: '/readyz' }, signal),
    'for what is looked at again and again': (signal) => waitUntil('it', async () => false, 60_000, signal),
    'for what an install makes':
      (signal) => pollUntil(async () => undefined, { forMs: 60_000, everyMs: 60_000 }, signal),
  };
  for (const [what, wait] of Object.entries(ways)) {
    it(`${what}, without a warning of a leak, until it is aborted`, async () => {
      const stopped = new AbortController();
      const warnings: string[] = [];
      const note = ({ name }: Error) => void warnings.push(name);
      process.on('warning', note);
      const waiting = Array.from({ length: CLUSTERS }, () => wait(stopped.signal));
      await new Promise((resolve) => setImmediate(resolve)); // Node warns a turn later
      assert.ok(getEventListeners(stopped.signal, 'abort').length > 0); // all wait behind one listener
      stopped.abort(new Error('enough'));
      const ends = await Promise.allSettled(waiting);
      process.off('warning', note);
      assert.deepEqual(ends.map((end) => end.status === 'rejected' && String(end.reason)), Array.from(
        { length: CLUSTERS }, () => 'Error: enough',
      ));
      assert.deepEqual([warnings, getEventListeners(stopped.signal, 'abort').length], [[], 0]);
    });
  }
});
