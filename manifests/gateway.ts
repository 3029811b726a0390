// What runs the gateway and the broker in a cluster. Both hold to the Pod Security Standard `restricted`, and have rights in their own namespace
// only: nothing that reaches them from outside could read a pod or a Secret of anybody else.
import type { KubernetesObject } from '../api/core.ts';
import { ISTHMUS_GROUP } from '../api/resource-types.ts';
import { onlyNamed, PART_OF, role, roleBinding, rule, serviceAccount, type PolicyRule } from '../model/rbac-objects.ts';

/** Where and from which image. */
export interface GatewayDeployment {
  readonly namespace: string;
  readonly image: string;
}

/** Image when none is named. */
export const DEFAULT_IMAGE = 'isthmus:0.1.0';
/** Namespace of the broker when none is named. */
export const DEFAULT_BROKER_NAMESPACE = 'isthmus-broker';
/** Port of the broker, and that on which a gateway listens for peers. */
export const TUNNEL_PORT = 8443;
/** Port of the gateway's CONNECT endpoint. */
export const CONNECT_PORT = 8132;
/** Secret of the broker: its authority, the key of its tokens, its URL. */
export const BROKER_SECRET = 'isthmus-broker';
const HEALTH_PORT = 8080;
const READ = ['get', 'list', 'watch'];

const GATEWAY_RULES: readonly PolicyRule[] = [
  rule('coordination.k8s.io', ['leases'], ['get', 'create', 'patch']),
  onlyNamed(rule('', ['secrets'], [...READ, 'patch']), ['isthmus-gateway']),
  rule(ISTHMUS_GROUP, ['clusters', 'endpoints'], [...READ, 'create', 'patch', 'delete']), // the local copy
  rule(ISTHMUS_GROUP, ['gateways'], [...READ, 'create', 'patch', 'delete']),
  rule(ISTHMUS_GROUP, ['gateways/status'], ['patch']),
];

const BROKER_RULES: readonly PolicyRule[] = [
  rule('', ['secrets'], ['create']), // a create cannot be limited to a name
  onlyNamed(rule('', ['secrets'], ['get', 'patch']), [BROKER_SECRET, 'isthmus-broker-used-tokens']),
  rule(ISTHMUS_GROUP, ['clusters', 'endpoints'], [...READ, 'create', 'patch', 'delete']),
];

/** The gateway: two replicas of which one is active, a Service for peers and one for the CONNECT endpoint. */
export function gatewayManifests({ namespace, image }: GatewayDeployment): readonly KubernetesObject[] {
  const name = 'isthmus-gateway';
  const args = ['gateway', 'run', '--namespace', namespace, '--listen', `0.0.0.0:${TUNNEL_PORT}`, '--connect', `0.0.0.0:${CONNECT_PORT}`, '--health-port', String(HEALTH_PORT), '--drain-seconds', '20'];
  return [
    ...accountWith(namespace, name, GATEWAY_RULES),
    deployment({ namespace, name, image, args, replicas: 2, ports: [TUNNEL_PORT, CONNECT_PORT, HEALTH_PORT] }),
    service({ namespace, name, port: 443, targetPort: TUNNEL_PORT, type: 'LoadBalancer' }),
    service({ namespace, name: `${name}-connect`, app: name, port: CONNECT_PORT, targetPort: CONNECT_PORT, type: 'ClusterIP' }),
  ];
}

/** The broker, in a namespace where the API server enforces `restricted`. */
export function brokerManifests({ namespace, image }: GatewayDeployment): readonly KubernetesObject[] {
  const name = 'isthmus-broker';
  const args = ['broker', 'run', '--namespace', namespace, '--listen', `0.0.0.0:${TUNNEL_PORT}`, '--health-port', String(HEALTH_PORT)];
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels: { ...PART_OF, 'pod-security.kubernetes.io/enforce': 'restricted', 'multicluster-scheduler': 'disabled' } } },
    ...accountWith(namespace, name, BROKER_RULES),
    deployment({ namespace, name, image, args, replicas: 1, ports: [TUNNEL_PORT, HEALTH_PORT] }),
    service({ namespace, name, port: 443, targetPort: TUNNEL_PORT, type: 'LoadBalancer' }),
  ];
}

function accountWith(namespace: string, name: string, rules: readonly PolicyRule[]): readonly KubernetesObject[] {
  return [serviceAccount({ namespace, name }), role(namespace, name, rules), roleBinding({ namespace, name, roleKind: 'Role', roleName: name }, [{ namespace, name }])];
}

interface Workload extends GatewayDeployment {
  readonly name: string;
  readonly args: readonly string[];
  readonly replicas: number;
  readonly ports: readonly number[];
}

function deployment({ namespace, name, image, args, replicas, ports }: Workload): KubernetesObject {
  const labels = { ...PART_OF, 'app.kubernetes.io/name': name };
  const probe = (path: string) => ({ httpGet: { path, port: HEALTH_PORT }, periodSeconds: 5, timeoutSeconds: 3 });
  const container = {
    name: 'isthmus', image, args, ports: ports.map((containerPort) => ({ containerPort })),
    livenessProbe: { ...probe('/healthz'), failureThreshold: 6 }, readinessProbe: probe('/readyz'),
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '1Gi' } },
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
  };
  const spec = {
    serviceAccountName: name, terminationGracePeriodSeconds: 45, containers: [container],
    securityContext: { runAsNonRoot: true, runAsUser: 65_532, runAsGroup: 65_532, seccompProfile: { type: 'RuntimeDefault' } },
  };
  return {
    apiVersion: 'apps/v1', kind: 'Deployment', metadata: { namespace, name, labels },
    spec: { replicas, selector: { matchLabels: { 'app.kubernetes.io/name': name } }, template: { metadata: { labels }, spec } },
  } as KubernetesObject;
}

interface Exposed {
  readonly namespace: string;
  readonly name: string;
  readonly app?: string;
  readonly port: number;
  readonly targetPort: number;
  readonly type: 'LoadBalancer' | 'ClusterIP';
}

/** Of the replicas' CONNECT endpoints all are behind the Service: a passive one says so, and the client asks once more. */
function service({ namespace, name, app = name, port, targetPort, type }: Exposed): KubernetesObject {
  return { apiVersion: 'v1', kind: 'Service', metadata: { namespace, name, labels: PART_OF }, spec: { type, selector: { 'app.kubernetes.io/name': app }, ports: [{ port, targetPort }] } } as KubernetesObject;
}
