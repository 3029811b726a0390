// Everything that an installation puts into a cluster, in the order in which it is applied.
import type { KubernetesObject } from '../api/objects/core.ts';
import { NAMESPACE_OPT_IN_LABEL } from '../api/objects/keys.ts';
import { customResourceDefinitions } from './objects/crds.ts';
import { PART_OF } from '../model/access/rbac-objects.ts';
import type { InstallRole } from './objects/component-rights.ts';
import { proxyPolicyManifests } from './objects/proxy-policy.ts';
import { rbacManifests } from './objects/rbac.ts';
import { validatingWebhookConfiguration, webhookConfiguration, type WebhookAddress } from './objects/webhook-configuration.ts';

/** What an installation depends on: its namespace, where its webhook is reached, and what the cluster is. */
export interface InstallOptions extends WebhookAddress {
  /** What the cluster is; both when missing. */
  readonly role?: InstallRole | undefined;
}

/** The install namespace; its own pods are never elected, or the webhook could keep itself from starting. */
export function installNamespaceManifest(name: string): KubernetesObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { ...PART_OF, [NAMESPACE_OPT_IN_LABEL]: 'disabled' } } };
}

/** All objects of an installation in apply order. The webhook comes last: from then on elected pods wait for it. */
export function installManifests(options: InstallOptions): readonly KubernetesObject[] {
  return [
    installNamespaceManifest(options.installNamespace),
    ...customResourceDefinitions(),
    ...rbacManifests(options.installNamespace, options.role),
    ...(options.role === 'target' ? [] : [...proxyPolicyManifests(options.installNamespace), validatingWebhookConfiguration(options), webhookConfiguration(options)]),
  ];
}
