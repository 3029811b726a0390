// What keeps sources that share a target apart: RBAC cannot look at labels, so an admission policy (Kubernetes ≥ 1.30) in the target refuses
// what a source's identity writes to objects that do not carry its own cluster's identity.
import type { KubernetesObject } from '../api/core.ts';
import { PARENT_CLUSTER_LABEL } from '../api/keys.ts';
import { VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS, apiVersionOf, ADMIRALTY_GROUP, ISTHMUS_GROUP } from '../api/resource-types.ts';
import { PART_OF, type ServiceAccountName } from '../model/rbac-objects.ts';

/** A source as its target knows it. */
export interface GuardedSource {
  /** Name of the policy and of its binding. */
  readonly policyName: string;
  /** Who the source acts as. */
  readonly account?: ServiceAccountName | undefined;
  readonly userName?: string | undefined;
  /** UID of the source's kube-system Namespace. */
  readonly sourceId: string;
}

const WRITES = ['CREATE', 'UPDATE', 'DELETE'];
/** What a source may write in a target; reading is RBAC's. Kinds that the source may not write at all do no harm here. */
const GUARDED_RESOURCES = [
  { apiGroups: [ADMIRALTY_GROUP], apiVersions: ['*'], resources: ['podchaperons'], operations: WRITES },
  { apiGroups: [''], apiVersions: ['*'], resources: ['pods', 'configmaps', 'secrets', 'services'], operations: WRITES },
  { apiGroups: ['networking.k8s.io'], apiVersions: ['*'], resources: ['ingresses'], operations: WRITES },
  { apiGroups: [ISTHMUS_GROUP], apiVersions: ['*'], resources: ['sourceleases'], operations: WRITES },
];

/** The policy and its binding (`admissionregistration.k8s.io/v1`): creates, changes and deletes only of what is labelled as the source's own. */
export function sourcePolicy(source: GuardedSource): readonly KubernetesObject[] {
  const { policyName: name, sourceId } = source;
  const policy = {
    apiVersion: apiVersionOf(VALIDATING_ADMISSION_POLICIES),
    kind: VALIDATING_ADMISSION_POLICIES.kind,
    metadata: { name, labels: PART_OF },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: { resourceRules: GUARDED_RESOURCES },
      matchConditions: [{ name: 'by-the-source', expression: `request.userInfo.username in [${userNames(source).map(quoted).join(', ')}]` }],
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

function userNames({ account, userName }: GuardedSource): readonly string[] {
  const ofAccount = account === undefined ? [] : [`system:serviceaccount:${account.namespace}:${account.name}`];
  return userName === undefined ? ofAccount : [...ofAccount, userName];
}

/** A CEL string literal: JSON's escapes are a part of CEL's. */
function quoted(text: string): string {
  return JSON.stringify(text);
}

function isOwn(object: string, sourceId: string): string {
  const labels = `${object}.metadata.labels`;
  return `(has(${labels}) && '${PARENT_CLUSTER_LABEL}' in ${labels} && ${labels}['${PARENT_CLUSTER_LABEL}'] == ${quoted(sourceId)})`;
}
