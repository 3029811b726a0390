// The namespace of keys and the permissions in it: the webhook has its certificates and its path there, peering the key
// of invitations. Each reads its own Secret by name; no list of all Secrets is allowed there.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { NAMESPACE_OPT_IN_LABEL } from '../../api/objects/keys.ts';
import { INVITATION_KEY_SECRET, WEBHOOK_CERTIFICATES_SECRET } from '../../api/objects/own-names.ts';
import { componentSubjects, type ComponentAccount } from '../../model/access/component-accounts.ts';
import { keyNamespace } from '../../model/access/key-namespace.ts';
import { boundRole, onlyNamed, PART_OF, rule, type PolicyRule } from '../../model/access/rbac-objects.ts';

/** The namespace. Its pods, if there are any, are never elected, and get no privileges. */
export function keyNamespaceManifest(installNamespace: string): KubernetesObject {
  const labels =
    { ...PART_OF, [NAMESPACE_OPT_IN_LABEL]: 'disabled', 'pod-security.kubernetes.io/enforce': 'restricted' };
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: keyNamespace(installNamespace), labels } };
}

/** The webhook's keys, certificates and path, shared by its replicas. */
export function webhookKeyManifests(installNamespace: string): readonly KubernetesObject[] {
  return permissions(installNamespace, 'isthmus-webhook', [
    rule('', ['secrets'], ['create']), // create cannot be limited to a name
    onlyNamed(rule('', ['secrets'], ['get', 'list', 'watch', 'patch']), [WEBHOOK_CERTIFICATES_SECRET]),
  ]);
}

/** The key that signs invitations. Administrators write it. */
export function invitationKeyManifests(installNamespace: string): readonly KubernetesObject[] {
  return permissions(
    installNamespace, 'isthmus-peering', [onlyNamed(rule('', ['secrets'], ['get']), [INVITATION_KEY_SECRET])],
  );
}

function permissions(
  installNamespace: string, name: ComponentAccount, rules: readonly PolicyRule[],
): readonly KubernetesObject[] {
  const namespace = keyNamespace(installNamespace);
  return boundRole({ namespace, name }, rules, componentSubjects([name], installNamespace));
}
