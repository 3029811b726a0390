// Workloads of a cluster: a Deployment per component, each with its own ServiceAccount. All conform to the Pod Security
// Standard `restricted`. The Helm chart renders the same objects from its values; a test compares its defaults with
// this file.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { GIVEN_CERTIFICATE_SECRET } from '../../api/objects/own-names.ts';
import type { ComponentAccount } from '../../model/access/component-accounts.ts';
import { PART_OF, serviceAccount } from '../../model/access/rbac-objects.ts';
import { WEBHOOK_SERVICE, WEBHOOK_SERVICE_PORT } from './webhook-configuration.ts';
import { EVERY_ADDRESS, hostPort } from '../../model/network/socket-address.ts';

/** Image when none is named. */
export const DEFAULT_IMAGE = 'isthmus:0.1.0';
/** Port of `/healthz`, `/readyz` and `/metrics` in our pods. */
export const HEALTH_PORT = 8080;
/** Port that the webhook listens on in its pods, as Admiralty's. */
export const WEBHOOK_PORT = 9443;
/** Port of the page in its pods. */
export const UI_PORT = 8443;
/**
 * How long a stopping webhook keeps serving, in s: until every API server and proxy has seen that its endpoint is gone.
 */
const DRAIN_SECONDS = 10;
/** Workload that virtual nodes announce as their kubelet. */
export const VIRTUAL_NODE: ComponentAccount = 'isthmus-virtual-node';
const REPLICAS = 2;
const TLS_FOLDER = '/etc/isthmus/tls';
const NAME_LABEL = 'app.kubernetes.io/name';
const PRIORITY_CLASS = 'system-cluster-critical';

/** Where and from which image. */
export interface WorkloadPlace {
  readonly namespace: string;
  readonly image: string;
}

/** How a Deployment differs from the others. */
export interface Workload extends WorkloadPlace {
  readonly name: string;
  readonly args: readonly string[];
  readonly replicas: number;
  readonly ports: readonly ContainerPort[];
  /** Readiness endpoint; the health port's `/readyz` when missing. */
  readonly readiness?: { readonly path: string; readonly port: string; readonly scheme: 'HTTPS' };
  /** terminationGracePeriodSeconds. */
  readonly graceSeconds?: number;
  /** Whether nodes keep it before other pods; true when missing. */
  readonly isCritical?: boolean;
  /** More fields of the pod, and what is mounted where. */
  readonly pod?: Readonly<Record<string, unknown>>;
  readonly volumeMounts?: readonly object[];
}

/** A named port of a container. */
export interface ContainerPort {
  readonly name: string;
  readonly containerPort: number;
  /** TCP when missing. */
  readonly protocol?: 'UDP' | 'TCP';
}

/** Port of probes and metrics. */
export const HEALTH: ContainerPort = { name: 'health', containerPort: HEALTH_PORT };

const KUBELET: ContainerPort = { name: 'kubelet', containerPort: 10_250 };
/** Additional workloads of a component's account. */
const RUNS: Partial<Record<ComponentAccount, string>> = { 'isthmus-virtual-node': 'virtual-node,kubelet-api' };

/** The arguments with which the image runs one component. */
function componentArguments(
  component: ComponentAccount, namespace: string, more: readonly string[] = [],
): readonly string[] {
  return [
    'run', '--components', RUNS[component] ?? component.replace('isthmus-', ''), '--namespace', namespace,
    '--health-port', String(HEALTH_PORT), ...more,
  ];
}

/** Deployment and PodDisruptionBudget of a component other than the webhook. */
export function componentManifests(
  component: ComponentAccount, { namespace, image }: WorkloadPlace,
): readonly KubernetesObject[] {
  const workload = {
    namespace, image, name: component, args: componentArguments(component, namespace), replicas: REPLICAS,
    ports: component in RUNS ? [KUBELET, HEALTH] : [HEALTH],
  };
  return [deployment(workload), disruptionBudget(workload)];
}

/** The webhook: Deployment, PodDisruptionBudget and the Service of the webhook configurations. */
export function webhookManifests({ namespace, image }: WorkloadPlace): readonly KubernetesObject[] {
  const name = WEBHOOK_SERVICE;
  const workload: Workload = {
    namespace, image, name, replicas: REPLICAS, ports: [{ name: 'webhook', containerPort: WEBHOOK_PORT }, HEALTH],
    args: componentArguments('isthmus-webhook', namespace, [
      '--webhook-port', String(WEBHOOK_PORT), '--webhook-drain-seconds', String(DRAIN_SECONDS),
    ]),
    readiness: { path: '/readyz', port: 'webhook', scheme: 'HTTPS' },
  };
  return [deployment(workload), disruptionBudget(workload), service(
    { namespace, name, port: WEBHOOK_SERVICE_PORT, targetPort: 'webhook', type: 'ClusterIP' },
  )];
}

/**
 * The page: its ServiceAccount has no permissions and no token, for viewers bring their own. It has the cluster's CA,
 * and a certificate that whoever installs it makes.
 */
