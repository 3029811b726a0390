// What peering makes in a target that runs nothing of ours: an account for the source and the rights of Pod mode, in plain Kubernetes kinds.
// No (Cluster)Source keeps these objects up; peering again does.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { POD_METRICS } from '../../api/resource-types.ts';
import { joinName, MAX_NAME_LENGTH } from '../../model/naming/names.ts';
import { clusterRole, clusterRoleBinding, onlyNamed, role, roleBinding, rule, serviceAccount, type PolicyRule } from '../../model/access/rbac-objects.ts';
import { sourceAccount, sourceName, type Peering } from './target-access.ts';

const READ = ['get', 'list', 'watch'] as const;
const WRITE = [...READ, 'create', 'patch', 'delete'] as const;

/** What a source needs in a target that it writes pods into. */
const RULES: readonly PolicyRule[] = [
  rule('', ['pods'], WRITE),
  rule('', ['pods/status', 'pods/resize'], ['patch']), // readiness gates, changes of running pods
  rule('', ['pods/log'], ['get']),
  rule('', ['pods/exec', 'pods/attach', 'pods/portforward'], ['create', 'get']),
  rule(POD_METRICS.group, ['pods'], ['list']), // kubectl top
  rule('', ['resourcequotas'], ['list']), // shown on the virtual node of a Target
  rule('', ['nodes'], ['list', 'watch']), // what is free there
  rule('events.k8s.io', ['events'], ['list', 'watch']), // shown on proxy pods
  rule('', ['configmaps', 'secrets', 'services'], WRITE), // what follows pods
  rule('networking.k8s.io', ['ingresses'], WRITE),
  onlyNamed(rule('', ['namespaces'], ['get']), ['kube-system']), // which cluster it is
];

/** The account of the source and its rights, in apply order, without its namespace. */
export function bareTargetManifests(peering: Peering): readonly KubernetesObject[] {
  const account = sourceAccount(peering);
  const name = joinName([{ constant: 'isthmus-pod-mode' }, sourceName(peering)], MAX_NAME_LENGTH);
  const ownToken = joinName([{ constant: 'isthmus-own-token' }, sourceName(peering)], MAX_NAME_LENGTH);
  return [
    serviceAccount(account),
    clusterRole(name, RULES),
    clusterRoleBinding(name, name, [account]),
    role(account.namespace, ownToken, [onlyNamed(rule('', ['serviceaccounts/token'], ['create']), [account.name])]),
    roleBinding({ namespace: account.namespace, name: ownToken, roleKind: 'Role', roleName: ownToken }, [account]),
  ];
}
