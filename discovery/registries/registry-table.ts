// All registries by their names in `spec.from`.
import { REGISTRY_NAMES, type RegistryChoice, type RegistryName } from '../../api/registry/registry-choice.ts';
import type { Registry } from '../entry/registry.ts';
import { ARGO_CD } from './argo-cd.ts';
import { CLUSTER_API } from './cluster-api.ts';
import { CLUSTER_PROFILE } from './cluster-profile.ts';
import { DNS } from './dns.ts';
import { FLEET } from './fleet.ts';
import { FLUX } from './flux.ts';
import { KUBE_FED } from './kube-fed.ts';
import { KUBECONFIG_SECRETS } from './kubeconfig-secrets.ts';
import { OCM } from './ocm.ts';

/** Each registry. */
export const REGISTRIES: Readonly<Record<RegistryName, Registry>> = {
  kubeconfigSecrets: KUBECONFIG_SECRETS, clusterAPI: CLUSTER_API, argoCD: ARGO_CD, flux: FLUX,
  clusterProfile: CLUSTER_PROFILE, fleet: FLEET, ocm: OCM, kubeFed: KUBE_FED,
  dns: DNS,
};

/** The registry that is chosen; undefined for one that this version does not know. */
export function chosenRegistry(from: RegistryChoice): RegistryName | undefined {
  return REGISTRY_NAMES.find((name) => from[name] !== undefined);
}
