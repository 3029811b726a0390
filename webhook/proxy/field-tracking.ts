// Field tracking of proxy pods. The API server notes for each field who has written it, in `metadata.managedFields`,
// which only server-side apply needs: half of what a later write costs it, and a third of the pod that it stores and
// sends to all watches. An object without such notes gets them once somebody applies it.
// (docs/adr/0132-proxies-without-managed-fields.md)
import type { Pod } from '../../api/objects/core.ts';
import type { PatchOperation } from '../review/json-patch.ts';

/** Ends the tracking of a pod that nobody has applied; whoever has applied it owns fields by these notes. */
export function endFieldTracking({ metadata: { managedFields = [] } }: Pod): readonly PatchOperation[] {
  return managedFields.length > 0 && managedFields.every(({ operation }) => operation === 'Update')
    ? [{ op: 'remove', path: '/metadata/managedFields' }]
    : [];
}
