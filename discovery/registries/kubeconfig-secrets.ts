// Secrets that hold a kubeconfig each, as multicluster-runtime's kubeconfig provider has them.
import { DEFAULT_REGISTRY_KEY } from '../../api/registry/registry-choice.ts';
import { entriesOf, kubeconfigIn } from '../entry/registry-fields.ts';
import type { Registry } from '../entry/registry.ts';

/** The registry. */
export const KUBECONFIG_SECRETS: Registry = {
  kinds: [],
  secretSelector: 'sigs.k8s.io/multicluster-runtime-kubeconfig=true',
  read: ({ secrets }, { kubeconfigSecrets: { key = DEFAULT_REGISTRY_KEY } = {} }) => (
    entriesOf('Secret', secrets, (secret) => kubeconfigIn(secret, [key]))
  ),
};
