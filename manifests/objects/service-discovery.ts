// Workload of service discovery: CRDs of the Multi-Cluster Services API, a Deployment whose replicas all answer DNS and
// of which one writes, and a Service that cluster DNS forwards to. Conforms to the Pod Security Standard `restricted`.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { ISTHMUS_GROUP } from '../../api/objects/group-version.ts';
import { MCS_GROUP } from '../../api/kinds/service-discovery.ts';
import {
  boundRole, clusterRole, clusterRoleBinding, PART_OF, READ, rule, serviceAccount, WRITE, type PolicyRule,
} from '../../model/access/rbac-objects.ts';
import { deployment, disruptionBudget, HEALTH_PORT, type ContainerPort, type WorkloadPlace } from './workloads.ts';
import { EVERY_ADDRESS, hostPort } from '../../model/network/socket-address.ts';

/** Name of everything of service discovery. */
export const SERVICE_DISCOVERY = 'isthmus-service-discovery';
/** Port of the DNS server in its pods, which may not bind port 53. */
export const DNS_PORT = 8053;
const PORTS: readonly ContainerPort[] = [
  { name: 'dns', containerPort: DNS_PORT, protocol: 'UDP' },
  { name: 'dns-tcp', containerPort: DNS_PORT, protocol: 'TCP' }, { name: 'health', containerPort: HEALTH_PORT },
];

/** In all namespaces: imports exist where their namespace does. */
const CLUSTER_RULES: readonly PolicyRule[] = [
  rule(MCS_GROUP, ['serviceexports'], [...READ, 'create', 'delete']), // requested by annotations of Services
  rule(MCS_GROUP, ['serviceimports'], [...READ, ...WRITE]),
  rule(MCS_GROUP, ['serviceexports/status', 'serviceimports/status'], ['patch']),
  rule('', ['services'], [...READ, ...WRITE]), // each import has one for its cluster IP
  rule('discovery.k8s.io', ['endpointslices'], [...READ, ...WRITE]),
  rule('', ['namespaces'], ['list', 'watch']),
];
const NAMESPACE_RULES: readonly PolicyRule[] = [
  rule('coordination.k8s.io', ['leases'], ['get', 'create', 'patch']),
  rule(ISTHMUS_GROUP, ['clustersetmembers', 'clustersetgateways'], ['list', 'watch']),
  rule(ISTHMUS_GROUP, ['exportedservices'], [...READ, ...WRITE]),
];

/** Everything but the kinds, which `serviceDiscoveryCrds` has. */
export function serviceDiscoveryManifests({ namespace, image }: WorkloadPlace): readonly KubernetesObject[] {
  const name = SERVICE_DISCOVERY;
  const args =
    [
      'service', 'run', '--namespace', namespace, '--dns', hostPort(EVERY_ADDRESS, DNS_PORT), '--health-port',
      String(HEALTH_PORT),
    ];
  return [
    ...serviceDiscoveryAccess(namespace), deployment({ namespace, name, image, args, replicas: 2, ports: PORTS }),
    disruptionBudget({ namespace, name }), dnsService(namespace),
  ];
}

/** ServiceAccount, roles and bindings. */
export function serviceDiscoveryAccess(namespace: string): readonly KubernetesObject[] {
  const name = SERVICE_DISCOVERY;
  const holders = [{ namespace, name }];
  return [
    serviceAccount({ namespace, name }), clusterRole(name, CLUSTER_RULES), clusterRoleBinding(name, name, holders),
    ...boundRole({ namespace, name }, NAMESPACE_RULES, holders),
  ];
}

function dnsService(namespace: string): KubernetesObject {
  const ports = [{ name: 'dns', protocol: 'UDP', port: 53, targetPort: 'dns' }, {
    name: 'dns-tcp', protocol: 'TCP', port: 53, targetPort: 'dns-tcp',
  }];
  return {
    apiVersion: 'v1', kind: 'Service', metadata: { namespace, name: SERVICE_DISCOVERY, labels: PART_OF },
    spec: { type: 'ClusterIP', selector: { 'app.kubernetes.io/name': SERVICE_DISCOVERY }, ports },
  } as KubernetesObject;
}
