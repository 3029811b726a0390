import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { it } from 'node:test';
import { relayRefusedLog } from '../../../../virtual-node/streams/refused-log.ts';

it('a refusal that neither goes on nor ends holds nobody for good', { timeout: 10_000 }, async () => {
  const [from, to] = [new PassThrough(), new PassThrough()];
  from.write('{"kind":"Status",');
  const relayed = relayRefusedLog(from as unknown as IncomingMessage, to as unknown as ServerResponse, 10);
  await assert.rejects(relayed, /does not say why it gives no log/);
  assert.ok(from.destroyed);
});
