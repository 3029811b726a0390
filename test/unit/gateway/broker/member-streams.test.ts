import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import type { FastifyReply } from 'fastify';
import type { ClustersetMember } from '../../../../api/kinds/gateway.ts';
import type { BrokerUpdate } from '../../../../gateway/broker/broker-protocol.ts';
import { MemberStreams } from '../../../../gateway/broker/member-streams.ts';
import { exportOf } from '../../../support/objects/exported-services.ts';
import { MemoryMemberStore } from '../../../support/doubles/memory-member-store.ts';

/** The response of a member's stream: what was sent, and whether it was broken off. */
class StreamDouble extends EventEmitter {
  readonly sent: string[] = [];
  destroyed = false;
  writableLength = 0;

  writeHead(): void {}

  write(text: string): void {
    this.sent.push(text);
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }

  /** The lines that tell something. */
  get lines(): readonly BrokerUpdate[] {
    return this.sent.filter((text) => text !== '\n').map((text) => JSON.parse(text) as BrokerUpdate);
  }
}

const eu: ClustersetMember = {
  metadata: { name: 'eu', annotations: { 'isthmus.dev/certificate-serials': '[{"serial":"AA"},{"serial":"BB"}]' } },
  spec: { clusterID: 'eu' },
};

async function world(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] });
  const store = new MemoryMemberStore();
  await store.saveCluster(eu);
  const streams = new MemberStreams(store);
  const open = (serial = 'AA', clusterId = 'eu', notAfterMs = Infinity) => {
    const raw = new StreamDouble();
    const reply = { raw, hijack: () => undefined } as unknown as FastifyReply;
    streams.open(reply, { clusterId, serial, notAfterMs });
    return raw;
  };
  const change = async (spec: Partial<ClustersetMember['spec']>) => {
    const before = await store.cluster('eu');
    assert.ok(before !== undefined && (await store.saveCluster({ ...before, spec: { ...before.spec, ...spec } })));
  };
  return { store, streams, open, change };
}

describe('the stream of a member', () => {
  it('begins with all members and exports', async (t) => {
    const { store, open } = await world(t);
    await store.saveExport(exportOf('us'));
    const [first] = open().lines;
    assert.deepEqual([first?.clusters?.map(({ spec }) => spec.clusterID), first?.exports], [['eu'], [exportOf('us')]]);
  });

  it('never shows what the broker alone knows: serial numbers of certificates', async (t) => {
    const { open, change } = await world(t);
    const stream = open();
    await change({ serviceCIDR: ['10.96.0.0/12'] });
    assert.equal(stream.lines.length, 2);
    assert.doesNotMatch(stream.sent.join(''), /certificate-serials|AA|BB/);
  });

  it('tells each change of members at once, in full', async (t) => {
    const { store, open } = await world(t);
    const stream = open();
    const spec = { clusterID: 'us', backend: 'mtls', addresses: [] };
    await store.saveEndpoint({ metadata: { name: 'us-mtls' }, spec });
    assert.deepEqual(stream.lines.at(-1)?.endpoints?.map(({ spec }) => spec.clusterID), ['us']);
    assert.deepEqual(stream.lines.at(-1)?.clusters?.length, 1);
  });

  it('gathers changes of exports: one line tells the last of each', async (t) => {
    const { store, open } = await world(t);
    const stream = open();
    await store.saveExport(exportOf('us'));
    await store.saveExport(exportOf('us', { slices: [] }));
    await store.saveExport(exportOf('jp'));
    await store.removeExport('jp.shop.web');
    assert.equal(stream.lines.length, 1);
    t.mock.timers.tick(100);
    assert.deepEqual(stream.lines.slice(1), [
      { changedExports: [exportOf('us', { slices: [] })], goneExports: ['jp.shop.web'] },
    ]);
    await store.saveExport(exportOf('jp'));
    t.mock.timers.tick(100);
    assert.deepEqual(stream.lines.slice(2), [{ changedExports: [exportOf('jp')], goneExports: [] }]);
  });

  it('sends empty lines while nothing happens, and none once it is closed', async (t) => {
    const { open } = await world(t);
    const stream = open();
    t.mock.timers.tick(20_000);
    assert.equal(stream.sent.filter((text) => text === '\n').length, 2);
    stream.destroy();
    t.mock.timers.tick(20_000);
    assert.equal(stream.sent.filter((text) => text === '\n').length, 2);
  });

  it('ends when its certificate is revoked, and stays for another certificate of the member', async (t) => {
    const { open, change } = await world(t);
    const [revoked, renewed] = [open('AA'), open('BB')];
    await change({ revokedSerials: ['AA'] });
    assert.deepEqual([revoked.destroyed, renewed.destroyed], [true, false]);
    assert.equal(revoked.lines.length, 1, 'what changed is not told to it');
  });

  it('ends soon after its certificate has expired', async (t) => {
    const { open } = await world(t);
    const stream = open('AA', 'eu', Date.now() + 15_000);
    t.mock.timers.tick(10_000);
    assert.equal(stream.destroyed, false);
    t.mock.timers.tick(10_000);
    assert.equal(stream.destroyed, true);
  });

  it('ends when the member has left', async (t) => {
    const { store, open } = await world(t);
    const stream = open();
    await store.remove('eu', []);
    assert.equal(stream.destroyed, true);
  });

  it('ends when the member does not read, so that others are not held up in memory', async (t) => {
    const { open, change } = await world(t);
    const [slow, quick] = [open(), open()];
    slow.writableLength = (64 << 20) + 1;
    await change({ serviceCIDR: ['10.96.0.0/12'] });
    assert.deepEqual([slow.destroyed, quick.destroyed], [true, false]);
  });

  it('ends when it and others of its member hold too much together', async (t) => {
    const { open, change } = await world(t);
    const [one, other, read] = [open(), open(), open()];
    for (const slow of [one, other]) slow.writableLength = 40 << 20;
    await change({ serviceCIDR: ['10.96.0.0/12'] });
    assert.deepEqual([one.destroyed, other.destroyed, read.destroyed], [true, false, false]);
  });

  it('is one of the last four of its member, so that one member leaves room for the others', async (t) => {
    const { open } = await world(t);
    const other = open('AA', 'us');
    const all = Array.from({ length: 6 }, () => open());
    assert.deepEqual(all.map(({ destroyed }) => destroyed), [true, true, false, false, false, false]);
    assert.equal(other.destroyed, false);
  });

  it('is one of a thousand at most; each that closes makes room', async (t) => {
    const { streams, open } = await world(t);
    const all = Array.from({ length: 999 }, (_, index) => open('AA', `member-${index}`));
    assert.equal(streams.isFull, false);
    open();
    assert.equal(streams.isFull, true);
    all[0]?.destroy();
    assert.equal(streams.isFull, false);
  });
});
