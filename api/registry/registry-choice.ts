// `spec.from` of a TargetDiscovery: which registry is read, with the settings that only it has.
import { objectOf, text, type Schema } from '../objects/schema.ts';

/** The registries that can be read, by their names in `spec.from`. */
export const REGISTRY_NAMES =
  ['kubeconfigSecrets', 'clusterAPI', 'argoCD', 'flux', 'clusterProfile', 'fleet', 'ocm', 'kubeFed', 'dns'] as const;
/** Name of a registry. */
export type RegistryName = (typeof REGISTRY_NAMES)[number];

/** Exactly one registry. */
export interface RegistryChoice {
  readonly kubeconfigSecrets?: {
    /** Key of the Secrets; {@link DEFAULT_REGISTRY_KEY} when missing. */
    readonly key?: string;
  };
  readonly clusterAPI?: object;
  readonly argoCD?: object;
  readonly flux?: object;
  readonly clusterProfile?: object;
  readonly fleet?: object;
  readonly ocm?: {
    /** Name of the ManagedServiceAccount of each cluster whose token is used. */
    readonly managedServiceAccount: string;
  };
  readonly kubeFed?: object;
  readonly dns?: DnsChoice;
}

/** A domain that announces API servers. */
export interface DnsChoice {
  /** In lower case, without a dot at its end. */
  readonly domain: string;
  /** Address of the DNS server, and its port unless that is 53; the servers of this host when missing. */
  readonly server?: string;
}

/** Key of kubeconfig Secrets, as multicluster-runtime and Kueue have it. */
export const DEFAULT_REGISTRY_KEY = 'kubeconfig';

/** Descriptions of the registries that have no settings. */
const WITHOUT_SETTINGS: Readonly<Record<Exclude<RegistryName, 'kubeconfigSecrets' | 'ocm' | 'dns'>, string>> = {
  clusterAPI: 'Clusters of Cluster API (cluster.x-k8s.io) with their kubeconfig Secrets.',
  argoCD: 'Cluster Secrets of Argo CD (argocd.argoproj.io/secret-type: cluster).',
  flux: 'Clusters that Kustomizations and HelmReleases of Flux name in spec.kubeConfig.',
  clusterProfile: 'ClusterProfiles of SIG Multicluster (multicluster.x-k8s.io) with Secrets as access providers.',
  fleet: 'Clusters of Rancher Fleet (fleet.cattle.io) that the manager connects to.',
  kubeFed: 'KubeFedClusters (core.kubefed.io).',
};

/** Schema of `spec.from`. */
export const REGISTRY_CHOICE_SCHEMA: Schema = objectOf(
  'The registry that lists the clusters; exactly one.',
  {
    kubeconfigSecrets: objectOf(
      'Secrets that hold a kubeconfig each: those that selector selects, else those with label ' +
        'sigs.k8s.io/multicluster-runtime-kubeconfig=true.',
      {
        key: text(`Key within the Secrets; "${DEFAULT_REGISTRY_KEY}" when missing.`, { minLength: 1, maxLength: 253 }),
      },
    ),
    ...Object.fromEntries(
      Object.entries(WITHOUT_SETTINGS).map(([name, description]) => [name, { type: 'object' as const, description }]),
    ),
    dns: objectOf(
      'API servers that a domain announces by DNS-SD (PTR, SRV and TXT of _isthmus._tcp). These are hints: each ' +
        'needs approval, and a Secret with its name, token and ca.crt.',
      {
        domain: text('The domain, in lower case.', {
          minLength: 1, maxLength: 200, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
        }),
        server: text('Address of the DNS server, with a port unless it is 53; those of the host when missing.', {
          maxLength: 64,
          pattern: '^([0-9]{1,3}(\\.[0-9]{1,3}){3}(:[0-9]{1,5})?|[0-9a-f:]+|\\[[0-9a-f:]+\\]:[0-9]{1,5})$',
        }),
      },
      ['domain'],
    ),
    ocm: objectOf('ManagedClusters of Open Cluster Management, by tokens of a ManagedServiceAccount in each.', {
      managedServiceAccount:
        text("Name of the ManagedServiceAccount in each cluster's namespace.", { minLength: 1, maxLength: 253 }),
    }, ['managedServiceAccount']),
  },
  [],
  {
    'x-kubernetes-validations': [
      {
        rule: `[${REGISTRY_NAMES.map((name) => `has(self.${name})`).join(', ')}].filter(x, x).size() == 1`,
        message: `name exactly one registry: ${REGISTRY_NAMES.join(', ')}`,
      },
    ],
  },
);
