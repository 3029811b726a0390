import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { exportConditions, type ExportState } from '../../../../service-discovery/exports/export-conditions.ts';
import { mergeExports } from '../../../../service-discovery/imports/merge-exports.ts';
import { exportOf } from '../../../support/objects/exported-services.ts';

const NOW = '2026-03-01T00:00:00Z';
const own = exportOf('eu', { exportedAt: '2026-02-01T00:00:00Z' });
const state = (more: Partial<ExportState> = {}): ExportState => ({
  clusterId: 'eu', exported: { kind: 'exported', object: own, leftOut: { endpoints: 0, ports: 0 } }, isShared: true,
  merged: mergeExports([own]), generation: 3, ...more,
});
const short = (given: ExportState) =>
  exportConditions(undefined, given, NOW).map(({ type, status, reason }) => `${type}=${status} ${reason}`);
const invalid = { kind: 'invalid', reason: 'NoService', message: 'there is no Service' } as const;
const headless = mergeExports([exportOf('us', { type: 'Headless' }), own]);

describe('conditions of an export', () => {
  const rows: [string, ExportState, string[]][] = [
    ['that the others know of', state(), ['Valid=True Valid', 'Ready=True Exported', 'Conflict=False NoConflicts']],
    ['that the broker has not taken yet', state({ isShared: false }), [
      'Valid=True Valid', 'Ready=False Pending', 'Conflict=False NoConflicts',
    ]],
    ['that the broker refuses', state({ isShared: false, refusal: 'too many' }), [
      'Valid=True Valid', 'Ready=False Failed', 'Conflict=False NoConflicts',
    ]],
    ['in a cluster that is in no clusterset', state({ isShared: undefined }), [
      'Valid=True Valid', 'Ready=False Pending', 'Conflict=False NoConflicts',
    ]],
    ['without a Service', state({ exported: invalid }), [
      'Valid=False NoService', 'Ready=False Failed', 'Conflict=False NoConflicts',
    ]],
    ['without a Service, beside contradicting exports of others', state({ exported: invalid, merged: headless }), [
      'Valid=False NoService', 'Ready=False Failed', 'Conflict=False NoConflicts',
    ]],
    ['of another type than the oldest', state({ merged: headless }), [
      'Valid=True Valid', 'Ready=False Failed', 'Conflict=True TypeConflict',
    ]],
    [
      'that contradicts another in two things',
      state({ merged: mergeExports([own, exportOf('us', { ports: [], labels: { a: 'b' } })]) }),
      ['Valid=True Valid', 'Ready=True Exported', 'Conflict=True PortConflict,LabelsConflict'],
    ],
  ];
  for (const [what, given, expected] of rows) it(what, () => assert.deepEqual(short(given), expected));

  it('show a conflict on the oldest export as well', () => assert.ok(
    short(state({ clusterId: 'us', merged: headless })).includes('Conflict=True TypeConflict'),
  ));
  it('are of the generation that was looked at', () => assert.deepEqual(
    exportConditions(undefined, state(), NOW).map(({ observedGeneration }) => observedGeneration), [3, 3, 3],
  ));
  it('say how many endpoints and ports were left out', () => {
    const exported = { kind: 'exported', object: own, leftOut: { endpoints: 7, ports: 2 } } as const;
    assert.match(
      exportConditions(undefined, state({ exported }), NOW)[1]?.message ?? '',
      /; 7 endpoints exceed the limit and are omitted; 2 ports exceed the limit/,
    );
  });
  it('say how many endpoints the others ignore, as of pods in the network of their host', () => {
    const endpoints = ['10.1.0.5', '192.0.2.1', 'fd00::1'].map((address) => ({ address, ready: true }));
    const slices = [{ addressType: 'IPv4', ports: [], endpoints }];
    const object = exportOf('eu', { slices });
    const exported = { kind: 'exported', object, leftOut: { endpoints: 0, ports: 0 } } as const;
    const told = (ranges: readonly string[]) =>
      exportConditions(undefined, state({ exported, ranges }), NOW)[1]?.message ?? '';
    assert.match(told(['10.1.0.0/16']), /received it; 1 endpoints are in none of the pod ranges of this cluster/);
    assert.match(told([]), /; 2 endpoints are in none of the pod ranges .*--cluster-cidr/);
    assert.doesNotMatch(told(['0.0.0.0/0']), /endpoints/);
  });
  it('stay the same list while nothing changes', () => {
    const before = exportConditions(undefined, state(), NOW);
    assert.equal(exportConditions(before, state(), '2026-04-01T00:00:00Z'), before);
  });
  it('keep their time while only words change', () => {
    const before = exportConditions(undefined, state({ isShared: undefined }), NOW);
    assert.equal(
      exportConditions(before, state({ isShared: false }), '2026-04-01T00:00:00Z')[1]?.lastTransitionTime, NOW,
    );
  });
});
