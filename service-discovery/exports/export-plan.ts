// Plans the writes that bring an export's published object and conditions up to date.
import type { Condition } from '../../api/objects/core.ts';
import {
  EXPORTED_SERVICES, SERVICE_DISCOVERY_MANAGER, SERVICE_EXPORTS, type ExportedService, type ServiceExport,
} from '../../api/kinds/service-discovery.ts';
import { contentDigest } from '../../model/objects/canonical-json.ts';
import { deletion, type Plan } from '../../model/objects/plan.ts';
import type { Export } from './exported-service.ts';
import { DIGEST_ANNOTATION } from '../imports/import-plan.ts';

/** Writes that publish the export: deletes the published object when the export is gone or invalid. */
export function planExportedService(exported: Export | undefined, stored: ExportedService | undefined): Plan {
  if (exported?.kind !== 'exported') {
    return stored === undefined ? [] : [deletion(EXPORTED_SERVICES, stored.metadata)];
  }
  const digest = contentDigest(exported.object);
  if (stored?.metadata.annotations?.[DIGEST_ANNOTATION] === digest) return [];
  const object =
    { ...exported.object, metadata: { ...exported.object.metadata, annotations: { [DIGEST_ANNOTATION]: digest } } };
  return [{ kind: 'apply', type: EXPORTED_SERVICES, object, fieldManager: SERVICE_DISCOVERY_MANAGER }];
}

/** The write of an export's conditions; none when they are the same list. */
export function planConditions({ metadata, status }: ServiceExport, conditions: readonly Condition[]): Plan {
  if (conditions === status?.conditions) return [];
  const { namespace, name = '', uid } = metadata;
  return [{
    kind: 'patch', type: SERVICE_EXPORTS, at: { namespace, name, subresource: 'status' }, patchType: 'merge',
    patch: { metadata: { uid }, status: { conditions } },
  }];
}

/** Whether the broker has the published object; undefined when this cluster is not in a clusterset. */
export function isShared(clusterId: string | undefined, stored: ExportedService | undefined): boolean | undefined {
  if (clusterId === undefined) return undefined;
  const shared = stored?.status?.sharedGeneration;
  return shared !== undefined && shared === stored?.metadata.generation;
}

/** What the broker has made of the published object. */
export function sharing(clusterId: string | undefined, stored: ExportedService | undefined) {
  return { isShared: isShared(clusterId, stored), refusal: stored?.status?.refusal };
}
