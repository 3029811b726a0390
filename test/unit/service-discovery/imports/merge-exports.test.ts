// The behaviours of the MCS API where several clusters export one Service.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { ExportedService } from '../../../../api/kinds/service-discovery.ts';
import { CONFLICT_REASONS, mergeExports, oldestFirst } from '../../../../service-discovery/imports/merge-exports.ts';
import { exportOf } from '../../../support/objects/exported-services.ts';

const OLD = '2026-01-01T00:00:00Z';
const NEW = '2026-02-01T00:00:00Z';
const old = (spec: Partial<ExportedService['spec']> = {}) => exportOf('zulu', { exportedAt: OLD, ...spec });
const young = (spec: Partial<ExportedService['spec']> = {}) => exportOf('alpha', { exportedAt: NEW, ...spec });
const reasons = (...exports: readonly ExportedService[]) =>
  mergeExports(exports)?.conflicts.map(({ reason }) => reason);
const http = { name: 'http', protocol: 'TCP', port: 80 };

describe('an import', () => {
  it('is not there without an export', () => assert.equal(mergeExports([]), undefined));
  it('is there while one cluster exports', () => assert.deepEqual(
    mergeExports([young()])?.contributors.map(({ spec }) => spec.clusterID), ['alpha'],
  ));
  it('has the name and namespace of the Service', () => assert.deepEqual(
    [mergeExports([old()])?.namespace, mergeExports([old()])?.name], ['shop', 'web'],
  ));
  it('is in no conflict where exports agree', () => assert.deepEqual(reasons(old(), young()), []));
  it('uses endpoints of all clusters, the oldest first', () => assert.deepEqual(
    mergeExports([young(), old()])?.contributors.map(({ spec }) => spec.clusterID), ['zulu', 'alpha'],
  ));
});

describe('the oldest export', () => {
  it('is found by its time, not by its name', () => assert.equal(
    oldestFirst([young(), old()])[0]?.spec.clusterID, 'zulu',
  ));
  it('is found by its time in whatever zone it was written', () => assert.equal(
    oldestFirst([
      exportOf('a', { exportedAt: '2026-01-01T02:00:00Z' }), exportOf('b', { exportedAt: '2026-01-01T02:30:00+01:00' }),
    ])[0]?.spec.clusterID,
    'b',
  ));
  it('is found by its name among those of one age', () => assert.equal(
    oldestFirst([exportOf('b'), exportOf('a')])[0]?.spec.clusterID, 'a',
  ));
  it('is none of a cluster that joined later, whatever it says itself', () => {
    const said = exportOf('new', { exportedAt: '1970-01-01T00:00:00Z', type: 'Headless' });
    const joined = new Map([['new', Date.parse(NEW)], ['zulu', Date.parse('2025-01-01T00:00:00Z')], ['hand', NaN]]);
    const clusters = (...exports: readonly ExportedService[]) =>
      oldestFirst(exports, joined).map(({ spec }) => spec.clusterID);
    assert.deepEqual(clusters(said, old()), ['zulu', 'new']);
    assert.deepEqual(clusters(said, exportOf('hand')), ['hand', 'new'], 'a member that was made by hand');
    assert.equal(mergeExports([said, old()], joined)?.settings.type, 'ClusterSetIP');
    assert.match(mergeExports([said, young({ exportedAt: '2026-03-01T00:00:00Z' })], joined)?.conflicts[0]?.message
      ?? '', /that of new, the oldest export \(2026-02-01T00:00:00Z\)/);
  });
  it('is never one whose time cannot be read', () => assert.equal(
    oldestFirst([exportOf('a', { exportedAt: 'long ago' }), exportOf('b')])[0]?.spec.clusterID, 'b',
  ));
});

