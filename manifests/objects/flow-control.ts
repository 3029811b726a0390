// Priority of Leases at the API server (`flowcontrol.apiserver.k8s.io/v1`). Without it the API server queues a
// component's Lease behind the same component's own burst of writes, in the level of all service accounts, until the
// component is no longer the leader. Kubernetes' own FlowSchema for leader election serves kube-system alone.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { ISTHMUS_GROUP } from '../../api/objects/group-version.ts';
import { apiVersionOf, FLOW_SCHEMAS, PRIORITY_LEVEL_CONFIGURATIONS } from '../../api/resource-types.ts';
import { PART_OF, type ServiceAccountName } from '../../model/access/rbac-objects.ts';
import { NODE_LEASE_NAMESPACE } from '../../model/access/system-namespaces.ts';

/** Name of the priority level, and of the FlowSchema for Leases of components. */
export const LEASE_FLOW = 'isthmus-leases';
/** Name of the FlowSchema for SourceLeases, by which a target learns that a source is alive. */
export const SOURCE_LEASE_FLOW = 'isthmus-source-leases';
/** After the FlowSchemas of nodes and of the control plane, before those of service accounts. */
const PRECEDENCE = 850;
/**
 * As of Kubernetes' level `leader-election`, with half of its share. A user has a few of the queues, so that one who
 * floods it does not hold up the others.
 */
const LIMITED = {
  nominalConcurrencyShares: 5,
  limitResponse: { type: 'Queue', queuing: { queues: 32, handSize: 6, queueLengthLimit: 50 } },
};

/** The priority level and its FlowSchemas, for a cluster of either role whose components have these accounts. */
export function flowControlManifests(
  installNamespace: string, accounts: readonly ServiceAccountName[],
): readonly KubernetesObject[] {
  const components =
    accounts.map(({ namespace, name }) => ({ kind: 'ServiceAccount', serviceAccount: { namespace, name } }));
  return [
    {
      apiVersion: apiVersionOf(PRIORITY_LEVEL_CONFIGURATIONS), kind: PRIORITY_LEVEL_CONFIGURATIONS.kind,
      metadata: { name: LEASE_FLOW, labels: PART_OF }, spec: { type: 'Limited', limited: LIMITED },
    } as KubernetesObject,
    flowSchema(LEASE_FLOW, components, {
      apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update', 'patch'],
      namespaces: [installNamespace, NODE_LEASE_NAMESPACE],
    }),
    flowSchema(SOURCE_LEASE_FLOW, [{ kind: 'Group', group: { name: 'system:authenticated' } }], {
      apiGroups: [ISTHMUS_GROUP], resources: ['sourceleases'], verbs: ['get', 'create', 'patch'], namespaces: ['*'],
    }),
  ];
}

function flowSchema(name: string, subjects: readonly object[], resourceRule: object): KubernetesObject {
  return {
    apiVersion: apiVersionOf(FLOW_SCHEMAS), kind: FLOW_SCHEMAS.kind, metadata: { name, labels: PART_OF },
    spec: {
      priorityLevelConfiguration: { name: LEASE_FLOW }, matchingPrecedence: PRECEDENCE,
      distinguisherMethod: { type: 'ByUser' }, rules: [{ subjects, resourceRules: [resourceRule] }],
    },
  } as KubernetesObject;
}
