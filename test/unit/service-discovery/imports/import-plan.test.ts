import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { toImportObjects, type ImportObjects } from '../../../../service-discovery/imports/import-objects.ts';
import { importStatus, planImport, type ExistingImport } from '../../../../service-discovery/imports/import-plan.ts';
import { mergeExports, type MergedExports } from '../../../../service-discovery/imports/merge-exports.ts';
import { exportOf } from '../../../support/objects/exported-services.ts';

const NOTHING_THERE: ExistingImport = { serviceImport: undefined, service: undefined, slices: [] };
const merged = mergeExports([exportOf('us')]) as MergedExports;
const prefixes = new Map([['us', [{ own: '10.1.0.0/16', seen: '10.1.0.0/16' }]]]);
const wanted: ImportObjects = toImportObjects(
  { clusterId: 'eu', merged, prefixes, unreachable: new Set(), podPlane: new Set(), importAddress: undefined, ips: [] },
);
const say = (plan: ReturnType<typeof planImport>) => plan.map(
  (command) =>
    `${command.kind} ` +
      `${command.kind === 'apply' ? command.object.kind : command.kind === 'delete' ? command.type.kind : ''}`,
);

/** What an API server has after the plan: as applied, with UIDs and fields of its own. */
function applied(plan: ReturnType<typeof planImport>): ExistingImport {
  const stored = plan.flatMap((command) => (
    command.kind === 'apply' ? [{
      ...command.object,
      metadata: { ...command.object.metadata, uid: `uid-${command.object.metadata.name}`, generation: 1 }, status: {},
    }] : []
  ));
  const of = (kind: string) => stored.filter((object) => object.kind === kind);
  return {
    serviceImport: of('ServiceImport')[0], service: of('Service')[0],
    slices: of('EndpointSlice') as unknown as ExistingImport['slices'],
  };
}
const there = applied(planImport(wanted, NOTHING_THERE));
const foreign = <T extends KubernetesObject>(object: T): T =>
  ({ ...object, metadata: { ...object.metadata, labels: {} } });

describe('the plan of an import', () => {
  it('makes what is missing', () => assert.deepEqual(
    say(planImport(wanted, NOTHING_THERE)), ['apply Service', 'apply ServiceImport', 'apply EndpointSlice'],
  ));
  it('writes nothing when all is there', () => assert.deepEqual(planImport(wanted, there), []));
  it('makes nothing where there is no export', () => assert.deepEqual(planImport(undefined, NOTHING_THERE), []));
  it('removes everything with the last export', () => assert.deepEqual(
    say(planImport(undefined, there)), ['delete Service', 'delete ServiceImport', 'delete EndpointSlice'],
  ));
  it('removes only the very object that was seen', () => {
    const [command] = planImport(undefined, there);
    assert.equal(command?.kind === 'delete' && command.preconditions.uid, there.service?.metadata.uid);
  });
  it('removes endpoints of a cluster that exports no more', () => assert.deepEqual(
    say(planImport({ ...wanted, slices: [] }, there)), ['delete EndpointSlice'],
  ));
  it('restores what somebody else has changed', () => {
    const [slice] = there.slices;
    assert.deepEqual(
      say(planImport(wanted, { ...there, slices: slice === undefined ? [] : [{ ...slice, endpoints: [] }] })),
      ['apply EndpointSlice'],
    );
  });
  it('takes off what is wanted no more, though all that is wanted is there', () => {
    const fewer = {
      ...wanted,
      serviceImport: { ...wanted.serviceImport, metadata: { ...wanted.serviceImport.metadata, annotations: {} } },
    };
    const more = {
      ...wanted,
      serviceImport:
        { ...wanted.serviceImport, metadata: { ...wanted.serviceImport.metadata, annotations: { gone: 'x' } } },
    };
    assert.deepEqual(say(planImport(fewer, applied(planImport(more, NOTHING_THERE)))), ['apply ServiceImport']);
  });
  it('makes a slice anew whose addresses are of another family: an API server lets nobody change that', () => {
    const ofIpv6 = wanted.slices.map((slice) => ({ ...slice, addressType: 'IPv6' }));
    const plan = planImport({ ...wanted, slices: ofIpv6 }, there);
    assert.deepEqual(say(plan), ['delete EndpointSlice', 'apply EndpointSlice']);
    const [command] = plan;
    assert.equal(command?.kind === 'delete' && command.preconditions.uid, there.slices[0]?.metadata.uid);
  });
  it('turns a Service into a headless import', () => {
    const headless = toImportObjects({
      clusterId: 'eu', merged: mergeExports([exportOf('us', { type: 'Headless' })]) as MergedExports, prefixes,
      unreachable: new Set(), podPlane: new Set(), importAddress: undefined, ips: [],
    });
    assert.deepEqual(
      say(planImport(headless, there)), ['delete Service', 'apply ServiceImport', 'apply EndpointSlice'],
    );
  });
  it('leaves alone what another implementation made', () => {
    const others: ExistingImport = {
      serviceImport: there.serviceImport && foreign(there.serviceImport),
      service: there.service && foreign(there.service), slices: there.slices.map(foreign),
    };
    assert.deepEqual(planImport({ ...wanted, slices: [] }, others), []);
    assert.deepEqual(planImport(undefined, others), []);
  });
});

describe('the status of an import', () => {
  const two = mergeExports([exportOf('us', { exportedAt: '2025-01-01T00:00:00Z' }), exportOf('eu')]) as MergedExports;
  it('lists the clusters by name', () => assert.deepEqual(
    importStatus(undefined, two, { ips: ['10.96.0.1'] }, 'now').clusters, [{ cluster: 'eu' }, { cluster: 'us' }],
  ));
  const ready = (from: MergedExports, ips: string[]) =>
    importStatus(undefined, from, { ips }, 'now').conditions?.map(({ status, reason }) => `${status} ${reason}`);
  it('is ready with an address', () => assert.deepEqual(ready(two, ['10.96.0.1']), ['True Ready']));
  it('is pending before', () => assert.deepEqual(ready(two, []), ['False Pending']));
  it('says why the API server gives no address', () => assert.equal(
    importStatus(undefined, two, { ips: [], rejected: 'exceeded quota' }, 'now').conditions?.[0]?.message,
    'no address was given yet: exceeded quota',
  ));
  it('is ready without one when headless', () => assert.deepEqual(
    ready(mergeExports([exportOf('us', { type: 'Headless' })]) as MergedExports, []), ['True Ready'],
  ));
  it('stays the same object while nothing changes', () => {
    const before = importStatus(undefined, two, { ips: ['10.96.0.1'] }, 'now');
    assert.equal(importStatus(before, two, { ips: ['10.96.0.1'] }, 'later'), before);
  });
});
