// Workloads of the gateway and the broker. Both conform to the Pod Security Standard `restricted`, and have permissions
// in their own namespace only: an attacker who compromises them from outside can read no other pod or Secret.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { ISTHMUS_GROUP } from '../../api/objects/group-version.ts';
import {
  boundRole, onlyNamed, PART_OF, READ, rule, serviceAccount, type PolicyRule,
} from '../../model/access/rbac-objects.ts';
import {
  criticalPodsQuota, deployment, disruptionBudget, HEALTH, HEALTH_PORT, service, type ContainerPort, type WorkloadPlace,
} from './workloads.ts';
import { EVERY_ADDRESS, hostPort } from '../../model/network/socket-address.ts';

/** Namespace of the broker when none is named. */
export const DEFAULT_BROKER_NAMESPACE = 'isthmus-broker';
/** Port of the broker, and of a gateway's listener for peers. */
export const TUNNEL_PORT = 8443;
/** Port of the gateway's CONNECT endpoint. */
export const CONNECT_PORT = 8132;
/** Secret of the broker: its CA, token key and URL. */
export const BROKER_SECRET = 'isthmus-broker';
const DRAIN_SECONDS = 20;
const TUNNEL: ContainerPort = { name: 'tunnel', containerPort: TUNNEL_PORT };

const GATEWAY_RULES: readonly PolicyRule[] = [
  rule('coordination.k8s.io', ['leases'], ['get', 'create', 'patch']),
  onlyNamed(rule('', ['secrets'], [...READ, 'patch']), ['isthmus-gateway']),
  rule(
    ISTHMUS_GROUP, ['clustersetmembers', 'clustersetendpoints'], [...READ, 'create', 'patch', 'delete'],
  ), // the local copy
  rule(ISTHMUS_GROUP, ['exportedservices'], [...READ, 'create', 'patch', 'delete']), // copies of what others export
  rule(ISTHMUS_GROUP, ['exportedservices/status'], ['patch']), // own exports at the broker
  rule(ISTHMUS_GROUP, ['clustersetgateways'], [...READ, 'create', 'patch', 'delete']),
  rule(ISTHMUS_GROUP, ['clustersetgateways/status'], ['patch']),
];

const BROKER_RULES: readonly PolicyRule[] = [
  rule('', ['secrets'], ['create']), // create cannot be limited to a name
  onlyNamed(rule('', ['secrets'], ['get', 'patch']), [BROKER_SECRET, 'isthmus-broker-used-tokens']),
  rule(
    ISTHMUS_GROUP, ['clustersetmembers', 'clustersetendpoints', 'exportedservices'],
    [...READ, 'create', 'patch', 'delete'],
  ),
];

/** The gateway: two replicas of which one is active, a Service for peers and one for the CONNECT endpoint. */
export function gatewayManifests({ namespace, image }: WorkloadPlace): readonly KubernetesObject[] {
  const name = 'isthmus-gateway';
  const args = [
    'gateway', 'run', '--namespace', namespace, '--listen', hostPort(EVERY_ADDRESS, TUNNEL_PORT), '--connect',
    hostPort(EVERY_ADDRESS, CONNECT_PORT), '--connect-address', '$(POD_IP)', '--health-port', String(HEALTH_PORT),
    '--drain-seconds', String(DRAIN_SECONDS),
  ];
  return [
    ...gatewayAccess(namespace),
    deployment({
      namespace, name, image, args, replicas: 2,
      ports: [TUNNEL, { name: 'connect', containerPort: CONNECT_PORT }, HEALTH], graceSeconds: DRAIN_SECONDS + 25,
    }),
    disruptionBudget({ namespace, name }),
    service({ namespace, name, port: 443, targetPort: TUNNEL.name, type: 'LoadBalancer' }),
    // The Service has all replicas' CONNECT endpoints: a passive one passes requests on to the active one.
    service(
      { namespace, name: `${name}-connect`, app: name, port: CONNECT_PORT, targetPort: 'connect', type: 'ClusterIP' },
    ),
  ];
}

/** The broker, in a namespace where the API server enforces `restricted`. */
export function brokerManifests({ namespace, image }: WorkloadPlace): readonly KubernetesObject[] {
  const name = 'isthmus-broker';
  const args = [
    'broker', 'run', '--namespace', namespace, '--listen', hostPort(EVERY_ADDRESS, TUNNEL_PORT), '--health-port',
    String(HEALTH_PORT),
  ];
  return [
    {
      apiVersion: 'v1', kind: 'Namespace',
      metadata: {
        name: namespace,
        labels:
          { ...PART_OF, 'pod-security.kubernetes.io/enforce': 'restricted', 'multicluster-scheduler': 'disabled' },
      },
    },
    criticalPodsQuota(namespace), ...brokerAccess(namespace),
    deployment({ namespace, name, image, args, replicas: 1, ports: [TUNNEL, HEALTH] }),
    service({ namespace, name, port: 443, targetPort: TUNNEL.name, type: 'LoadBalancer' }),
  ];
}

/** ServiceAccount, Role and RoleBinding of the gateway. */
export function gatewayAccess(namespace: string): readonly KubernetesObject[] {
  return accountWith(namespace, 'isthmus-gateway', GATEWAY_RULES);
}

/** ServiceAccount, Role and RoleBinding of the broker. */
export function brokerAccess(namespace: string): readonly KubernetesObject[] {
  return accountWith(namespace, 'isthmus-broker', BROKER_RULES);
}

function accountWith(namespace: string, name: string, rules: readonly PolicyRule[]): readonly KubernetesObject[] {
  const account = { namespace, name };
  return [serviceAccount(account), ...boundRole(account, rules, [account])];
}
