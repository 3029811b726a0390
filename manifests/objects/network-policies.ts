// NetworkPolicies of the install namespace: each component accepts what it serves, and nothing else. The chart renders
// the same objects from its values; a test compares its defaults with this file. Egress is open: API servers of targets
// can be anywhere.
import type { KubernetesObject, StringMap } from '../../api/objects/core.ts';
import { PART_OF } from '../../model/access/rbac-objects.ts';
import { WEBHOOK_SERVICE } from './webhook-configuration.ts';
import { VIRTUAL_NODE } from './workloads.ts';

/** All pods: metrics and probes are allowed, everything else needs another policy. */
export function commonNetworkPolicy(namespace: string): KubernetesObject {
  return policyOf(namespace, 'isthmus', {
    podSelector: { matchLabels: PART_OF }, policyTypes: ['Ingress', 'Egress'],
    ingress: [{ ports: [{ port: 'health' }] }], egress: [{}],
  });
}

/** What a source's API servers call. They are not pods, and their addresses are unknown here. */
export function sourceNetworkPolicies(namespace: string): readonly KubernetesObject[] {
  return [
    letIn(namespace, WEBHOOK_SERVICE, [{ port: 'webhook' }]), letIn(namespace, VIRTUAL_NODE, [{ port: 'kubelet' }]),
  ];
}

/** The gateway: peers' gateways; for the unauthenticated CONNECT endpoint only our own pods. */
export function gatewayNetworkPolicy(namespace: string): KubernetesObject {
  return letIn(namespace, 'isthmus-gateway', [{ port: 'tunnel' }], {
    ports: [{ port: 'connect' }], from: [{ podSelector: { matchLabels: PART_OF } }],
  });
}

/** Cluster DNS forwards to service discovery, and pods may query it directly. */
export function serviceDiscoveryNetworkPolicy(namespace: string): KubernetesObject {
  return letIn(namespace, 'isthmus-service-discovery', [{ port: 'dns', protocol: 'UDP' }, { port: 'dns-tcp' }]);
}

/** The page: browsers reach it through whatever leads to its Service. */
export function uiNetworkPolicy(namespace: string): KubernetesObject {
  return letIn(namespace, 'isthmus-ui', [{ port: 'page' }]);
}

function letIn(namespace: string, app: string, ports: readonly object[], ...more: readonly object[]): KubernetesObject {
  return policyOf(namespace, app, {
    podSelector: { matchLabels: { 'app.kubernetes.io/name': app } }, policyTypes: ['Ingress'],
    ingress: [{ ports }, ...more],
  });
}

interface PolicySpec {
  readonly podSelector: { readonly matchLabels: StringMap };
  readonly policyTypes: readonly ('Ingress' | 'Egress')[];
  readonly ingress: readonly object[];
  readonly egress?: readonly object[];
}

function policyOf(namespace: string, name: string, spec: PolicySpec): KubernetesObject {
  return {
    apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { namespace, name, labels: PART_OF }, spec,
  } as KubernetesObject;
}
