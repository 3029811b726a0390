import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { MAX_EXPORTED_ENDPOINTS, type ExportedService } from '../../../../api/kinds/service-discovery.ts';
import { applyUpdate, parseExport, planSharing, newlyShared } from '../../../../gateway/broker/export-protocol.ts';
import { MAX_EXPORTED_PORTS } from '../../../../model/network/gateway-names.ts';
import { exportOf } from '../../../support/objects/exported-services.ts';

const OF = { clusterId: 'eu', namespace: 'shop', name: 'web' };
const named = (...exports: readonly ExportedService[]) => new Map(exports.map((one) => [one.metadata.name ?? '', one]));
const endpoints = (count: number) =>
  ({ spec: { slices: [{ endpoints: Array.from({ length: count }, () => ({ address: '10.1.0.1', ready: true })) }] } });

const ports = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `p${index}`, port: index + 1 }));

describe('the body of an export', () => {
  const refused: [string, unknown, Partial<typeof OF>][] = [
    ['no object', 'x', {}], ['no spec', {}, {}],
    ['a spec without endpoints', { spec: {} }, {}], ['endpoints that are no list', { spec: { slices: {} } }, {}],
    ['more ports than are published', { spec: { slices: [], ports: ports(MAX_EXPORTED_PORTS + 1) } }, {}],
    ['as many ports of endpoints', { spec: { slices: [{ ports: ports(MAX_EXPORTED_PORTS + 1) }] } }, {}],
    ['more endpoints than fit an object', endpoints(MAX_EXPORTED_ENDPOINTS + 1), {}], [
      'a namespace that is none', endpoints(1), { namespace: 'a.b' },
    ], ['a name that is none', endpoints(1), { name: '../x' }],
  ];
  for (const [what, body, of] of refused) {
    it(`is refused with ${what}`, () => assert.equal(parseExport(body, { ...OF, ...of }).kind, 'invalid'));
  }

  it('is that of the member and the name in the path, whatever it says', () => {
    const lie = { spec: { ...exportOf('us').spec, clusterID: 'us', namespace: 'kube-system', name: 'dns' } };
    const parsed = parseExport(lie, OF);
    assert.deepEqual(
      parsed.kind === 'value'
        && [parsed.value.metadata, parsed.value.spec.clusterID, parsed.value.spec.namespace, parsed.value.spec.name],
      [{ name: 'eu.shop.web' }, 'eu', 'shop', 'web'],
    );
  });
  it('is read or refused, never thrown at', () => fc.assert(
    fc.property(fc.anything(), (body) => ['value', 'invalid'].includes(parseExport(body, OF).kind)),
  ));
});

describe('what a member tells the broker', () => {
  const changed = exportOf('eu', { slices: [] });
  const rows: [string, readonly ExportedService[], readonly ExportedService[], readonly string[]][] = [
    ['is nothing when the broker has it all', [exportOf('eu')], [exportOf('eu')], []],
    ['is what is new', [exportOf('eu')], [], ['tell web']],
    ['is what has changed', [changed], [exportOf('eu')], ['tell web']],
    ['is what is exported no more', [], [exportOf('eu')], ['withdraw web']],
    [
      'is the same whatever order API servers give fields and lists back in', [exportOf('eu')],
      [{
        ...exportOf('eu'),
        spec: Object.fromEntries(Object.entries(exportOf('eu').spec).toReversed()) as ExportedService['spec'],
      }],
      [],
    ],
  ];
  for (const [what, own, atBroker, expected] of rows) {
    it(what, () => assert.deepEqual(
      planSharing(named(...own), named(...atBroker)).map(
        (change) => `${change.kind} ${change.kind === 'tell' ? change.object.spec.name : change.name}`,
      ),
      expected,
    ));
  }
});

describe('an own export', () => {
  const of = (generation: number, sharedGeneration?: number): ExportedService => ({
    ...exportOf('eu'), metadata: { name: 'eu.shop.web', generation },
    ...(sharedGeneration !== undefined && { status: { sharedGeneration } }),
  });
  const rows: [string, ExportedService, readonly ExportedService[], number][] = [
    ['is noted as shared when the broker has it', of(1), [exportOf('eu')], 1],
    ['is not noted twice', of(1, 1), [exportOf('eu')], 0],
    ['is noted again after it has changed', of(2, 1), [exportOf('eu')], 1],
    ['is not noted while the broker has another', of(2, 1), [exportOf('eu', { slices: [] })], 0],
    ['is not noted while the broker has none', of(1), [], 0],
  ];
  for (const [what, own, atBroker, expected] of rows) {
    it(what, () => assert.equal(newlyShared(named(own), named(...atBroker)).length, expected));
  }
});

describe('all exports after a line of the stream', () => {
  const [eu, us] = [exportOf('eu'), exportOf('us')];
  const rows: [string, Parameters<typeof applyUpdate>[1], readonly string[]][] = [
    ['are those that it tells, when it tells all', { exports: [us] }, ['us.shop.web']],
    ['are more by what has changed', { changedExports: [us] }, ['eu.shop.web', 'us.shop.web']],
    ['are fewer by what is gone', { goneExports: ['eu.shop.web'] }, []],
    ['are the same after one about members', { clusters: [], endpoints: [] }, ['eu.shop.web']],
    [
      'are without one whose name does not follow from what it says',
      { changedExports: [{ ...us, metadata: { name: 'eu.shop.web' } }] }, ['eu.shop.web'],
    ],
  ];
  for (const [what, news, expected] of rows) {
    it(what, () => assert.deepEqual([...applyUpdate(named(eu), news).keys()], expected));
  }
  it('do not change the exports before', () => {
    const before = named(eu);
    applyUpdate(before, { goneExports: ['eu.shop.web'] });
    assert.equal(before.size, 1);
  });
});
