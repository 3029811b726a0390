// The namespace of discovered targets, and the permissions in it: discovery writes kubeconfigs there, and the
// components that use targets read them. In the install namespace discovery could replace any Secret.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { NAMESPACE_OPT_IN_LABEL } from '../../api/objects/keys.ts';
import { componentSubjects, targetSecretReaderBinding } from '../../model/access/component-accounts.ts';
import { discoveredNamespace } from '../../model/access/key-namespace.ts';
import { boundRole, PART_OF, rule } from '../../model/access/rbac-objects.ts';

/** The namespace, and who may do what there. Its pods, if there are any, are never elected, and get no privileges. */
export function discoveredTargetsManifests(installNamespace: string): readonly KubernetesObject[] {
  const namespace = discoveredNamespace(installNamespace);
  const name = 'isthmus-discovery';
  const labels =
    { ...PART_OF, [NAMESPACE_OPT_IN_LABEL]: 'disabled', 'pod-security.kubernetes.io/enforce': 'restricted' };
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } },
    ...boundRole(
      { namespace, name }, [rule('', ['secrets'], ['list', 'watch', 'create', 'patch'])],
      componentSubjects([name], installNamespace),
    ),
    targetSecretReaderBinding(namespace, installNamespace),
  ];
}
