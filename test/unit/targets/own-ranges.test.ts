// The ranges of the source itself, which Targets of tenants may not be in: a source of them that fails takes nothing
// away that others found.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Node } from '../../../api/objects/core.ts';
import { ApiError } from '../../../kubernetes/flow/api-error.ts';
import { parseRange } from '../../../model/network/ip-range.ts';
import { OwnRanges, type OwnRangesOptions } from '../../../targets/own-ranges.ts';
import { SILENT } from '../../support/doubles/scripted-api-server.ts';

interface Served {
  nodes: readonly (readonly Node[])[] | Error;
  services: readonly string[] | Error;
  servers: readonly string[] | Error;
}

const node = (podCIDRs: readonly string[], ...addresses: readonly (readonly [type: string,
  address: string])[]): Node => ({
  metadata: { name: 'n' }, spec: { podCIDRs }, status: { addresses: addresses.map(([type, address]) =>
    ({ type, address })) },
} as unknown as Node);

/** A source that serves this, and its ranges. */
function aSource(t: TestContext, served: Served, more: Partial<OwnRangesOptions> = {}) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const stop = new AbortController();
  t.after(() => stop.abort());
  const or = async <T>(found: T | Error): Promise<T> => {
    if (found instanceof Error) throw found;
    return found;
  };
  const client = {
    listPageBytes: async (_type: unknown, _selection: unknown, { continue: from }: { readonly continue?: string }) => {
      const pages = await or(served.nodes);
      const at = Number(from ?? 0);
      const next = at + 1 < pages.length ? String(at + 1) : '';
      return Buffer.from(JSON.stringify({ metadata: { continue: next }, items: pages[at] ?? [] }));
    },
    list: async () => [{ spec: { cidrs: await or(served.services) } }],
    get: async () => ({ endpoints: [{ addresses: await or(served.servers) }] }),
  };
  const ranges = new OwnRanges({
    client: client as unknown as OwnRangesOptions['client'], server: new URL('https://10.9.0.1:6443'), configured: [],
    mayRead: true, logger: SILENT, ...more,
  });
  let told = 0;
  ranges.onChange(() => (told += 1));
  void ranges.run(stop.signal);
  const settled = async () => {
    await ranges.known;
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  };
  const again = async (afterMs = 900_000) => {
    t.mock.timers.tick(afterMs);
    await settled();
  };
  return { ranges, texts: () => ranges.ranges.map(({ text }) => text), settled, again, told: () => told };
}

const NODES = [[node(['10.1.0.0/24'], ['InternalIP', '10.0.0.5'], ['Hostname', '10.7.7.7'],
  ['ExternalIP', 'fd00::5'])]];
const ALL: Served = { nodes: NODES, services: ['10.96.0.0/12', 'fd00:1::/112'], servers: ['10.0.0.2'] };

describe('the ranges of a source', () => {
  it('are those of its nodes, pods, Services and API servers, and how this process reaches one', async (t) => {
    const { texts, settled, ranges } = aSource(t, ALL, { serviceHost: '10.96.0.1' });
    await settled();
    assert.deepEqual(texts().toSorted(), [
      '10.0.0.2/32', '10.0.0.5/32', '10.1.0.0/24', '10.9.0.1/32', '10.96.0.0/12', '10.96.0.1/32', 'fd00:1::/112',
        'fd00::5/128',
    ].toSorted());
    for (const inside of ['10.1.0.77', '10.100.0.1', 'fd00::5', '10.9.0.1']) assert.equal(ranges.has(inside), true,
      inside);
    for (const outside of ['10.2.0.1', '10.0.0.6', 'fd00::6']) assert.equal(ranges.has(outside), false, outside);
  });
  it('include those of every page of nodes', async (t) => {
    const { texts, settled } = aSource(t, { ...ALL,
      nodes: [[node(['10.1.0.0/24'])], [node(['10.2.0.0/24'])], [node(['10.3.0.0/24'])]] });
    await settled();
    for (const range of ['10.1.0.0/24', '10.2.0.0/24', '10.3.0.0/24']) assert.ok(texts().includes(range), range);
  });
  for (const failing of ['nodes', 'services', 'servers'] as const) {
    it(`lack nothing else when ${failing} cannot be read`, async (t) => {
      const { texts, settled } = aSource(t, { ...ALL, [failing]: new Error('forbidden') });
      await settled();
      assert.ok(texts().length >= 4, texts().join());
      assert.ok(texts().includes('10.9.0.1/32'));
    });
    it(`stay as they were while ${failing} cannot be read any more, and are read again soon`, async (t) => {
      const served: Served = { ...ALL };
      const { texts, settled, again, told } = aSource(t, served);
      await settled();
      const before = texts();
      served[failing] = new Error('the server is overloaded');
      await again();
      assert.deepEqual([texts(), told()], [before, 1]);
      served[failing] = [];
      await again(30_000);
      assert.ok(texts().length < before.length, texts().join());
    });
  }
  it('that could not be read at first are read soon, and those that are forbidden are not', async (t) => {
    const served: Served = { ...ALL, nodes: new Error('the server is starting') };
    const { texts, settled, again } = aSource(t, served);
    await settled();
    served.nodes = NODES;
    served.services = new ApiError(403, 'Forbidden', 'no');
    await again(30_000);
    assert.ok(texts().includes('10.0.0.5/32'), texts().join());
    served.services = [];
    await again(30_000);
    assert.ok(texts().includes('10.96.0.0/12'), 'it is not asked every half a minute');
  });
  it('that could be read are not read again with those that could not', async (t) => {
    const served: Served = { ...ALL, services: new Error('the server is overloaded') };
    const { texts, settled, again } = aSource(t, served);
    await settled();
    served.nodes = [];
    await again(30_000);
    assert.ok(texts().includes('10.0.0.5/32'), 'a cluster with many nodes is not listed every half a minute');
    served.services = [];
    await again(30_000);
    await again(840_000);
    assert.ok(!texts().includes('10.0.0.5/32'), 'it is listed when it is due');
  });
  it('begin with what the administrator configured, before anything is known', async (t) => {
    const configured = [parseRange('172.16.0.0/12')].flatMap((range) => range ?? []);
    const { ranges, texts, settled } = aSource(t, ALL, { configured });
    assert.deepEqual([texts(), ranges.has('172.16.0.1')], [['172.16.0.0/12'], true]);
    await settled();
    assert.equal(texts()[0], '172.16.0.0/12');
  });
  it('are not read without the permission to', async (t) => {
    const { texts, settled } = aSource(t, ALL, { mayRead: false });
    await settled();
    assert.deepEqual(texts(), ['10.9.0.1/32']);
  });
  it('are read again, and told when they changed and only then', async (t) => {
    const served = { ...ALL };
    const { texts, settled, again, told } = aSource(t, served);
    await settled();
    assert.equal(told(), 1);
    await again();
    assert.equal(told(), 1);
    served.services = ['10.64.0.0/12'];
    await again();
    assert.deepEqual([told(), texts().includes('10.64.0.0/12'), texts().includes('10.96.0.0/12')], [2, true, false]);
  });
  it('skip what is no range: a broken object takes no other one along', async (t) => {
    const { texts, settled } = aSource(t, { ...ALL, services: ['10.96.0.0/12', 'no range', '10.0.0.0/99'] });
    await settled();
    assert.ok(texts().includes('10.96.0.0/12') && !texts().some((text) => text.includes('no')));
  });
});
