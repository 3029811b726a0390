// Workload of the pod plane: a DaemonSet that changes the nodes' network, the one workload that does not conform to the
// Pod Security Standard `restricted`. It has its own namespace, so that nothing else is exempted, and permissions in
// the install namespace only.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { ISTHMUS_GROUP } from '../../api/objects/group-version.ts';
import {
  boundRole, clusterRole, clusterRoleBinding, onlyNamed, PART_OF, READ, rule, serviceAccount, type PolicyRule,
} from '../../model/access/rbac-objects.ts';
import { WIREGUARD_PORT } from '../../model/network/pod-plane.ts';
import { criticalPodsQuota, HEALTH_PORT } from './workloads.ts';

/** Name of everything of the pod plane, and of its namespace. */
export const POD_PLANE = 'isthmus-pod-plane';
/** Default image: target `pod-plane` of the Dockerfile, which contains the network tools. */
export const DEFAULT_POD_PLANE_IMAGE = 'isthmus-pod-plane:0.1.0';
const PROGRAM = '/isthmus/wireguard';
const PRIORITY_CLASS = 'system-node-critical';

const RULES: readonly PolicyRule[] = [
  rule('coordination.k8s.io', ['leases'], [...READ, 'create', 'patch']),
  rule('', ['secrets'], ['create']), // create cannot be limited to a name
  onlyNamed(rule('', ['secrets'], [...READ, 'patch']), [POD_PLANE]),
  rule(ISTHMUS_GROUP, ['clustersetmembers'], ['list', 'watch']),
  rule(
    ISTHMUS_GROUP, ['clustersetendpoints'], [...READ, 'create', 'patch'],
  ), // its own, which the gateway sends to the broker
  rule(ISTHMUS_GROUP, ['clustersetgateways'], [...READ, 'create', 'patch', 'delete']),
  rule(ISTHMUS_GROUP, ['clustersetgateways/status'], ['patch']),
];

/** Where and from which image. */
export interface PodPlanePlace {
  /** The install namespace. */
  readonly installNamespace: string;
  readonly image: string;
}

/** All objects of the pod plane. */
export function podPlaneManifests({ installNamespace, image }: PodPlanePlace): readonly KubernetesObject[] {
  return [
    podPlaneNamespace(), criticalPodsQuota(POD_PLANE, PRIORITY_CLASS), ...podPlaneAccess(installNamespace),
    daemonSet(installNamespace, image),
  ];
}

/** Our only namespace with privileged pods. */
export function podPlaneNamespace(): KubernetesObject {
  return {
    apiVersion: 'v1', kind: 'Namespace',
    metadata: {
      name: POD_PLANE,
      labels: { ...PART_OF, 'pod-security.kubernetes.io/enforce': 'privileged', 'multicluster-scheduler': 'disabled' },
    },
  };
}

/** ServiceAccount, roles and bindings. */
export function podPlaneAccess(installNamespace: string): readonly KubernetesObject[] {
  const holders = [{ namespace: POD_PLANE, name: POD_PLANE }];
  return [
    serviceAccount({ namespace: POD_PLANE, name: POD_PLANE }),
    clusterRole(POD_PLANE, [rule('', ['nodes'], ['list', 'watch'])]), clusterRoleBinding(POD_PLANE, POD_PLANE, holders),
    ...boundRole({ namespace: installNamespace, name: POD_PLANE }, RULES, holders),
  ];
}

function daemonSet(installNamespace: string, image: string): KubernetesObject {
  const labels = { ...PART_OF, 'app.kubernetes.io/name': POD_PLANE };
  const args = [
    'gateway', 'node', '--namespace', installNamespace, '--node-name', '$(NODE_NAME)', '--wireguard', PROGRAM,
    '--listen-port', String(WIREGUARD_PORT), '--health-port', String(HEALTH_PORT + 1),
  ];
  const probe = { httpGet: { path: '/healthz', port: HEALTH_PORT + 1 }, timeoutSeconds: 3 };
  const container = {
    name: 'isthmus', image, imagePullPolicy: 'IfNotPresent', args,
    env: [{ name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }],
    startupProbe: { ...probe, periodSeconds: 2, failureThreshold: 60 },
    livenessProbe: { ...probe, periodSeconds: 5, failureThreshold: 6 },
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '1Gi' } },
    // /dev/net/tun, and /proc/sys, which is read-only otherwise
    securityContext: { privileged: true, readOnlyRootFilesystem: true },
  };
  const spec = {
    serviceAccountName: POD_PLANE, priorityClassName: PRIORITY_CLASS,
    hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet', terminationGracePeriodSeconds: 30,
    tolerations: [{ operator: 'Exists' }], containers: [container],
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'virtual-kubelet.io/provider', operator: 'DoesNotExist' }] }],
        },
      },
    },
  };
  return {
    apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { namespace: POD_PLANE, name: POD_PLANE, labels },
    spec: {
      selector: { matchLabels: { 'app.kubernetes.io/name': POD_PLANE } },
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } },
      template: { metadata: { labels }, spec },
    },
  } as KubernetesObject;
}
