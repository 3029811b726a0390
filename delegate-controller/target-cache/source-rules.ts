// What this cluster lets a source run: the Pod Security Standard of its (Cluster)Source, and no pod with the
// ServiceAccount of a source. It is checked here, in the target: the source's webhook denies no pod for it. A source
// that has left, or was deleted, is not let off what held it.
import type { ClusterSource, PodSecurityLevel, Source } from '../../api/kinds/cluster-source.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { PARENT_CLUSTER_LABEL } from '../../api/objects/keys.ts';
import { securityProblems } from '../../model/pod/pod-security.ts';

/** The fields of a (Cluster)Source that count when a delegate is created. */
export interface SourceRule {
  readonly name: string;
  /** UID of the (Cluster)Source. */
  readonly uid: string;
  /** The namespace of a Source. */
  readonly namespace: string | undefined;
  readonly clusterId: string | undefined;
  readonly podSecurity: PodSecurityLevel;
  /** `namespace/name` of the source's ServiceAccount. */
  readonly account: string | undefined;
  readonly userName: string | undefined;
  /** The pods to which it may open streams. */
  readonly streams: 'OwnDelegates' | 'All' | 'None';
}

/** The rule of a (Cluster)Source. */
export function toSourceRule(
  { metadata: { namespace, name = '', uid = '' }, spec }: Source | ClusterSource,
): SourceRule {
  const { clusterID: clusterId, podSecurity = 'privileged', streams = 'OwnDelegates', userName } = spec;
  const { serviceAccount, serviceAccountName }: ClusterSource['spec'] & Source['spec'] = spec;
  const ofSource = serviceAccountName === undefined ? undefined : `${namespace}/${serviceAccountName}`;
  const account =
    namespace === undefined ? serviceAccount && `${serviceAccount.namespace}/${serviceAccount.name}` : ofSource;
  return { name, uid, namespace, clusterId, podSecurity, account, userName, streams };
}

const LEVELS: readonly PodSecurityLevel[] = ['restricted', 'baseline', 'privileged'];
const SHOWN_PROBLEMS = 5;

/** Level for a cluster that no (Cluster)Source names: its own may have been deleted while it asked for more. */
const LEVEL_OF_UNNAMED: PodSecurityLevel = 'baseline';

/** How the message of such a rejection begins: docs/reasons.md explains it. */
const POD_SECURITY_REFUSED = 'PodSecurityRefused';

/** The rules of this cluster. */
export interface SourceRulesHere {
  readonly rules: readonly SourceRule[];
  /** UID of this cluster's kube-system Namespace: its own pods are held to their namespace alone. */
  readonly ownClusterId: string;
}

/**
 * Why a PodChaperon gets no delegate here; undefined when it may. If several sources are of its cluster, the most
 * permissive one counts.
 */
export function rejectionOf(chaperon: PodChaperon, here: SourceRulesHere): string | undefined {
  const { metadata: { namespace = '', annotations = {} }, spec } = chaperon;
  const { rules } = here;
  const account = accountOf(spec);
  if (rules.some((rule) => rule.account !== undefined && rule.account === `${namespace}/${account}`)) {
    return `ServiceAccount ${account} is a source's own; no pod may run as it`;
  }
  const { level, reason } = levelOf(chaperon, here);
  const problems = securityProblems({ annotations, spec }, level);
  if (problems.length === 0) return undefined;
  const more = problems.length > SHOWN_PROBLEMS ? ` and ${problems.length - SHOWN_PROBLEMS} more` : '';
  return `${POD_SECURITY_REFUSED}: pods of its source must meet the Pod Security Standard ${level}: ` +
    `${problems.slice(0, SHOWN_PROBLEMS).join(', ')}${more}; ${reason}`;
}

interface Level {
  readonly level: PodSecurityLevel;
  /** Where the level comes from. */
  readonly reason: string;
}

/** A source without a cluster ID, as in Admiralty, may have made any PodChaperon of a cluster that no other names. */
function levelOf({ metadata: { namespace, labels } }: PodChaperon, { rules, ownClusterId }: SourceRulesHere): Level {
  const clusterId = labels?.[PARENT_CLUSTER_LABEL];
  const inNamespace = rules.filter((rule) => rule.namespace === undefined || rule.namespace === namespace);
  const ofCluster = (id: string | undefined) => inNamespace.filter((rule) => rule.clusterId === id);
  const own = clusterId === undefined ? [] : ofCluster(clusterId);
  const [loosest] = own.map(({ podSecurity }) => podSecurity)
    .toSorted((one, other) => LEVELS.indexOf(other) - LEVELS.indexOf(one));
  if (loosest !== undefined) return { level: loosest, reason: 'spec.podSecurity of the source says so' };
  const isAnybodys = clusterId === undefined || clusterId === ownClusterId || ofCluster(undefined).length > 0;
  return {
    level: isAnybodys ? 'privileged' : LEVEL_OF_UNNAMED,
    reason: `no ClusterSource or Source names its cluster ${clusterId}`,
  };
}

/** As the API server reads it: `serviceAccount` is the former name of the field. */
function accountOf(spec: PodChaperon['spec']): string {
  const { serviceAccountName, serviceAccount }: {
    readonly serviceAccountName?: unknown; readonly serviceAccount?: unknown
  } = spec;
  return [serviceAccountName, serviceAccount].find((name): name is string => typeof name === 'string' && name !== '')
    ?? 'default';
}
