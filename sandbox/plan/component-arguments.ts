// Command lines of a cluster's programs. Pure. They follow kubeadm's static pods (RBAC and Node authorization,
// aggregation, kubelet client certificate, token signing), except that etcd does not fsync and uses a Unix socket, and
// single instances run without leader election.
import { apiServiceAddress, clusterFile, type ClusterPlan, type ComponentName } from './cluster-plan.ts';

/**
 * Where etcd listens, relative to the cluster's folder, in which etcd and kube-apiserver run: no port, and owner only.
 */
const etcdSocket = 'unix://etcd.sock:0';
const etcdPeerSocket = 'unix://etcd-peer.sock:0';

/** The API server as a client of kubelets, the user that kubeadm gives it. */
export const kubeletClientName = 'kube-apiserver-kubelet-client';

/** The issuer of service account tokens, kubeadm's default. */
const serviceAccountIssuer = 'https://kubernetes.default.svc.cluster.local';

/** Nodes with this annotation are kwok's; virtual nodes are not. */
export const kwokNodeAnnotation = { key: 'kwok.x-k8s.io/node', value: 'fake' } as const;

/** How long certificates are valid: a sandbox does not live longer. */
const days = 365;

const pki = (plan: ClusterPlan, file: string): string => clusterFile(plan, 'pki', file);

function etcd(plan: ClusterPlan): readonly string[] {
  return [
    `--name=${plan.name}`,
    `--data-dir=${clusterFile(plan, 'etcd')}`,
    `--listen-client-urls=${etcdSocket}`,
    `--advertise-client-urls=${etcdSocket}`,
    `--listen-peer-urls=${etcdPeerSocket}`,
    `--initial-advertise-peer-urls=${etcdPeerSocket}`,
    `--initial-cluster=${plan.name}=${etcdPeerSocket}`,
    '--unsafe-no-fsync',
    `--quota-backend-bytes=${2 * 1024 ** 3}`,
    '--auto-compaction-mode=periodic',
    '--auto-compaction-retention=10m',
    '--log-level=warn',
  ];
}

function auditing(plan: ClusterPlan): readonly string[] {
  if (!plan.audit) return [];
  return [
    `--audit-policy-file=${clusterFile(plan, 'audit-policy.yaml')}`,
    `--audit-log-path=${clusterFile(plan, 'audit.log')}`,
    '--audit-log-mode=batch',
    '--audit-log-batch-max-size=200',
    '--audit-log-batch-max-wait=100ms',
    '--audit-log-batch-throttle-enable=false',
    '--audit-log-maxsize=0',
  ];
}

function identity(plan: ClusterPlan): readonly string[] {
  return [
    `--service-account-issuer=${serviceAccountIssuer}`,
    `--service-account-key-file=${pki(plan, 'service-account.pub')}`,
    `--service-account-signing-key-file=${pki(plan, 'service-account.key')}`,
    `--client-ca-file=${pki(plan, 'ca.crt')}`,
    `--kubelet-client-certificate=${pki(plan, 'kubelet-client.crt')}`,
    `--kubelet-client-key=${pki(plan, 'kubelet-client.key')}`,
    '--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname',
    `--requestheader-client-ca-file=${pki(plan, 'front-proxy-ca.crt')}`,
    '--requestheader-allowed-names=front-proxy-client',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-username-headers=X-Remote-User',
    `--proxy-client-cert-file=${pki(plan, 'front-proxy-client.crt')}`,
    `--proxy-client-key-file=${pki(plan, 'front-proxy-client.key')}`,
  ];
}

/**
 * Pods reach the API server through the Service `kubernetes`, whose Endpoints may not hold a loopback address. It
 * reaches them by their own addresses, since this machine has no kube-proxy.
 */
function reachability(plan: ClusterPlan): readonly string[] {
  return [plan.realNetwork === undefined ? '--endpoint-reconciler-type=none' : '--enable-aggregator-routing=true'];
}