export function uiManifests({ namespace, image }: WorkloadPlace): readonly KubernetesObject[] {
  const [name, port] = ['isthmus-ui', 'page'];
  const workload: Workload = {
    namespace, image, name, replicas: REPLICAS, ports: [{ name: port, containerPort: UI_PORT }, HEALTH],
    isCritical: false,
    args: [
      'ui-server', '--listen', hostPort(EVERY_ADDRESS, UI_PORT), '--tls-folder', TLS_FOLDER, '--health-port',
      String(HEALTH_PORT),
      '--host', `${name}.${namespace}.svc`,
    ],
    pod: {
      automountServiceAccountToken: false,
      volumes: [
        { name: 'tls', secret: { secretName: 'isthmus-ui-tls' } },
        { name: 'cluster-ca', configMap: { name: 'kube-root-ca.crt' } },
      ],
    },
    volumeMounts: [
      { name: 'tls', mountPath: TLS_FOLDER, readOnly: true },
      { name: 'cluster-ca', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount', readOnly: true },
    ],
  };
  return [
    { ...serviceAccount({ namespace, name }), automountServiceAccountToken: false } as KubernetesObject,
    deployment(workload), disruptionBudget(workload),
    service({ namespace, name, port: 443, targetPort: port, type: 'ClusterIP' }),
  ];
}

/** Deployment of a workload. */
export function deployment(
  { namespace, name, image, args, replicas, ports, readiness, graceSeconds = 30, isCritical = true, ...more }: Workload,
): KubernetesObject {
  const { pod, volumeMounts } = more;
  const labels = { ...PART_OF, [NAME_LABEL]: name };
  const probe = { httpGet: { path: '/healthz', port: HEALTH.name }, periodSeconds: 5, timeoutSeconds: 3 };
  const container = {
    name: 'isthmus', image, imagePullPolicy: 'IfNotPresent', args, ports,
    env: [{ name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }], // announced by virtual nodes
    startupProbe: { ...probe, periodSeconds: 2, failureThreshold: 60 }, // on a busy node
    livenessProbe: { ...probe, failureThreshold: 6 },
    readinessProbe: { ...probe, periodSeconds: 2, httpGet: readiness ?? { path: '/readyz', port: HEALTH.name } },
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '1Gi' } },
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
    ...(volumeMounts !== undefined && { volumeMounts }),
  };
  const spec = {
    serviceAccountName: name, ...(isCritical && { priorityClassName: PRIORITY_CLASS }),
    terminationGracePeriodSeconds: graceSeconds, containers: [container],
    securityContext:
      { runAsNonRoot: true, runAsUser: 65_532, runAsGroup: 65_532, seccompProfile: { type: 'RuntimeDefault' } },
    topologySpreadConstraints: ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map((topologyKey) => ({
      maxSkew: 1,
      topologyKey, whenUnsatisfiable: 'ScheduleAnyway', labelSelector: { matchLabels: { [NAME_LABEL]: name } },
    })),
    ...pod,
  };
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
  return {
    apiVersion: 'apps/v1', kind: 'Deployment', metadata: { namespace, name, labels },
    spec: {
      replicas, strategy, selector: { matchLabels: { [NAME_LABEL]: name } }, template: { metadata: { labels }, spec },
    },
  } as KubernetesObject;
}

/** Keeps one replica while nodes are drained. */
export function disruptionBudget({ namespace, name }: Pick<Workload, 'namespace' | 'name'>): KubernetesObject {
  return {
    apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { namespace, name, labels: PART_OF },
    spec: { minAvailable: 1, selector: { matchLabels: { [NAME_LABEL]: name } } },
  } as KubernetesObject;
}

/**
 * Lets the namespace have pods of Kubernetes' own priority classes, without a limit: GKE allows them outside of
 * kube-system only where a quota selects their class.
 */
export function criticalPodsQuota(namespace: string, priorityClass = PRIORITY_CLASS): KubernetesObject {
  const selected = { operator: 'In', scopeName: 'PriorityClass', values: [priorityClass] };
  return {
    apiVersion: 'v1', kind: 'ResourceQuota', metadata: { namespace, name: 'isthmus-critical-pods', labels: PART_OF },
    spec: { scopeSelector: { matchExpressions: [selected] } },
  } as KubernetesObject;
}

/** A Service for a workload. */
export interface Exposed {
  readonly namespace: string;
  readonly name: string;
  /** Name of the workload; that of the Service when missing. */
  readonly app?: string;
  readonly port: number;
  readonly targetPort: string;
  readonly type: 'LoadBalancer' | 'ClusterIP';
}

/** The Service. */
export function service({ namespace, name, app = name, port, targetPort, type }: Exposed): KubernetesObject {
  return {
    apiVersion: 'v1', kind: 'Service', metadata: { namespace, name, labels: PART_OF },
    spec: { type, selector: { [NAME_LABEL]: app }, ports: [{ name: targetPort, port, targetPort }] },
  } as KubernetesObject;
}

/** cert-manager's Issuer and Certificate for the webhook, where cert-manager issues that certificate. */
export function certManagerManifests(namespace: string): readonly KubernetesObject[] {
  const [issuer, name] = ['isthmus-selfsigned', WEBHOOK_SERVICE];
  const apiVersion = 'cert-manager.io/v1';
  const dnsNames = [`${name}.${namespace}.svc`, `${name}.${namespace}.svc.cluster.local`];
  return [
    {
      apiVersion, kind: 'Issuer', metadata: { namespace, name: issuer, labels: PART_OF }, spec: { selfSigned: {} },
    } as KubernetesObject,
    {
      apiVersion, kind: 'Certificate', metadata: { namespace, name, labels: PART_OF },
      spec: { secretName: GIVEN_CERTIFICATE_SECRET, dnsNames, issuerRef: { kind: 'Issuer', name: issuer } },
    } as KubernetesObject,
  ];
}

