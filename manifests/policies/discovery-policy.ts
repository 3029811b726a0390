// ValidatingAdmissionPolicy (Kubernetes ≥ 1.30) that limits the discovery component in a source beyond RBAC, which
// cannot check labels or contents: it writes only the ClusterTargets that it makes, and they use only the kubeconfigs
// that it has checked. `isthmus run` is not limited by it: its account is that of all components.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { ADMIRALTY_GROUP } from '../../api/objects/group-version.ts';
import { DISCOVERED_BY_LABEL } from '../../api/objects/keys.ts';
import { DISCOVERY_POLICY } from '../../model/access/component-accounts.ts';
import { discoveredNamespace } from '../../model/access/key-namespace.ts';
import { admissionPolicy, validation } from './admission-policy.ts';

const ACCOUNT = 'isthmus-discovery';
const RULES = [{
  apiGroups: [ADMIRALTY_GROUP], apiVersions: ['*'], resources: ['clustertargets'],
  operations: ['CREATE', 'UPDATE', 'DELETE'],
}];

/** The policy and its binding (`admissionregistration.k8s.io/v1`) for discovery in `installNamespace`. */
export function discoveryPolicy(installNamespace: string): readonly KubernetesObject[] {
  const user = `system:serviceaccount:${installNamespace}:${ACCOUNT}`;
  return admissionPolicy(DISCOVERY_POLICY, {
    resourceRules: RULES,
    matchConditions: [{ name: 'by-discovery', expression: `request.userInfo.username == '${user}'` }],
    validations: [
      validation(
        `(request.operation == 'DELETE' || ${isDiscovered('object')}) && ` +
          `(request.operation == 'CREATE' || ${isDiscovered('oldObject')})`,
        `discovery writes only ClusterTargets with label ${DISCOVERED_BY_LABEL}`,
      ),
      validation(
        `request.operation == 'DELETE' || (${usesOwnKubeconfig(installNamespace)})`,
        `its targets use Secrets of namespace ${discoveredNamespace(installNamespace)}, and are never the source ` +
          'itself',
      ),
    ],
  });
}

function isDiscovered(object: string): string {
  return `(has(${object}.metadata.labels) && '${DISCOVERED_BY_LABEL}' in ${object}.metadata.labels)`;
}

function usesOwnKubeconfig(installNamespace: string): string {
  return 'has(object.spec.kubeconfigSecret) && has(object.spec.kubeconfigSecret.namespace) && ' +
    `object.spec.kubeconfigSecret.namespace == '${discoveredNamespace(installNamespace)}' && ` +
    '!(has(object.spec.self) && object.spec.self)';
}
