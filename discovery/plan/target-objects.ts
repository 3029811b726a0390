// The ClusterTarget of a registered cluster, and the Secret with its kubeconfig. The target owns the Secret, so that a
// draining target keeps its credentials until its pods have gone.
import { hash } from 'node:crypto';
import type { TargetTemplate } from '../../api/registry/target-template.ts';
import { DEFAULT_KUBECONFIG_KEY, type ClusterTarget, type TargetSpec } from '../../api/kinds/cluster-target.ts';
import type { Secret, StringMap } from '../../api/objects/core.ts';
import { ADMIRALTY_API_VERSION } from '../../api/objects/group-version.ts';
import {
  DISCOVERED_BY_LABEL, REGISTERED_CLUSTER_ANNOTATION, REGISTERED_NAME_ANNOTATION, REGISTRY_ENTRY_ANNOTATION,
  TEMPLATE_DIGEST_ANNOTATION,
} from '../../api/objects/keys.ts';
import { toLabelValue } from '../../model/naming/names.ts';
import type { RegisteredCluster } from '../entry/registered-cluster.ts';
import type { KnownTarget } from './known-target.ts';

/** What a target is made from. */
export interface TargetPlan {
  readonly name: string;
  readonly cluster: Pick<RegisteredCluster, 'entry' | 'name' | 'unnamed' | 'labels'>;
  readonly clusterId: string | undefined;
  readonly template: TargetTemplate;
  /** Name of the TargetDiscovery. */
  readonly discovery: string;
  /** Namespace of kubeconfigs. */
  readonly namespace: string;
}

/** Labels that discovery does not hand on: they say what a Secret is for, or are ours. */
const NOT_COPIED =
  /^(argocd\.argoproj\.io\/secret-type$|kubernetes\.io\/|isthmus\.dev\/|multicluster\.admiralty\.io\/)/;

/** The object for server-side apply, with a digest of itself. */
export function toClusterTarget(plan: TargetPlan): ClusterTarget {
  const { name, cluster, clusterId, discovery } = plan;
  const labels = { ...copiedLabels(plan), ...plan.template.labels, [DISCOVERED_BY_LABEL]: toLabelValue(discovery) };
  const annotations = {
    [REGISTRY_ENTRY_ANNOTATION]: cluster.entry,
    ...(cluster.unnamed !== true && { [REGISTERED_NAME_ANNOTATION]: cluster.name }),
    ...(clusterId !== undefined && { [REGISTERED_CLUSTER_ANNOTATION]: clusterId }),
  };
  const spec = specOf(plan);
  const digest = hash('sha256', JSON.stringify([labels, annotations, spec]), 'hex').slice(0, 16);
  return { metadata: { name, labels, annotations: { ...annotations, [TEMPLATE_DIGEST_ANNOTATION]: digest } }, spec };
}

/** The digest that {@link toClusterTarget} writes. */
export function digestOf({ metadata }: ClusterTarget): string | undefined {
  return metadata.annotations?.[TEMPLATE_DIGEST_ANNOTATION];
}

function specOf({ name, namespace, template }: TargetPlan): TargetSpec {
  const { prices, delegation, excludedLabelsRegexp, removalPolicy, throughGateway } = template;
  return {
    kubeconfigSecret: { namespace, name, key: DEFAULT_KUBECONFIG_KEY },
    ...(prices !== undefined && { prices }),
    ...(delegation !== undefined && { delegation }),
    ...(excludedLabelsRegexp !== undefined && { excludedLabelsRegexp }),
    ...(removalPolicy !== undefined && { removalPolicy }),
    ...(throughGateway === true && { gateway: { cluster: name } }),
  };
}

const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/** A property of a registry may have a value that no label can have. */
function copiedLabels({ cluster, template }: TargetPlan): StringMap {
  const keys = (template.copyLabels ?? []).filter((key) => !NOT_COPIED.test(key) && Object.hasOwn(cluster.labels, key));
  return Object.fromEntries(
    keys.map((key) => [key, cluster.labels[key] ?? ''] as const).filter(([, value]) => LABEL_VALUE.test(value)),
  );
}

/** The Secret for server-side apply. */
export function toKubeconfigSecret(
  target: Pick<KnownTarget, 'name' | 'uid'>, kubeconfig: string,
  { discovery, namespace }: Pick<TargetPlan, 'discovery' | 'namespace'>,
): Secret {
  const { name, uid } = target;
  return {
    metadata: {
      namespace, name, labels: { [DISCOVERED_BY_LABEL]: toLabelValue(discovery) },
      ownerReferences: [{ apiVersion: ADMIRALTY_API_VERSION, kind: 'ClusterTarget', name, uid }],
    },
    data: { [DEFAULT_KUBECONFIG_KEY]: Buffer.from(kubeconfig, 'utf8').toString('base64') },
  };
}
