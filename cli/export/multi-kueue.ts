// `isthmus export kueue`: the worker clusters of MultiKueue. Kueue reads kubeconfigs in its own namespace alone, under
// the key `kubeconfig`: where the Secret of a target lies elsewhere, a note says how to copy it.
import type { ClusterTarget } from '../../api/kinds/cluster-target.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { DEFAULT_REGISTRY_KEY } from '../../api/registry/registry-choice.ts';
import {
  accessOf, registeredSecret, type Exported, type ExportedTargets, type LeftOut, type SecretRef,
} from './exported.ts';

/** What is made for Kueue. */
export interface MultiKueueRequest {
  /** Name of the MultiKueueConfig. */
  readonly name: string;
  /** Namespace of Kueue. */
  readonly namespace: string;
}

/** Key of the Secrets that Kueue reads. */
const KUBECONFIG_KEY = 'kubeconfig';
/** Maximum number of clusters of one MultiKueueConfig. */
const MOST_CLUSTERS = 20;

/** A MultiKueueCluster for each target, and the MultiKueueConfig that lists them in the order of the targets. */
export function toMultiKueue(exported: ExportedTargets, { name, namespace }: MultiKueueRequest): Exported {
  const clusters: KubernetesObject[] = [];
  const leftOut: LeftOut[] = [];
  const notes: string[] = [];
  for (const target of exported.targets) {
    const access = accessOf(target, exported.installNamespace, 'Kueue');
    const { name: cluster = '' } = target.metadata;
    if (access.kind === 'none') leftOut.push({ target: cluster, why: access.why });
    else if (access.kind === 'this-cluster') leftOut.push({ target: cluster, why: OWN_CLUSTER });
    else {
      const there = secretOfKueue(target, access.secret, exported, namespace);
      clusters.push(multiKueueCluster(cluster, there ?? cluster));
      if (there === undefined) notes.push(copyNote(cluster, access.secret, namespace));
    }
  }
  if (clusters.length > MOST_CLUSTERS) return { objects: [], leftOut, notes: [], problem: tooMany(clusters.length) };
  return { objects: clusters.length === 0 ? [] : [...clusters, multiKueueConfig(name, clusters)], leftOut, notes };
}

function tooMany(count: number): string {
  return `A MultiKueueConfig has at most ${MOST_CLUSTERS} clusters, not ${count}. Name the targets, or select them ` +
    'with --selector.';
}

const OWN_CLUSTER = 'it is the cluster that Kueue runs in, which is no worker of itself';

/** The Secret that Kueue can read as it is: the target's own, or the one that the target was made of. */
function secretOfKueue(
  target: ClusterTarget, own: SecretRef, { discoveries }: ExportedTargets, namespace: string,
): string | undefined {
  if (own.namespace === namespace && own.key === KUBECONFIG_KEY) return own.name;
  const { from: { kubeconfigSecrets } = {}, secret } = registeredSecret(target, discoveries) ?? {};
  if (kubeconfigSecrets === undefined || secret?.namespace !== namespace) return undefined;
  return (kubeconfigSecrets.key ?? DEFAULT_REGISTRY_KEY) === KUBECONFIG_KEY ? secret.name : undefined;
}

/** No credential is printed: it goes from one command to the next. */
function copyNote(target: string, { namespace, name, key = '' }: SecretRef, to: string): string {
  const field = key.replaceAll('.', String.raw`\.`);
  return [
    `Kueue reads the kubeconfig of ${target} in Secret ${to}/${target}. Copy it there, again whenever it changes:`,
    `  kubectl get secret ${name} -n ${namespace} -o jsonpath='{.data.${field}}' | base64 -d | \\`,
    `    kubectl create secret generic ${target} -n ${to} --from-file=${KUBECONFIG_KEY}=/dev/stdin \\`,
    '    --dry-run=client -o yaml | kubectl apply -f -',
  ].join('\n');
}

function multiKueueCluster(name: string, location: string): KubernetesObject & { readonly spec: object } {
  return {
    apiVersion: 'kueue.x-k8s.io/v1beta2', kind: 'MultiKueueCluster', metadata: { name },
    spec: { clusterSource: { kubeConfig: { locationType: 'Secret', location } } },
  };
}

function multiKueueConfig(
  name: string, clusters: readonly KubernetesObject[],
): KubernetesObject & { readonly spec: object } {
  return {
    apiVersion: 'kueue.x-k8s.io/v1beta2', kind: 'MultiKueueConfig', metadata: { name },
    spec: { clusters: clusters.map(({ metadata }) => metadata.name ?? '') },
  };
}
