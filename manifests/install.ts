// All objects of an installation, in apply order.
import type { KubernetesObject } from '../api/objects/core.ts';
import { NAMESPACE_OPT_IN_LABEL } from '../api/objects/keys.ts';
import { customResourceDefinitions } from './objects/crds.ts';
import { PART_OF } from '../model/access/rbac-objects.ts';
import type { InstallRole } from './objects/component-permissions.ts';
import { proxyPolicyManifests } from './policies/proxy-policy.ts';
import { rbacManifests } from './objects/rbac.ts';
import {
  validatingWebhookConfiguration, webhookConfiguration, type WebhookAddress,
} from './objects/webhook-configuration.ts';

/** What an installation depends on: its namespace, the webhook's address, and the cluster's role. */
export interface InstallOptions extends WebhookAddress {
  /** The cluster's role; both when missing. */
  readonly role?: InstallRole | undefined;
}

/** The install namespace; its own pods are never elected, or the webhook could prevent itself from starting. */
export function installNamespaceManifest(name: string): KubernetesObject {
  return {
    apiVersion: 'v1', kind: 'Namespace',
    metadata: { name, labels: { ...PART_OF, [NAMESPACE_OPT_IN_LABEL]: 'disabled' } },
  };
}

/** All objects of an installation in apply order. The webhook comes last: from then on elected pods depend on it. */
export function installManifests(options: InstallOptions): readonly KubernetesObject[] {
  return [
    installNamespaceManifest(options.installNamespace),
    ...customResourceDefinitions(),
    ...rbacManifests(options.installNamespace, options.role),
    ...(options.role === 'target' ? [] : [
      ...proxyPolicyManifests(options.installNamespace), validatingWebhookConfiguration(options),
      webhookConfiguration(options),
    ]),
  ];
}
