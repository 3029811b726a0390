// Field tracking of proxy pods. The API server records the manager of each field in `metadata.managedFields`, which
// only server-side apply needs. That is half of its cost of a later write, and a third of the pod that it stores and
// sends to all watches. An object without managed fields gets them again when it is applied.
// (docs/adr/0132-proxies-without-managed-fields.md)
import type { Pod } from '../../api/objects/core.ts';
import type { PatchOperation } from '../review/json-patch.ts';

/** Ends the tracking of a pod that was not applied: managers that apply a pod own fields by these records. */
export function endFieldTracking({ metadata: { managedFields = [] } }: Pod): readonly PatchOperation[] {
  return managedFields.length > 0 && managedFields.every(({ operation }) => operation === 'Update')
    ? [{ op: 'remove', path: '/metadata/managedFields' }]
    : [];
}
