import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ExportedService, ServiceExport } from '../../../../api/kinds/service-discovery.ts';
import { isShared, planConditions, planExportedService } from '../../../../service-discovery/exports/export-plan.ts';
import type { Export } from '../../../../service-discovery/exports/exported-service.ts';
import { exportOf } from '../../../support/objects/exported-services.ts';

const exported = (object = exportOf('eu')): Export =>
  ({ kind: 'exported', object, leftOut: { endpoints: 0, ports: 0 } });
const INVALID: Export = { kind: 'invalid', reason: 'NoService', message: '' };
const kinds = (plan: ReturnType<typeof planExportedService>) => plan.map(({ kind }) => kind);

/** As an API server has it after the plan. */
function stored(of: Export): ExportedService {
  const [command] = planExportedService(of, undefined);
  assert.ok(command?.kind === 'apply');
  return { ...command.object, metadata: { ...command.object.metadata, uid: 'u', generation: 1 } } as ExportedService;
}

describe('what the others are told', () => {
  it('is written when it is new', () => assert.deepEqual(kinds(planExportedService(exported(), undefined)), ['apply']));
  it('is not written again', () => assert.deepEqual(planExportedService(exported(), stored(exported())), []));
  it('is written when an endpoint changes', () => assert.deepEqual(
    kinds(planExportedService(exported(exportOf('eu', { slices: [] })), stored(exported()))), ['apply'],
  ));
  it('is taken back with the export, and only the very object that was seen', () => {
    assert.deepEqual(
      planExportedService(undefined, stored(exported())).map(
        (command) => command.kind === 'delete' && [command.at.name, command.preconditions.uid],
      ),
      [['eu.shop.web', 'u']],
    );
  });
  it('is taken back when it cannot be exported any more', () => assert.deepEqual(
    kinds(planExportedService(INVALID, stored(exported()))), ['delete'],
  ));
  it('is nothing where nothing is exported', () => assert.deepEqual(
    [...planExportedService(undefined, undefined), ...planExportedService(INVALID, undefined)], [],
  ));
});

describe('conditions', () => {
  const conditions = [{ type: 'Valid', status: 'True', reason: 'Valid', message: '', lastTransitionTime: '' }] as const;
  const serviceExport = (of?: typeof conditions): ServiceExport =>
    ({ metadata: { namespace: 'shop', name: 'web', uid: 'u' }, ...(of && { status: { conditions: of } }) });
  it('are written into the status of the very export', () => assert.deepEqual(
    planConditions(serviceExport(), conditions).map(
      (command) => command.kind === 'patch' && [command.at.subresource, command.patch],
    ),
    [['status', { metadata: { uid: 'u' }, status: { conditions } }]],
  ));
  it('are not written again', () => assert.deepEqual(planConditions(serviceExport(conditions), conditions), []));
});

describe('an export is shared', () => {
  const told = (generation: number, sharedGeneration?: number): ExportedService => ({
    ...exportOf('eu'), metadata: { name: 'x', generation },
    ...(sharedGeneration !== undefined && { status: { sharedGeneration } }),
  });
  const rows: [string, string | undefined, ExportedService | undefined, boolean | undefined][] = [
    ['never outside of a clusterset', undefined, told(1, 1), undefined],
    ['not before it is told', 'eu', undefined, false],
    ['not before the broker has it', 'eu', told(1), false],
    ['not while the broker has an older one', 'eu', told(2, 1), false],
    ['when the broker has this one', 'eu', told(2, 2), true],
  ];
  for (const [what, clusterId, object, expected] of rows) {
    it(what, () => assert.equal(isShared(clusterId, object), expected));
  }
});