function apiServer(plan: ClusterPlan): readonly string[] {
  return [
    `--etcd-servers=${etcdSocket}`,
    `--bind-address=${plan.address}`,
    `--advertise-address=${plan.address}`,
    ...reachability(plan),
    `--secure-port=${plan.ports.apiServer}`,
    `--tls-cert-file=${pki(plan, 'apiserver.crt')}`,
    `--tls-private-key-file=${pki(plan, 'apiserver.key')}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--allow-privileged=true',
    `--service-cluster-ip-range=${plan.serviceCidrs.join(',')}`,
    '--profiling=false',
    ...identity(plan),
    ...auditing(plan),
  ];
}

/**
 * Flags that kube-controller-manager and kube-scheduler share. They serve nothing, since nothing queries them: a server
 * watches the files of its certificates and CAs, each through one of the 128 inotify instances that Linux gives a user.
 */
function controller(plan: ClusterPlan, name: ComponentName, qps: number | undefined): readonly string[] {
  return [
    `--kubeconfig=${clusterFile(plan, `${name}.kubeconfig`)}`,
    '--secure-port=0',
    '--leader-elect=false',
    ...(qps === undefined ? [] : [`--kube-api-qps=${qps}`, `--kube-api-burst=${2 * qps}`]),
  ];
}

/**
 * Checks the types in admission policies and writes what it finds into their status, for people to read. Over ours that
 * is half of what the program does in a sandbox's first minute.
 */
const POLICY_CHECKER = 'validatingadmissionpolicy-status-controller';

function controllerManager(plan: ClusterPlan): readonly string[] {
  return [
    ...controller(plan, 'kube-controller-manager', plan.clientLimits.controllerManager),
    '--use-service-account-credentials=true',
    `--service-account-private-key-file=${pki(plan, 'service-account.key')}`,
    `--root-ca-file=${pki(plan, 'ca.crt')}`,
    ...(
      plan.signsCertificates
        ? [`--cluster-signing-cert-file=${pki(plan, 'ca.crt')}`, `--cluster-signing-key-file=${pki(plan, 'ca.key')}`]
        : []
    ),
    `--cluster-name=${plan.name}`,
    `--service-cluster-ip-range=${plan.serviceCidrs.join(',')}`,
    ...(
      plan.realNetwork === undefined
        ? [`--controllers=*,-${POLICY_CHECKER}`]
        : ['--node-monitor-grace-period=20s']
    ),
  ];
}

function kwok(plan: ClusterPlan): readonly string[] {
  return [
    `--kubeconfig=${clusterFile(plan, 'kwok.kubeconfig')}`,
    `--config=${clusterFile(plan, 'kwok.yaml')}`,
    `--cidr=${plan.podCidrs.join(',')}`,
    '--node-ip=127.0.0.1',
    `--node-port=${plan.ports.kubelet}`,
    `--server-address=127.0.0.1:${plan.ports.kwok}`, // by default it would serve exec on every interface
    `--tls-cert-file=${pki(plan, 'local-server.crt')}`,
    `--tls-private-key-file=${pki(plan, 'local-server.key')}`,
    `--manage-nodes-with-annotation-selector=${kwokNodeAnnotation.key}=${kwokNodeAnnotation.value}`,
    '--node-lease-duration-seconds=40',
  ];
}

const argumentsOf: Readonly<Record<ComponentName, (plan: ClusterPlan) => readonly string[]>> = {
  etcd,
  'kube-apiserver': apiServer,
  'kube-controller-manager': controllerManager,
  'kube-scheduler': (plan) => controller(plan, 'kube-scheduler', plan.clientLimits.scheduler),
  kwok,
};

/** The arguments of one program of a cluster, without the program itself. */
export function componentArguments(plan: ClusterPlan, name: ComponentName): readonly string[] {
  return argumentsOf[name](plan);
}

/** What a certificate of a real node says. */
interface NodeCertificate {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly days: number;
  readonly usages: readonly ('client' | 'server')[];
}

/** The certificates of a cluster's real nodes: as a client and as a server for each, and one for all kube-proxies. */
function nodeCertificates(plan: ClusterPlan): Readonly<Record<string, NodeCertificate>> {
  const nodes = plan.realNetwork?.nodes ?? [];
  const pairs = nodes.flatMap(({ name, addresses }) => {
    const subject = { commonName: `system:node:${name}`, organizations: ['system:nodes'], days };
    return [
      [name, { ...subject, usages: ['client'] }],
      [`${name}-server`, { ...subject, dnsNames: [name], ipAddresses: addresses, usages: ['server'] }],
    ] as const;
  });
  if (pairs.length === 0) return {};
  return { ...Object.fromEntries(pairs), 'kube-proxy': { commonName: 'system:kube-proxy', usages: ['client'], days } };
}

/** The certificates one cluster needs: file name without ending → what it says. */
export function certificateRequests(plan: ClusterPlan) {
  const masters = ['system:masters'];
  const local = { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1', '::1'] };
  const services =
    ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'kubernetes.default.svc.cluster.local'];
  const client = { usages: ['client'], days } as const;
  const server = { usages: ['server'], days } as const;
  return {
    apiserver: {
      commonName: 'kube-apiserver',
      dnsNames: [...services, ...local.dnsNames],
      ipAddresses: [...new Set([...local.ipAddresses, plan.address, apiServiceAddress(plan)])],
      ...server,
    },
    'local-server': { commonName: 'sandbox', ...local, ...server },
    'kubelet-client': { commonName: kubeletClientName, organizations: masters, ...client },
    'kube-controller-manager': { commonName: 'system:kube-controller-manager', ...client },
    'kube-scheduler': { commonName: 'system:kube-scheduler', ...client },
    kwok: { commonName: 'kwok', organizations: masters, ...client },
    admin: { commonName: 'kubernetes-admin', organizations: masters, ...client },
    ...nodeCertificates(plan),
  };
}
