import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { ExportedService, ImportListener } from '../../../../api/kinds/service-discovery.ts';
import {
  IMPORT_PORTS, parsePortRange, planListeners, type ListenerFacts, type ListenerPlan,
} from '../../../../gateway/local-end/import-listeners.ts';
import { exportOf } from '../../../support/objects/exported-services.ts';

const range = { first: 20_000, last: 20_009 };
const plan = (exports: readonly ExportedService[], more: Partial<ListenerFacts> = {}): ListenerPlan =>
  planListeners({ clusterId: 'eu', exports, range, given: new Map(), taken: new Set(), ...more });
const tcp = (...numbers: readonly number[]) => numbers.map((port) => ({ name: `p${port}`, protocol: 'TCP', port }));
const saying = (
  exported: ExportedService, ...listeners: readonly (readonly [port: number, listenerPort: number])[]
): ExportedService =>
  ({ ...exported, status: { listeners: listeners.map(([port, listenerPort]) => ({ port, listenerPort })) } });

describe('the listeners of a gateway', () => {
  it('are one for each TCP port of each Service that another cluster exports, and lead to that port there', () => {
    const { targets } =
      plan([exportOf('us', { ports: tcp(80, 81) }), exportOf('asia', { name: 'db' }), exportOf('eu')]);
    assert.deepEqual([...targets.values()].map(({ clusterId, service }) => `${clusterId} ${service}`).toSorted(), [
      'asia _80._tcp.db.shop.svc', 'us _80._tcp.web.shop.svc', 'us _81._tcp.web.shop.svc',
    ]);
  });
  it('are none for UDP, nor for a headless Service', () => assert.equal(
    plan(
      [exportOf('us', { ports: [{ name: 'dns', protocol: 'UDP', port: 53 }] }), exportOf('asia', { type: 'Headless' })],
    ).targets.size,
    0,
  ));
  it('are not searched for in a full range: a member decides how many ports it exports', () => {
    let looks = 0;
    const taken = new Set<number>([20_003]);
    taken.has = (port) => {
      looks += 1;
      return port === 20_003;
    };
    const numbers = Array.from({ length: 1_000 }, (_, index) => index + 1);
    const { targets } = plan([exportOf('us', { ports: tcp(...numbers) })], { taken });
    assert.equal(targets.size, 9);
    assert(looks <= 9 * 10, `${looks} looks at 10 ports`);
  });
  it('are recorded once', () => {
    const us = exportOf('us');
    const changed = plan([us]).changed.get('us.shop.web') ?? [];
    assert.equal(changed.length, 1);
    assert.equal(plan([{ ...us, status: { listeners: changed } }]).changed.size, 0);
  });
  it('are recorded again where they are no more: of a port that is gone, of a Service that became headless', () => {
    assert.deepEqual([...plan([saying(exportOf('us', { ports: tcp(80) }), [80, 20_001], [81, 20_002])]).changed], [
      ['us.shop.web', [{ port: 80, listenerPort: 20_001 }]],
    ]);
  });
  it('keep what another gateway has given, wherever they would begin', () => assert.deepEqual(
    [...plan([saying(exportOf('us'), [80, 20_007])]).targets.keys()], [20_007],
  ));
  it('keep what this one has given before the object shows it', () => {
    const given = new Map<string, readonly ImportListener[]>([['us.shop.web', [{ port: 80, listenerPort: 20_004 }]]]);
    assert.deepEqual([...plan([exportOf('us')], { given }).targets.keys()], [20_004]);
    assert.equal(plan([exportOf('us')], { given }).changed.size, 1);
  });
  it('take another number where something else has it, or where it is outside of the range', () => {
    for (const [said, more] of [[20_007, { taken: new Set([20_007]) }], [19_999, {}], [20_010, {}]] as const) {
      const [port = 0] = plan([saying(exportOf('us'), [80, said])], more).targets.keys();
      assert.ok(port !== said && port >= range.first && port <= range.last, String(port));
    }
  });
  it('have what there is room for', () => {
    const { targets, changed, without } =
      plan([exportOf('us', { ports: tcp(...Array.from({ length: 15 }, (_, index) => index + 1)) })]);
    assert.deepEqual([targets.size, changed.get('us.shop.web')?.length, without], [10, 10, ['us.shop.web']]);
    assert.deepEqual(plan([exportOf('us')]).without, []);
  });

  it('are shared fairly when they do not suffice: among clusters, and among the Services of each', () => {
    const many = tcp(...Array.from({ length: 13_000 }, (_, index) => index + 1));
    const first = plan([exportOf('aa', { name: 'big', ports: many }), exportOf('aa', { ports: tcp(80, 81) })]);
    const countOf = ({ numbers }: ListenerPlan) => [...numbers].map(([name, { length }]) => `${name} ${length}`);
    assert.deepEqual([countOf(first), first.without], [['aa.shop.big 8', 'aa.shop.web 2'], ['aa.shop.big']]);
    const others = ['us', 'za'].map((cluster) => exportOf(cluster, { ports: tcp(1, 2, 3, 4) }));
    const big = exportOf('aa', { name: 'big', ports: many });
    const later = plan([big, exportOf('aa', { ports: tcp(80, 81) }), ...others], { given: first.numbers });
    assert.deepEqual(countOf(later), ['aa.shop.big 2', 'aa.shop.web 2', 'us.shop.web 3', 'za.shop.web 3']);
    assert.deepEqual(later.numbers.get('aa.shop.big'), first.numbers.get('aa.shop.big')?.slice(0, 2));
  });

  it('are as many as there are, also where there are more Services than ports', () => {
    const exports = Array.from({ length: 12 }, (_, index) => exportOf('us', { name: `s${index}` }));
    assert.equal(plan(exports).targets.size, 10);
  });

  const someExports = fc.uniqueArray(
    fc.record({
      cluster: fc.constantFrom('us', 'asia', 'eu'), name: fc.constantFrom('a', 'b', 'c'),
      ports: fc.uniqueArray(fc.integer({ min: 1, max: 3 }), { maxLength: 3 }),
      said: fc.array(fc.integer({ min: 19_998, max: 20_011 }), { maxLength: 3 }),
    }),
    { selector: ({ cluster, name }) => `${cluster} ${name}` },
  );
  const toExports =
    (list: readonly { cluster: string; name: string; ports: readonly number[]; said: readonly number[] }[]) =>
    list.map(({ cluster, name, ports, said }) => saying(
      exportOf(cluster, { name, ports: tcp(...ports) }), ...said.map((number, index) => [index + 1, number] as const),
    ));
  const withPlan = (exports: readonly ExportedService[], { changed }: ListenerPlan) =>
    exports.map((one) => (
      {
        ...one,
        status: { ...one.status, listeners: changed.get(one.metadata.name ?? '') ?? one.status?.listeners ?? [] },
      }
    ));

  it('once recorded stay as they are, whatever comes and goes', () => {
    fc.assert(fc.property(someExports, someExports, (first, second) => {
      const room = { range: { first: 20_000, last: 20_017 } };
      const settled = withPlan(toExports(first), plan(toExports(first), room));
      const known = new Map(settled.map((one) => [one.metadata.name, one]));
      const afterwards = toExports(second).map((one) => known.get(one.metadata.name) ?? { ...one, status: {} });
      const before = plan(settled, room).targets;
      const now = plan(afterwards, room).targets;
      for (const [port, target] of before) if (
        afterwards.some(({ spec }) => target.clusterId === spec.clusterID && target.service.includes(`.${spec.name}.`))
      ) assert.deepEqual(now.get(port), target);
      assert.equal(plan(settled, room).changed.size, 0);
    }), { numRuns: 200 });
  });
  it('never share a number, and say of each import what leads to it', () => {
    fc.assert(fc.property(someExports, (list) => {
      const { targets, numbers } = plan(toExports(list));
      const all = [...numbers].flatMap(
        ([name, listeners]) => listeners.map(({ port, listenerPort }) => ({ name, port, listenerPort })),
      );
      assert.equal(new Set(all.map(({ listenerPort }) => listenerPort)).size, all.length);
      for (const { name, port, listenerPort } of all) assert.equal(
        `${targets.get(listenerPort)?.clusterId}.${targets.get(listenerPort)?.service}`,
        `${name.split('.')[0]}._${port}._tcp.${name.split('.')[2]}.shop.svc`,
      );
      assert.equal(targets.size, all.length);
    }), { numRuns: 200 });
  });
});

describe('a range of ports', () => {
  for (
    const [text, expected] of [
      ['20000-29999', IMPORT_PORTS], ['1024-1024', { first: 1_024, last: 1_024 }], ['80-90', undefined],
      ['3000-2000', undefined], ['60000-70000', undefined], ['2000', undefined],
    ] as const
  ) {
    it(`${expected === undefined ? 'is none' : 'is read'}: ${text}`, () => assert.deepEqual(
      parsePortRange(text), expected,
    ));
  }
});
