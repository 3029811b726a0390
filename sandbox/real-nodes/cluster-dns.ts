// CoreDNS as the clusters of a sandbox run it: one pod, the Service `kube-dns` in kube-system, and what it may read.
// Pure.
import { serviceAddress, type ClusterPlan } from '../plan/cluster-plan.ts';

/** The image of CoreDNS. */
export const corednsImage = 'registry.k8s.io/coredns/coredns:v1.14.7';

const labels = { 'k8s-app': 'kube-dns' };
const metadata = { name: 'coredns', namespace: 'kube-system' };
const readable = [
  { apiGroups: [''], resources: ['endpoints', 'services', 'pods', 'namespaces'], verbs: ['list', 'watch'] },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
];

/** A sandbox has no other name servers, so names from outside the cluster are answered by NXDOMAIN. */
const corefile = `.:53 {
    errors
    health
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
        ttl 5
    }
    cache 5
    loop
    reload
}
`;

function deployment(): object {
  const probe = (path: string, port: number): object => ({ httpGet: { path, port }, timeoutSeconds: 5 });
  const container = {
    name: 'coredns', image: corednsImage, args: ['-conf', '/etc/coredns/Corefile'],
    ports: [{ name: 'dns', containerPort: 53, protocol: 'UDP' }, { name: 'dns-tcp', containerPort: 53 }],
    livenessProbe: { ...probe('/health', 8_080), failureThreshold: 5 },
    readinessProbe: { ...probe('/ready', 8_181), periodSeconds: 2 },
    resources: { requests: { cpu: '10m', memory: '30Mi' } },
    volumeMounts: [{ name: 'config', mountPath: '/etc/coredns', readOnly: true }],
  };
  const spec = {
    serviceAccountName: 'coredns', priorityClassName: 'system-cluster-critical', dnsPolicy: 'Default',
    containers: [container], volumes: [{ name: 'config', configMap: { name: 'coredns' } }],
  };
  return {
    apiVersion: 'apps/v1', kind: 'Deployment', metadata,
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}

function service(plan: ClusterPlan): object {
  const port = (name: string, protocol: string): object => ({ name, protocol, port: 53, targetPort: 53 });
  return {
    apiVersion: 'v1', kind: 'Service', metadata: { name: 'kube-dns', namespace: 'kube-system', labels },
    spec: {
      ipFamilyPolicy: 'PreferDualStack', clusterIP: serviceAddress(plan, 10), selector: labels,
      ports: [port('dns', 'UDP'), port('dns-tcp', 'TCP')],
    },
  };
}

/** The objects, each with the path that it is posted to. */
export function clusterDnsObjects(plan: ClusterPlan): readonly (readonly [path: string, object: object])[] {
  const rbac = 'rbac.authorization.k8s.io';
  const subjects = [{ kind: 'ServiceAccount', ...metadata }];
  const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name: 'system:coredns' };
  const apiVersion = `${rbac}/v1`;
  const named = { name: 'system:coredns' };
  return [
    ['/api/v1/namespaces/kube-system/serviceaccounts', { apiVersion: 'v1', kind: 'ServiceAccount', metadata }],
    [`/apis/${apiVersion}/clusterroles`, { apiVersion, kind: 'ClusterRole', metadata: named, rules: readable }],
    [
      `/apis/${apiVersion}/clusterrolebindings`,
      { apiVersion, kind: 'ClusterRoleBinding', metadata: named, roleRef, subjects },
    ],
    [
      '/api/v1/namespaces/kube-system/configmaps',
      { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { Corefile: corefile } },
    ],
    ['/api/v1/namespaces/kube-system/services', service(plan)],
    ['/apis/apps/v1/namespaces/kube-system/deployments', deployment()],
  ];
}
