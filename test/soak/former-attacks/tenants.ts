// Finding 9: where a tenant's Target leads the processes of Isthmus, what it is told of that, and how much they take
// from there. The components run with the flags that users have; the sandbox's own may be let at loopback addresses,
// so only what is about contents is tried with those.
import { eventually } from '../../support/history/eventually.ts';
import { certificatesOfLoopback, HostileServer, tenantKubeconfig } from '../../support/attackers/hostile-api-server.ts';
import type { RawApiClient } from '../../support/attackers/raw-api-client.ts';
import { stopped, through, type Attack, type Outcome } from './attack.ts';
import type { Attacked } from './attacked.ts';
import { path, type AttackedCluster, type Thing } from './clusters.ts';

const TARGETS = 'apis/multicluster.admiralty.io/v1alpha1';

type Conditions = readonly {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}[];

/**
 * Writes a Target and its Secret as the tenant; gives the text of its conditions, once it has any but that the Secret
 * is missing.
 */
export async function follow(
  tenant: RawApiClient,
  namespace: string,
  name: string,
  kubeconfig: string,
): Promise<Conditions> {
  await tenant.json({
    method: 'POST',
    path: path('api/v1', 'secrets', namespace),
    body: { metadata: { name }, data: { config: Buffer.from(kubeconfig).toString('base64') } },
  });
  const body = {
    apiVersion: 'multicluster.admiralty.io/v1alpha1',
    kind: 'Target',
    metadata: { name },
    spec: { kubeconfigSecret: { name } },
  };
  await tenant.json({ method: 'POST', path: path(TARGETS, 'targets', namespace), body });
  const look = async (): Promise<Conditions | undefined> => {
    const { status } = await tenant.json<Thing>({ method: 'GET', path: path(TARGETS, 'targets', namespace, name) });
    const { conditions = [] } = (status ?? {}) as { readonly conditions?: Conditions };
    return conditions.some(({ type, reason }) => type === 'Ready' && !['SecretMissing', 'Connecting'].includes(reason))
      ? conditions
      : undefined;
  };
  return eventually(`a status of ${name}`, look, 90_000);
}

export const readyOf = (conditions: Conditions): string =>
  conditions
    .filter(({ type }) => type === 'Ready')
    .map(({ status, reason, message }) => (status === 'True' ? 'Ready' : `${reason}: ${message}`))
    .join();

/** A tenant of a cluster whose components run as users have them. */
async function tenantOf(
  attacked: Attacked,
  namespace: string,
): Promise<{ readonly tenant: RawApiClient; readonly cluster: AttackedCluster }> {
  const [, cluster] = attacked.targets;
  await attacked.namespace(namespace);
  await letReadSecrets(cluster, namespace);
  await attacked.runAsUsersDo(cluster, 'virtual-node,scheduler,delegate-controller');
  return { cluster, tenant: await attacked.tenant(cluster, namespace) };
}

/** As peering does for Targets that it makes. */
export function letReadSecrets({ admin }: AttackedCluster, namespace: string): Promise<unknown> {
  const subjects = [
    { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'system:serviceaccounts:isthmus-system' },
  ];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'isthmus-target-secret-reader' };
  return admin.json({
    method: 'POST',
    path: path('apis/rbac.authorization.k8s.io/v1', 'rolebindings', namespace),
    body: { metadata: { name: 'readers' }, subjects, roleRef },
  });
}

/** A server of the tenant's at 127.0.0.1, which a kubeconfig names by `host`. */
async function dialLoopback(attacked: Attacked, namespace: string, host: string): Promise<Outcome> {
  const { tenant } = await tenantOf(attacked, namespace);
  const certificates = await certificatesOfLoopback();
  const server = await HostileServer.http(certificates, (_request, response) => void response.writeHead(404).end('{}'));
  try {
    const conditions = await follow(
      tenant,
      namespace,
      'loopback',
      tenantKubeconfig(`https://${host}:${server.port}`, certificates),
    );
    const got = `${server.connections} connections; ${readyOf(conditions).slice(0, 130)}`;
    return server.connections > 0 ? through(got) : stopped(got);
  } finally {
    server.stop();
  }
}

/** With an account of the tenant's own, so what the API server says is what it says to that. */
/** Addresses that carriers share, where a cloud keeps services of its own; nothing answers there. */
async function dialSharedRange(attacked: Attacked): Promise<Outcome> {
  const { tenant } = await tenantOf(attacked, 'tenant-shared');
  const kubeconfig = tenantKubeconfig('https://100.64.0.1:6443', await certificatesOfLoopback());
  const got = readyOf(await follow(tenant, 'tenant-shared', 'shared', kubeconfig));
  return got.startsWith('KubeconfigRefused')
    ? stopped(got.slice(0, 150))
    : through(`it is dialled; ${got.slice(0, 130)}`);
}

async function dialOwnServer(attacked: Attacked): Promise<Outcome> {
  const {
    tenant,
    cluster: {
      connection: { server, certificateAuthority = '' },
    },
  } = await tenantOf(attacked, 'tenant-own');
  const got = readyOf(
    await follow(tenant, 'tenant-own', 'own', tenantKubeconfig(server.origin, { authority: certificateAuthority })),
  );
  return got.startsWith('KubeconfigRefused')
    ? stopped(got.slice(0, 150))
    : through(`the API server is asked; ${got.slice(0, 130)}`);
}

/** What a tenant is told of a closed port and of open ones must be one text. */
async function scanPorts(attacked: Attacked): Promise<Outcome> {
  const { tenant } = await tenantOf(attacked, 'tenant-scan');
  const certificates = await certificatesOfLoopback();
  const servers = [
    await HostileServer.tcp(() => undefined),
    await HostileServer.tcp((socket) => void socket.end('SSH-2.0-x\r\n')),
    await HostileServer.tcp((socket) => void socket.destroy()),
    await HostileServer.http(certificates, (_request, response) => void response.writeHead(404).end('<html>')),
  ];
  const ports = servers.map(({ port }) => port);
  servers[0]!.stop();
  try {
    const told = await Promise.all(
      ports.map((port, index) =>
        follow(tenant, 'tenant-scan', `port-${index}`, tenantKubeconfig(`https://127.0.0.1:${port}`, certificates)),
      ),
    );
    const texts = [
      ...new Set(told.map((conditions, index) => readyOf(conditions).replaceAll(String(ports[index]), 'PORT'))),
    ];
    const shown = texts.map((text) => text.slice(0, 90)).join(' | ');
    const number = texts.length === 1 ? 'one text' : `${texts.length} texts`;
    const got = `${number} for a closed port, SSH, a reset and a web server: ${shown}`;
    return texts.length > 1 ? through(got) : stopped(got);
  } finally {
    for (const server of servers.slice(1)) server.stop();
  }
}

/** These attacks. */
export const TENANT_ATTACKS: readonly Attack[] = [
  {
    finding: 9,
    what: "a tenant's Target leads to a server at a loopback address",
    make: (attacked) => dialLoopback(attacked, 'tenant-loopback', '127.0.0.1'),
  },
  {
    finding: 9,
    what: "a tenant's Target leads to a name that resolves to a loopback address",
    make: (attacked) => dialLoopback(attacked, 'tenant-name', 'localhost'),
  },
  { finding: 9, what: "a tenant's Target leads to an address of 100.64.0.0/10", make: dialSharedRange },
  { finding: 9, what: "a tenant's Target leads to the source's own API server", make: dialOwnServer },
  { finding: 9, what: "a tenant's Targets lead to four ports, closed and open", make: scanPorts },
];
