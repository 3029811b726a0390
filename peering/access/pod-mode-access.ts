// What peering creates in a target without Isthmus: a ServiceAccount for the source and the RBAC of Pod mode, in
// built-in kinds only. No (Cluster)Source maintains these objects; peering again does.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { POD_METRICS } from '../../api/resource-types.ts';
import { joinName, MAX_NAME_LENGTH } from '../../model/naming/names.ts';
import {
  boundRole, clusterRole, clusterRoleBinding, onlyNamed, READ, rule, serviceAccount, WRITE, type PolicyRule,
} from '../../model/access/rbac-objects.ts';
import { POD_MODE_RULES } from '../../model/access/pod-mode-rules.ts';
import { sourceAccount, sourceName, type Peering } from './target-access.ts';
import { CLUSTER_NAMESPACE } from '../../model/access/system-namespaces.ts';

const READ_AND_WRITE = [...READ, ...WRITE];

/** The source's permissions in a target where it creates the pods. */
const RULES: readonly PolicyRule[] = [
  ...POD_MODE_RULES,
  rule(POD_METRICS.group, ['pods'], ['list']), // kubectl top
  rule('', ['resourcequotas'], ['list']), // shown on the virtual node of a Target
  rule('events.k8s.io', ['events'], ['list', 'watch']), // shown on proxy pods
  rule('', ['configmaps', 'secrets', 'services'], READ_AND_WRITE), // objects that follow pods
  rule('networking.k8s.io', ['ingresses'], READ_AND_WRITE),
  onlyNamed(rule('', ['namespaces'], ['get']), [CLUSTER_NAMESPACE]), // cluster identity
];

/** The source's account and its RBAC, in apply order, without the namespace. */
export function podModeAccess(peering: Peering): readonly KubernetesObject[] {
  const account = sourceAccount(peering);
  const name = joinName([{ constant: 'isthmus-pod-mode' }, sourceName(peering)], MAX_NAME_LENGTH);
  const ownToken = joinName([{ constant: 'isthmus-own-token' }, sourceName(peering)], MAX_NAME_LENGTH);
  return [
    serviceAccount(account),
    clusterRole(name, RULES),
    clusterRoleBinding(name, name, [account]),
    ...boundRole(
      { namespace: account.namespace, name: ownToken },
      [onlyNamed(rule('', ['serviceaccounts/token'], ['create']), [account.name])], [account],
    ),
  ];
}
