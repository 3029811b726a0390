// The Event of a Service whose pods all run in other clusters, in a source without a pod plane: it has no endpoints
// there, and nothing else says so.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { EventRecord } from '../../model/proxy/event-record.ts';

/** The event, when the Service begins to select delegates. */
export function noEndpointsHere({ metadata }: KubernetesObject): EventRecord {
  const { namespace = '', name = '', uid = '' } = metadata;
  return {
    regarding: { apiVersion: 'v1', kind: 'Service', namespace, name, uid },
    type: 'Normal',
    reason: 'NoEndpointsHere',
    action: 'CopyObject',
    note:
      'Its pods run in other clusters, and this cluster has no pod plane: it selects delegates there, and has no ' +
        'endpoints here unless a cluster mesh joins theirs. From here it is reached with a pod plane, or exported, ' +
        `as ${name}.${namespace}.svc.clusterset.local: isthmus service export ${name} -n ${namespace}`,
  };
}
