// The Kustomize files: a base for every cluster, components for its roles, and an overlay per usual combination.
// `kubectl apply -k manifests/kustomize/overlays/both` installs; a custom overlay sets image and namespace.
import { stringify } from 'yaml';
import type { KubernetesObject } from '../api/objects/core.ts';
import { DEFAULT_INSTALL_NAMESPACE } from '../api/objects/keys.ts';
import { GIVEN_CERTIFICATE_SECRET } from '../api/objects/own-names.ts';
import { serviceDiscoveryCrds } from './objects/crds.ts';
import { brokerManifests, DEFAULT_BROKER_NAMESPACE, gatewayManifests } from './objects/gateway.ts';
import { installNamespaceManifest } from './install.ts';
import {
  commonNetworkPolicy, gatewayNetworkPolicy, serviceDiscoveryNetworkPolicy, sourceNetworkPolicies, uiNetworkPolicy,
} from './objects/network-policies.ts';
import { DEFAULT_POD_PLANE_IMAGE, podPlaneManifests } from './objects/pod-plane.ts';
import { proxyPolicyManifests } from './policies/proxy-policy.ts';
import type { Side } from './objects/component-permissions.ts';
import { rbacObjects } from './objects/rbac.ts';
import { serviceDiscoveryManifests } from './objects/service-discovery.ts';
import {
  packagedWebhookConfiguration, validatingWebhookConfiguration, WEBHOOK_CONFIGURATION_NAME, WEBHOOK_SERVICE,
} from './objects/webhook-configuration.ts';
import {
  certManagerManifests, componentManifests, criticalPodsQuota, DEFAULT_IMAGE, uiManifests, webhookManifests,
} from './objects/workloads.ts';

/** Files by path, relative to the folder of the Kustomize files: objects, or the content of a `kustomization.yaml`. */
export type KustomizeFiles = Readonly<
  Record<
    string,
    { readonly objects: readonly KubernetesObject[] } | { readonly kustomization: Readonly<Record<string, unknown>> }
  >
>;

const namespace = DEFAULT_INSTALL_NAMESPACE;
const place = { namespace, image: DEFAULT_IMAGE };
/** RBAC that only some clusters need; the base has the rest. */
const PERMISSIONS = ['source', 'target', 'self'] as const;
const SOURCE_WORKLOADS = ['isthmus-scheduler', 'isthmus-virtual-node'] as const;

/** All files. */
export function kustomizeFiles(): KustomizeFiles {
  return { ...base(), ...source(), ...certManager(), ...others(), ...overlays() };
}

function base(): KustomizeFiles {
  return {
    'common/kustomization.yaml': kustomization('Kustomization', {
      resources: [
        '../../crds', 'rbac.yaml', 'resource-quota.yaml', 'delegate-controller.yaml', 'peering.yaml',
        'network-policy.yaml',
      ],
    }),
    'common/rbac.yaml': { objects: [installNamespaceManifest(namespace), ...permissionsOf('either')] },
    'common/resource-quota.yaml': { objects: [criticalPodsQuota(namespace)] },
    'common/delegate-controller.yaml': { objects: componentManifests('isthmus-delegate-controller', place) },
    'common/peering.yaml': { objects: componentManifests('isthmus-peering', place) },
    'common/network-policy.yaml': { objects: [commonNetworkPolicy(namespace)] },
    'base/kustomization.yaml': kustomization(
      'Kustomization',
      { resources: ['../common'], components: PERMISSIONS.map((side) => `../components/permissions-${side}`) },
    ),
    ...Object.fromEntries(PERMISSIONS.flatMap((side) => [
      [`components/permissions-${side}/kustomization.yaml`, kustomization('Component', { resources: ['rbac.yaml'] })],
      [`components/permissions-${side}/rbac.yaml`, { objects: permissionsOf(side) }],
    ])),
  };
}

function permissionsOf(side: Side): readonly KubernetesObject[] {
  return rbacObjects(namespace).filter((part) => part.side === side).map(({ object }) => object);
}

function source(): KustomizeFiles {
  const address = { installNamespace: namespace };
  return {
    'components/source/kustomization.yaml': kustomization('Component', {
      resources: [
        'webhook.yaml', 'webhook-configuration.yaml', 'proxy-policy.yaml', 'scheduler.yaml', 'virtual-node.yaml',
        'network-policies.yaml',
      ],
    }),
    'components/source/webhook.yaml': { objects: webhookManifests(place) },
    'components/source/webhook-configuration.yaml':
      { objects: [validatingWebhookConfiguration(address), packagedWebhookConfiguration(address)] },
    'components/source/proxy-policy.yaml': { objects: proxyPolicyManifests(namespace) },
    'components/source/scheduler.yaml': { objects: componentManifests(SOURCE_WORKLOADS[0], place) },
    'components/source/network-policies.yaml': { objects: sourceNetworkPolicies(namespace) },
    'components/source/virtual-node.yaml': { objects: componentManifests(SOURCE_WORKLOADS[1], place) },
  };
}