describe('ports', () => {
  const grpc = { name: 'grpc', protocol: 'TCP', port: 9000 };
  it('are the union of all', () => assert.deepEqual(
    mergeExports([young({ ports: [grpc] }), old()])?.settings.ports, [http, grpc],
  ));
  it('that are not the same everywhere are told as a conflict, as v1beta1 says', () => assert.deepEqual(
    reasons(old(), young({ ports: [http, grpc] })), ['PortConflict'],
  ));
  it('in another order are the same', () => assert.deepEqual(
    reasons(old({ ports: [http, grpc] }), young({ ports: [grpc, http] })), [],
  ));
  it('without a protocol are TCP', () => assert.deepEqual(
    reasons(old(), young({ ports: [{ name: 'http', port: 80 }] })), [],
  ));
  const clashes = {
    'number of one name': { name: 'http', port: 81 },
    'protocol of one name': { name: 'http', port: 80, protocol: 'UDP' },
    'name of one number': { name: 'web', port: 80 },
  };
  for (const [what, port] of Object.entries(clashes)) {
    it(`are the oldest's where they clash: ${what}`, () => {
      assert.deepEqual(mergeExports([young({ ports: [port] }), old()])?.settings.ports, [http]);
      assert.deepEqual(reasons(young({ ports: [port] }), old()), ['PortConflict']);
    });
  }
  it('of one number and two protocols are two ports', () => assert.equal(
    mergeExports([old(), young({ ports: [{ name: 'quic', protocol: 'UDP', port: 80 }] })])?.settings.ports.length, 2,
  ));
  const unnamed = { protocol: 'TCP', port: 80 };
  const besides = {
    'the oldest has it, and it stays alone': [old({ ports: [unnamed] }), young({ ports: [http, grpc] }), [unnamed]],
    'a younger one has it, and it is left out': [old(), young({ ports: [{ protocol: 'TCP', port: 81 }] }), [http]],
  } as const;
  for (const [what, [older, younger, expected]] of Object.entries(besides)) {
    it(`without a name have none beside them, as an API server demands: ${what}`, () => {
      assert.deepEqual(mergeExports([younger, older])?.settings.ports, expected);
      assert.deepEqual(reasons(younger, older), ['PortConflict']);
    });
  }
  it('without a name are beside others in a headless import, which has no Service', () => {
    const type = 'Headless' as const;
    assert.deepEqual(mergeExports([old({ type, ports: [unnamed] }), young({ type, ports: [grpc] })])?.settings.ports, [
      unnamed, grpc,
    ]);
  });
  it('of an export of another type do not count', () => assert.deepEqual(
    mergeExports([old(), young({ type: 'Headless', ports: [grpc] })])?.settings.ports, [http],
  ));
});

describe('a type mismatch', () => {
  it('is a conflict', () => assert.deepEqual(reasons(old(), young({ type: 'Headless' })), ['TypeConflict']));
  for (const [oldType, youngType] of [['ClusterSetIP', 'Headless'], ['Headless', 'ClusterSetIP']] as const) {
    it(`leaves ${oldType} where that is the oldest's`, () => assert.equal(
      mergeExports([young({ type: youngType }), old({ type: oldType })])?.settings.type, oldType,
    ));
  }
  it('leaves the younger one without a part in the import', () => assert.deepEqual(
    mergeExports([old(), young({ type: 'Headless' })])?.contributors.map(({ spec }) => spec.clusterID), ['zulu'],
  ));
  it('is told in few words, however long the time of the oldest is', () => {
    const exportedAt = `2020-01-01T00:00:00.${'0'.repeat(40_000)}Z`;
    const [conflict] = mergeExports([old({ exportedAt }), young({ type: 'Headless' })])?.conflicts ?? [];
    assert.match(conflict?.message.slice(0, 200) ?? '', /the oldest export \(2020-01-01T00:00:00Z\): endpoints/);
  });
  it('says who decides', () => assert.match(
    mergeExports([old(), young({ type: 'Headless' })])?.conflicts[0]?.message ?? '',
    /alpha differs from that of zulu, the oldest export \(2026-01-01T00:00:00Z\)/,
  ));
});

