// The pod that `logs`, `exec` and `port-forward` mean: by its name, or one of a workload, as kubectl chooses it.
import type { KubernetesObject, Pod } from '../../api/objects/core.ts';
import type { LabelSelector } from '../../api/objects/selectors.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { DEPLOYMENTS, PODS, SERVICES } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { originalSelector } from '../../delegate-controller/copies/followed-service.ts';
import { matchesLabelSelector } from '../../model/objects/label-selector.ts';
import { isTerminating } from '../../model/pod/pod.ts';
import { PROXY_PODS } from '../../model/proxy/proxy-selection.ts';
import { AppError } from '../../process/errors.ts';
import { orNotFound } from '../clusters/served-objects.ts';

/** Kinds with pods of their own, by the names that kubectl knows them by. */
const KINDS: readonly (readonly [type: ResourceType, names: readonly string[]])[] = [
  [DEPLOYMENTS, ['deploy', 'deployment', 'deployments', 'deployment.apps']],
  [apps('replicasets', 'ReplicaSet'), ['rs', 'replicaset', 'replicasets', 'replicaset.apps']],
  [apps('statefulsets', 'StatefulSet'), ['sts', 'statefulset', 'statefulsets', 'statefulset.apps']],
  [apps('daemonsets', 'DaemonSet'), ['ds', 'daemonset', 'daemonsets', 'daemonset.apps']],
  [
    { group: 'batch', version: 'v1', plural: 'jobs', kind: 'Job', namespaced: true },
    ['job', 'jobs', 'job.batch'],
  ],
  [SERVICES, ['svc', 'service', 'services']],
];
const WORKLOADS = new Map(KINDS.flatMap(([type, names]) => names.map((name) => [name, type] as const)));
const POD_NAMES: readonly string[] = ['pod', 'pods', 'po'];

function apps(plural: string, kind: string): ResourceType {
  return { group: 'apps', version: 'v1', plural, kind, namespaced: true };
}

/** A pod by its name, or a workload. */
export type PodChoice =
  | { readonly kind: 'pod'; readonly name: string }
  | { readonly kind: 'workload'; readonly type: ResourceType; readonly name: string };

/** `NAME`, `pod/NAME` or `KIND/NAME` of a workload. Throws AppError `BadInput`. */
export function parsePodChoice(argument: string): PodChoice {
  const [kind = '', name, ...rest] = argument.includes('/') ? argument.split('/') : ['pod', argument];
  const type = WORKLOADS.get(kind.toLowerCase());
  if (rest.length === 0 && name !== undefined && name !== '') {
    if (POD_NAMES.includes(kind)) return { kind: 'pod', name };
    if (type !== undefined) return { kind: 'workload', type, name };
  }
  throw new AppError(
    'BadInput', `A pod is NAME, pod/NAME, or deploy, sts, rs, ds, job or svc/NAME, not ${JSON.stringify(argument)}.`,
  );
}

type Workload = KubernetesObject
  & { readonly spec?: { readonly selector?: LabelSelector & Readonly<Record<string, unknown>> } };

/**
 * The name of the pod; of several of a workload a running one, and `tell` says which.
 * @throws AppError `NotFound` when there is no such workload, or it has no elected pod.
 */
export async function choosePod(
  client: ClusterClient, namespace: string, choice: PodChoice,
  { tell, signal }: { readonly tell: (line: string) => void; readonly signal: AbortSignal },
): Promise<string> {
  if (choice.kind === 'pod') return choice.name;
  const { type, name } = choice;
  const what = `${type.kind} ${name} in namespace ${namespace}`;
  const workload: Workload = await client.get(type, { namespace, name }, signal)
    .catch(orNotFound(`There is no ${what}.`));
  const selector = selectorOf(type, workload);
  const pods = (await client.list(PODS, { namespace, ...PROXY_PODS }, signal))
    .filter(({ metadata }) => matchesLabelSelector(selector, metadata.labels ?? {})).toSorted(byUse);
  const [first] = pods;
  if (first === undefined) throw new AppError('NotFound', `${what} has no elected pod.`);
  if (pods.length > 1) tell(`Found ${pods.length} pods, using pod/${first.metadata.name}`);
  return first.metadata.name ?? '';
}

/** A Service selects by a map of labels; one that follows elected pods has a selector of their delegates. */
function selectorOf(type: ResourceType, { metadata, spec }: Workload): LabelSelector | undefined {
  if (type !== SERVICES) return spec?.selector;
  const selector = (spec?.selector ?? {}) as Readonly<Record<string, string>>;
  const matchLabels = originalSelector({ metadata, spec: { selector } });
  return Object.keys(matchLabels).length === 0 ? undefined : { matchLabels };
}

/** Running ones first, those that end last, then by name. */
function byUse(one: Pod, other: Pod): number {
  const rank = (pod: Pod) => (isTerminating(pod) ? 2 : pod.status?.phase === 'Running' ? 0 : 1);
  return rank(one) - rank(other) || ((one.metadata.name ?? '') < (other.metadata.name ?? '') ? -1 : 1);
}
