// metrics-server as its manifests install it, for a sandbox cluster: its own program, account and permissions. Kubelets
// are asked without a look at their certificates (`--kubelet-insecure-tls`), for those of a sandbox are self-signed.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import { CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS, SERVICE_ACCOUNTS } from '../../../api/resource-types.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { rule } from '../../../model/access/rbac-objects.ts';
import { tokenKubeconfig } from '../../../peering/access/target-access.ts';
import { startComponent, type ComponentProcess } from '../../../sandbox/processes/component-process.ts';
import type { Cluster } from '../../../sandbox/control-plane/control-plane.ts';
import { freePorts } from '../../../sandbox/processes/free-ports.ts';
import { registerMetricsServer } from '../worlds/pod-metrics-server.ts';

const ACCOUNT = { namespace: 'kube-system', name: 'metrics-server' } as const;

/** Where it runs, and what. */
export interface MetricsServerOptions {
  readonly program: string;
  readonly cluster: Cluster;
  readonly client: ClusterClient;
  /** PEM of the authority of the API server's certificate. */
  readonly certificateAuthority: string;
  /** An empty folder. */
  readonly folder: string;
}

/** Starts it where the API server listens; resolves once that takes it for available. */
export async function startMetricsServer(
  { program, cluster, client, certificateAuthority, folder }: MetricsServerOptions, signal: AbortSignal,
): Promise<ComponentProcess> {
  await grant(client, signal);
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 86_400 } };
  const { status } = await client.post<{ readonly status: { readonly token: string } }>(
    SERVICE_ACCOUNTS, { ...ACCOUNT, subresource: 'token' }, request, signal,
  );
  const kubeconfig = join(folder, 'metrics-server.kubeconfig');
  await writeFile(
    kubeconfig,
    tokenKubeconfig(
      { server: cluster.server, certificateAuthority, token: status.token, cluster: cluster.name, user: ACCOUNT.name },
    ),
    { mode: 0o600 },
  );
  const { hostname } = new URL(cluster.server);
  const [port = 0] = await freePorts(1);
  const started = await startComponent({
    name: `${cluster.name}/metrics-server`,
    command: [
      program, `--secure-port=${port}`, `--bind-address=${hostname}`, `--cert-dir=${folder}`, ...[
        'kubeconfig', 'authentication-kubeconfig', 'authorization-kubeconfig',
      ].map((flag) => `--${flag}=${kubeconfig}`),
      '--kubelet-insecure-tls', '--kubelet-use-node-status-port',
      '--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname', '--metric-resolution=15s',
    ],
    cwd: folder,
    logPath: join(folder, 'metrics-server.log'),
  });
  await registerMetricsServer(client, { host: hostname === '127.0.0.1' ? 'localhost' : hostname, port }, signal);
  return started;
}

async function grant(client: ClusterClient, signal: AbortSignal): Promise<void> {
  const apply = (type: Parameters<ClusterClient['apply']>[0], object: KubernetesObject) =>
    client.apply(type, object, 'isthmus-test', signal);
  const subjects = [{ kind: 'ServiceAccount', ...ACCOUNT }];
  const bind = (name: string, role: string) => ({
    metadata: { name }, roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role }, subjects,
  }) as KubernetesObject;
  await apply(SERVICE_ACCOUNTS, { metadata: ACCOUNT });
  await apply(
    CLUSTER_ROLES,
    {
      metadata: { name: 'system:metrics-server' },
      rules: [rule('', ['nodes/metrics'], ['get']), rule('', ['pods', 'nodes'], ['get', 'list', 'watch'])],
    } as KubernetesObject,
  );
  await apply(CLUSTER_ROLE_BINDINGS, bind('system:metrics-server', 'system:metrics-server'));
  await apply(CLUSTER_ROLE_BINDINGS, bind('metrics-server:system:auth-delegator', 'system:auth-delegator'));
  const roleRef =
    { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'extension-apiserver-authentication-reader' };
  await apply(
    ROLE_BINDINGS,
    { metadata: { ...ACCOUNT, name: 'metrics-server-auth-reader' }, roleRef, subjects } as KubernetesObject,
  );
}