describe('what can have one value only', () => {
  const clientIP = { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } } };
  it('session affinity is the oldest\'s', () => {
    assert.deepEqual(
      [
        mergeExports([young(clientIP), old()])?.settings.sessionAffinity,
        mergeExports([young(), old(clientIP)])?.settings.sessionAffinity,
      ],
      ['None', 'ClientIP'],
    );
    assert.deepEqual(reasons(young(clientIP), old()), ['SessionAffinityConflict']);
  });
  it('configuration of a session affinity is the oldest\'s', () => {
    const longer = { ...clientIP, sessionAffinityConfig: { clientIP: { timeoutSeconds: 600 } } };
    assert.deepEqual(
      mergeExports([young(longer), old(clientIP)])?.settings.sessionAffinityConfig, clientIP.sessionAffinityConfig,
    );
    assert.deepEqual(reasons(young(longer), old(clientIP)), ['SessionAffinityConfigConflict']);
  });
  it('internal traffic policy is the oldest\'s', () => {
    assert.equal(
      mergeExports(
        [young({ internalTrafficPolicy: 'Local' }), old({ internalTrafficPolicy: 'Cluster' })],
      )?.settings.internalTrafficPolicy,
      'Cluster',
    );
    assert.deepEqual(reasons(young({ internalTrafficPolicy: 'Local' }), old()), ['InternalTrafficPolicyConflict']);
  });
  it('traffic distribution is the oldest\'s', () => {
    assert.equal(
      mergeExports([young(), old({ trafficDistribution: 'PreferClose' })])?.settings.trafficDistribution, 'PreferClose',
    );
    assert.deepEqual(reasons(young(), old({ trafficDistribution: 'PreferClose' })), ['TrafficDistributionConflict']);
  });
  it('labels and annotations are the oldest\'s as a whole', () => {
    const merged = mergeExports(
      [young({ labels: { b: '2' }, annotations: { d: '2' } }), old({ labels: { a: '1' }, annotations: { c: '1' } })],
    );
    assert.deepEqual([merged?.labels, merged?.annotations], [{ a: '1' }, { c: '1' }]);
    assert.deepEqual(merged?.conflicts.map(({ reason }) => reason), ['LabelsConflict', 'AnnotationsConflict']);
  });
  it('several conflicts are all told, in one order', () => {
    const found = reasons(young({ type: 'Headless', ports: [], ...clientIP, labels: { a: '' } }), old());
    assert.deepEqual(found, ['TypeConflict', 'PortConflict', 'SessionAffinityConflict', 'LabelsConflict']);
    assert.deepEqual(found, CONFLICT_REASONS.filter((reason) => found?.includes(reason)));
  });
});

describe('laws of merging', () => {
  const spec = fc.record({
    clusterID: fc.constantFrom('a', 'b', 'c', 'd'), exportedAt: fc.constantFrom(OLD, NEW, 'nonsense'),
    type: fc.constantFrom('ClusterSetIP' as const, 'Headless' as const),
    ports: fc.uniqueArray(
      fc.record({
        name: fc.constantFrom('x', 'y', 'z'), port: fc.integer({ min: 1, max: 4 }),
        protocol: fc.constantFrom('TCP', 'UDP'),
      }),
      { selector: ({ name }) => name, maxLength: 3 },
    ),
    sessionAffinity: fc.constantFrom('None', 'ClientIP'),
  });
  const exports = fc.uniqueArray(spec, { selector: ({ clusterID }) => clusterID, minLength: 1, maxLength: 4 })
    .map((specs) => specs.map(({ clusterID, ...more }) => exportOf(clusterID, more)));

  it('the order in which exports are known does not count: all clusters come to the same import', () => {
    fc.assert(fc.property(exports, fc.nat(), (list, seed) => {
      const other = list.toSorted(
        (one, two) => ((seed + one.spec.clusterID.charCodeAt(0)) % 3) - ((seed + two.spec.clusterID.charCodeAt(0)) % 3),
      );
      assert.deepEqual(mergeExports(other), mergeExports(list));
    }), { numRuns: 100 });
  });

  it('each port name and each number of a protocol is there once, and whatever is served was exported', () => {
    fc.assert(fc.property(exports, (list) => {
      const ports = mergeExports(list)?.settings.ports ?? [];
      assert.equal(new Set(ports.map(({ name }) => name)).size, ports.length);
      assert.equal(new Set(ports.map(({ port, protocol }) => `${port}/${protocol}`)).size, ports.length);
      for (const port of ports) {
        assert.ok(list.some(
          ({ spec: { ports: exported } }) =>
            exported.some((one) => one.name === port.name && one.port === port.port && one.protocol === port.protocol),
        ));
      }
    }), { numRuns: 100 });
  });

  it('a younger export changes nothing that the oldest decides', () => {
    fc.assert(fc.property(exports, (list) => {
      const [oldest] = oldestFirst(list);
      const alone = mergeExports(oldest === undefined ? [] : [oldest]);
      const all = mergeExports(list);
      assert.deepEqual([all?.settings.type, all?.settings.sessionAffinity, all?.labels], [
        alone?.settings.type, alone?.settings.sessionAffinity, alone?.labels,
      ]);
      for (const port of alone?.settings.ports ?? []) assert.ok(all?.settings.ports.includes(port));
    }), { numRuns: 100 });
  });

  it('there is a conflict where and only where some pair of exports is in conflict', () => {
    fc.assert(fc.property(exports, (list) => {
      const [oldest, ...younger] = oldestFirst(list);
      const pairs = younger.flatMap((one) => (oldest === undefined ? [] : (reasons(oldest, one) ?? [])));
      assert.deepEqual(new Set(reasons(...list)), new Set(pairs));
    }), { numRuns: 100 });
  });
});
