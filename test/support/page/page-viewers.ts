// Viewers of the page on a real cluster: users with a token and permissions of their own, and a page served for each.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { DEFAULT_INSTALL_NAMESPACE } from '../../../api/objects/keys.ts';
import { CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS, SERVICE_ACCOUNTS } from '../../../api/resource-types.ts';
import { ClusterViewers } from '../../../dashboard/cluster-viewers.ts';
import { Simulations } from '../../../dashboard/observe/simulations.ts';
import { Screens } from '../../../dashboard/screens.ts';
import type { StreamTimes } from '../../../dashboard/server/event-stream.ts';
import { startPageServer } from '../../../dashboard/server/page-server.ts';
import { Session } from '../../../dashboard/server/session.ts';
import type { AnyScreen } from '../../../dashboard/wire/screens.ts';
import { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import { requestToken } from '../../../kubernetes/client/service-account-token.ts';
import { Transport } from '../../../kubernetes/http/transport.ts';
import { createLogger } from '../../../process/logger.ts';
import { tokenKubeconfig } from '../../../peering/access/target-access.ts';
import { openScreen, signIn } from './scripted-screens.ts';

/** A user of a cluster: a ServiceAccount with a token. */
export interface User {
  readonly namespace: string;
  readonly name: string;
}

/** Makes the ServiceAccount. Returns the path of a kubeconfig with its token, in the folder. */
export async function makeUser(
  client: ClusterClient, user: User, { admin, dir }: { readonly admin: string; readonly dir: string },
  signal: AbortSignal,
): Promise<string> {
  await client.create(SERVICE_ACCOUNTS, { metadata: { ...user } });
  const { token } = await requestToken(client, { ...user, seconds: 3_600 }, signal);
  const { connection } = await openCluster({ kubeconfigPath: admin, userAgent: 'isthmus-test' });
  const file = join(dir, `${user.name}.yaml`);
  await writeFile(file, tokenKubeconfig({
    server: connection.server.href, certificateAuthority: connection.certificateAuthority, token, cluster: 'source',
    user: user.name, namespace: user.namespace,
  }));
  return file;
}

/** Binds a ClusterRole to the user, in its own namespace or, when `isForAll`, in the whole cluster. */
export async function bindRole(
  client: ClusterClient, { namespace, name }: User, role: string, isForAll = false,
): Promise<void> {
  await client.create(isForAll ? CLUSTER_ROLE_BINDINGS : ROLE_BINDINGS, {
    metadata: { ...(isForAll ? {} : { namespace }), name: `${name}-${role}` },
    roleRef: { apiGroup: CLUSTER_ROLE_BINDINGS.group, kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'ServiceAccount', namespace, name }],
  } as never);
}

/** Takes it back. */
export async function unbindRole(
  client: ClusterClient, { namespace, name }: User, role: string, isForAll = false,
): Promise<void> {
  const at = { ...(isForAll ? {} : { namespace }), name: `${name}-${role}` };
  await client.delete(isForAll ? CLUSTER_ROLE_BINDINGS : ROLE_BINDINGS, at);
}

/** A page that is served for one viewer. */
export interface Viewer {
  readonly origin: string;
  readonly token: string;
  /** The cluster as this viewer sees it with kubectl. */
  readonly client: ClusterClient;
  stop(): Promise<void>;
}

/** How pages of tests differ from those of `isthmus ui`. */
export interface ViewerOptions {
  readonly signal: AbortSignal;
  /** Time between reviews of permissions in ms; 300 when missing. */
  readonly reviewMs?: number;
  readonly times?: StreamTimes;
}

/** Serves the page for whoever the kubeconfig is of. */
export async function servePageFor(
  kubeconfig: string, { signal, reviewMs = 300, times }: ViewerOptions,
): Promise<Viewer> {
  const { client } = await openCluster({ kubeconfigPath: kubeconfig, userAgent: 'isthmus-test' });
  const flags = { kubeconfig, installNamespace: DEFAULT_INSTALL_NAMESPACE };
  const screens = new Screens({ client, flags, signal, simulate: new Simulations().of('viewer'), reviewMs });
  const [key, token] = [`key-of-${Buffer.from(kubeconfig).toString('hex')}`, `token-${Math.random()}`];
  const server = await startPageServer(
    { port: 0, access: new Session({ key, token }, screens), ...(times !== undefined && { times }) },
  );
  const origin = `http://127.0.0.1:${server.port}`;
  return {
    origin, client, token: await signIn({ origin, key }),
    stop: async () => {
      await server.close();
      await screens.close();
      await client.transport.close();
    },
  };
}

/** A page of a cluster, for whoever has a token of it. */
export interface SharedPage {
  readonly origin: string;
  /** What the page is told of the permissions of whoever has the token. */
  readonly viewers: ClusterViewers;
  stop(): Promise<void>;
}

/** Serves it for the cluster of an administrator's kubeconfig, whose credentials it does not use. */
export async function serveSharedPage(
  admin: string, { signal, reviewMs = 300, times }: ViewerOptions,
): Promise<SharedPage> {
  const { client, connection: { server, insecure, certificateAuthority } } =
    await openCluster({ kubeconfigPath: admin, userAgent: 'isthmus-test' });
  await client.transport.close();
  const authority = certificateAuthority === undefined ? {} : { certificateAuthority };
  const viewers = new ClusterViewers({
    open: async (token) => new ClusterClient(
      new Transport({ server, insecure, ...authority, credentials: { kind: 'token', token } }, 'isthmus-test'),
    ),
    signal, reviewMs, logger: createLogger('silent'),
  });
  const page = await startPageServer({ port: 0, access: viewers, ...(times !== undefined && { times }) });
  return {
    origin: `http://127.0.0.1:${page.port}`, viewers,
    stop: async () => {
      await page.close();
      await viewers.close();
    },
  };
}

/** The token in a kubeconfig of {@link makeUser}. */
export async function tokenIn(kubeconfig: string): Promise<string> {
  const { users } = parse(await readFile(kubeconfig, 'utf8')) as {
    readonly users: readonly [{ readonly user: { readonly token: string } }]
  };
  return users[0].user.token;
}

/** How long a screen is waited for, in ms. */
const SHOWN_MS = 60_000;

/** The first screen that is as wanted, and all that was sent until then. Rejects with the last one after `limitMs`. */
export async function shownTo<S extends AnyScreen>(
  { origin, token }: Pick<Viewer, 'origin' | 'token'>, address: string,
  isWanted: (screen: S) => boolean = () => true, limitMs = SHOWN_MS,
): Promise<{ readonly screen: S; readonly text: string }> {
  const stream = await openScreen({ origin }, token, address);
  const limit = setTimeout(() => stream.end(), limitMs);
  try {
    const screen = (await stream.until((each) => isWanted(each as S))) as S;
    return { screen, text: stream.text };
  } finally {
    clearTimeout(limit);
    stream.end();
  }
}
