// Which proxy pods have no managedFields: those that nobody has applied.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ManagedFieldsEntry, Pod } from '../../../../api/objects/core.ts';
import { ELECT_ANNOTATION } from '../../../../api/objects/keys.ts';
import { endFieldTracking } from '../../../../webhook/proxy/field-tracking.ts';
import { review } from '../../../support/objects/admission.ts';

const by = (manager: string, operation: 'Apply' | 'Update'): ManagedFieldsEntry => ({ manager, operation });
const REMOVAL = { op: 'remove', path: '/metadata/managedFields' } as const;

const pod = (managedFields?: readonly ManagedFieldsEntry[]): Pod => ({
  metadata: {
    namespace: 'shop', name: 'web', annotations: { [ELECT_ANNOTATION]: '' }, ...(managedFields && { managedFields }),
  },
  spec: { containers: [{ name: 'web', image: 'example/web:1' }] },
});

describe('field tracking', () => {
  const cases: readonly {
    readonly what: string; readonly managedFields?: readonly ManagedFieldsEntry[]; readonly ends: boolean;
  }[] = [
    { what: 'ends for a pod of a controller', managedFields: [by('kube-controller-manager', 'Update')], ends: true },
    { what: 'ends for one of several writers', managedFields: [by('a', 'Update'), by('b', 'Update')], ends: true },
    { what: 'goes on for a pod that was applied', managedFields: [by('kubectl', 'Apply')], ends: false },
    { what: 'goes on where one has applied it', managedFields: [by('a', 'Update'), by('b', 'Apply')], ends: false },
    { what: 'goes on where an entry says nothing', managedFields: [{}], ends: false },
    { what: 'has ended for a pod without entries', managedFields: [], ends: false },
    { what: 'has ended for a pod without the field', ends: false },
  ];
  for (const { what, managedFields, ends } of cases) {
    it(what, () => assert.deepEqual(endFieldTracking(pod(managedFields)), ends ? [REMOVAL] : []));
  }

  it('ends with the admission of an elected pod, once', () => {
    const first = review(pod([by('kubectl-create', 'Update')]));
    assert.deepEqual(first.patch.at(-1), REMOVAL);
    assert.equal(first.pod.metadata.managedFields, undefined);
    assert.deepEqual(review(first.pod).patch, []);
  });

  it('is left alone for a pod that is not elected', () => {
    const { metadata, spec } = pod([by('kubectl-create', 'Update')]);
    assert.deepEqual(review({ metadata: { ...metadata, annotations: {} }, spec }).patch, []);
  });
});