/** Lets cert-manager issue the webhook's certificate. */
function certManager(): KustomizeFiles {
  const flag = [{ op: 'add', path: '/spec/template/spec/containers/0/args/-', value: '--webhook-certificate-secret' }, {
    op: 'add', path: '/spec/template/spec/containers/0/args/-', value: GIVEN_CERTIFICATE_SECRET,
  }];
  const annotation = [{
    op: 'add', path: '/metadata/annotations',
    value: { 'cert-manager.io/inject-ca-from': `${namespace}/${WEBHOOK_SERVICE}` },
  }];
  const patches = [
    { target: { kind: 'Deployment', name: WEBHOOK_SERVICE }, patch: stringify(flag) },
    ...['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'].map(
      (kind) => ({ target: { kind, name: WEBHOOK_CONFIGURATION_NAME }, patch: stringify(annotation) }),
    ),
  ];
  return {
    'components/cert-manager/kustomization.yaml':
      kustomization('Component', { resources: ['certificate.yaml'], patches }),
    'components/cert-manager/certificate.yaml': { objects: certManagerManifests(namespace) },
  };
}

function others(): KustomizeFiles {
  return {
    'components/gateway/kustomization.yaml': kustomization('Component', { resources: ['gateway.yaml'] }),
    'components/gateway/gateway.yaml': { objects: [...gatewayManifests(place), gatewayNetworkPolicy(namespace)] },
    'components/pod-plane/kustomization.yaml': kustomization('Component', { resources: ['pod-plane.yaml'] }),
    'components/pod-plane/pod-plane.yaml':
      { objects: podPlaneManifests({ installNamespace: namespace, image: DEFAULT_POD_PLANE_IMAGE }) },
    'components/service-discovery/kustomization.yaml':
      kustomization('Component', { resources: ['crds.yaml', 'service-discovery.yaml'] }),
    'components/service-discovery/crds.yaml': { objects: serviceDiscoveryCrds() },
    'components/service-discovery/service-discovery.yaml':
      { objects: [...serviceDiscoveryManifests(place), serviceDiscoveryNetworkPolicy(namespace)] },
    'components/discovery/kustomization.yaml': kustomization('Component', { resources: ['discovery.yaml'] }),
    'components/discovery/discovery.yaml': { objects: componentManifests('isthmus-discovery', place) },
    'components/ui/kustomization.yaml': kustomization('Component', { resources: ['ui.yaml'] }),
    'components/ui/ui.yaml': { objects: [...uiManifests(place), uiNetworkPolicy(namespace)] },
    'broker/kustomization.yaml': kustomization('Kustomization', { resources: ['broker.yaml'] }),
    'broker/broker.yaml': { objects: brokerManifests({ namespace: DEFAULT_BROKER_NAMESPACE, image: DEFAULT_IMAGE }) },
  };
}

function overlays(): KustomizeFiles {
  const resources = ['../../base'];
  const withSource = { resources, components: ['../../components/source'] };
  const only = (flag: string) => [{
    target: { kind: 'Deployment', name: 'isthmus-.*' },
    patch: stringify([{ op: 'add', path: '/spec/template/spec/containers/0/args/-', value: flag }]),
  }];
  const common = ['../../common'];
  return {
    'overlays/source/kustomization.yaml': kustomization('Kustomization', {
      resources: common, components: ['../../components/permissions-source', '../../components/source'],
      patches: only('--no-target'),
    }),
    'overlays/target/kustomization.yaml': kustomization('Kustomization', {
      resources: common, components: ['../../components/permissions-target'], patches: only('--no-source'),
    }),
    'overlays/both/kustomization.yaml': kustomization('Kustomization', withSource),
    'overlays/both-cert-manager/kustomization.yaml': kustomization(
      'Kustomization', { resources, components: ['../../components/source', '../../components/cert-manager'] },
    ),
    'overlays/gateway/kustomization.yaml':
      kustomization('Kustomization', { resources, components: ['../../components/gateway'] }),
    'overlays/pod-plane/kustomization.yaml': kustomization('Kustomization', {
      resources,
      components: ['../../components/gateway', '../../components/service-discovery', '../../components/pod-plane'],
    }),
    'overlays/clusterset/kustomization.yaml': kustomization(
      'Kustomization', { resources, components: ['../../components/gateway', '../../components/service-discovery'] },
    ),
  };
}

function kustomization(kind: 'Kustomization' | 'Component', content: Readonly<Record<string, unknown>>): KustomizeFiles[
  string
] {
  const apiVersion = kind === 'Component' ? 'kustomize.config.k8s.io/v1alpha1' : 'kustomize.config.k8s.io/v1beta1';
  return { kustomization: { apiVersion, kind, ...content } };
}
