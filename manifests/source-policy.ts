// What keeps sources that share a target apart: RBAC cannot look at labels, so an admission policy (Kubernetes ≥ 1.30) in the target refuses
// what a source's identity writes to objects that do not carry its own cluster's identity.
import type { KubernetesObject } from '../api/core.ts';
import { PARENT_CLUSTER_LABEL } from '../api/keys.ts';
import { VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS, apiVersionOf, ADMIRALTY_GROUP } from '../api/resource-types.ts';
import { PART_OF, type ServiceAccountName } from './rbac-objects.ts';

/** A source as its target knows it. */
export interface GuardedSource {
  /** Name of the policy and of its binding. */
  readonly policyName: string;
  /** Who the source acts as. */
  readonly account: ServiceAccountName;
  /** UID of the source's kube-system Namespace. */
  readonly sourceId: string;
}

/** What a source may write in a target; reading is RBAC's. Kinds that the source may not write at all do no harm here. */
const GUARDED_RESOURCES = [
  { apiGroups: [ADMIRALTY_GROUP], resources: ['podchaperons'] },
  { apiGroups: [''], resources: ['pods'] },
];

/** The policy and its binding (`admissionregistration.k8s.io/v1`): creates, changes and deletes only of what is labelled as the source's own. */
export function sourcePolicy({ policyName: name, account, sourceId }: GuardedSource): readonly KubernetesObject[] {
  const policy = {
    apiVersion: apiVersionOf(VALIDATING_ADMISSION_POLICIES),
    kind: VALIDATING_ADMISSION_POLICIES.kind,
    metadata: { name, labels: PART_OF },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: GUARDED_RESOURCES.map((resources) => ({ ...resources, apiVersions: ['*'], operations: ['CREATE', 'UPDATE', 'DELETE'] })),
      },
      matchConditions: [
        { name: 'by-the-source', expression: `request.userInfo.username == 'system:serviceaccount:${account.namespace}:${account.name}'` },
      ],
      validations: [
        {
          expression: `(request.operation == 'DELETE' || ${isOwn('object', sourceId)}) && (request.operation == 'CREATE' || ${isOwn('oldObject', sourceId)})`,
          message: `a source may only write objects with its own identity in label ${PARENT_CLUSTER_LABEL}`,
          reason: 'Forbidden',
        },
      ],
    },
  };
  const binding = {
    apiVersion: apiVersionOf(VALIDATING_ADMISSION_POLICY_BINDINGS),
    kind: VALIDATING_ADMISSION_POLICY_BINDINGS.kind,
    metadata: { name, labels: PART_OF },
    spec: { policyName: name, validationActions: ['Deny'] },
  };
  return [policy, binding];
}

function isOwn(object: string, sourceId: string): string {
  const labels = `${object}.metadata.labels`;
  return `(has(${labels}) && '${PARENT_CLUSTER_LABEL}' in ${labels} && ${labels}['${PARENT_CLUSTER_LABEL}'] == '${sourceId}')`;
}
