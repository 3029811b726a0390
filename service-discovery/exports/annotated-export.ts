// Services exported by annotation (ADR 0036): Cilium's global Services and, when enabled, Services that follow elected
// pods and their copies. A ServiceExport is created for each, which shows the status as any other does.
import type { Service } from '../../api/objects/core.ts';
import { CILIUM_GLOBAL_ANNOTATION, CILIUM_SHARED_ANNOTATION, GLOBAL_ANNOTATION, TRUE } from '../../api/objects/keys.ts';
import {
  MANAGED_BY_LABEL, SERVICE_DISCOVERY_MANAGER, SERVICE_EXPORTS, type ServiceExport,
} from '../../api/kinds/service-discovery.ts';
import { deletion, type Plan } from '../../model/objects/plan.ts';
import { isImported } from '../imports/import-objects.ts';

/** Whether a Service's annotations request an export; with `exportsFollowedServices`, that it follows pods does too. */
function isExportRequested(service: Service | undefined, exportsFollowedServices: boolean): boolean {
  if (service === undefined || isImported(service) || service.spec?.type === 'ExternalName') return false;
  const { annotations = {} } = service.metadata;
  const isGlobal = annotations[CILIUM_GLOBAL_ANNOTATION] === TRUE
    || (exportsFollowedServices && annotations[GLOBAL_ANNOTATION] === TRUE);
  return isGlobal && (annotations[CILIUM_SHARED_ANNOTATION] ?? TRUE) === TRUE;
}

/**
 * Creates the requested ServiceExport, and deletes it when it is no longer requested; exports created by others stay.
 */
export function planRequestedExport(
  service: Service | undefined, serviceExport: ServiceExport | undefined, exportsFollowedServices: boolean,
): Plan {
  const isWished = isExportRequested(service, exportsFollowedServices);
  if (isWished && service !== undefined && serviceExport === undefined) {
    return [{ kind: 'create', type: SERVICE_EXPORTS, object: toServiceExport(service) }];
  }
  if (isWished || serviceExport?.metadata.labels?.[MANAGED_BY_LABEL] !== SERVICE_DISCOVERY_MANAGER) return [];
  return [deletion(SERVICE_EXPORTS, serviceExport.metadata)];
}

/** Owned by its Service. */
function toServiceExport({ metadata: { namespace, name = '', uid = '' } }: Service): ServiceExport {
  return {
    apiVersion: 'multicluster.x-k8s.io/v1beta1', kind: 'ServiceExport',
    metadata: {
      ...(namespace !== undefined && { namespace }), name, labels: { [MANAGED_BY_LABEL]: SERVICE_DISCOVERY_MANAGER },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name, uid }],
    },
  };
}
