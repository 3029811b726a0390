// The sandbox of a checkout, as attackers see it: API servers over plain HTTP, identities that were found, the command
// line. The administrator's calls only set the scene and look at what came of it.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readKubeconfig } from '../../../kubernetes/credentials/kubeconfig.ts';
import { eventually } from '../../support/history/eventually.ts';
import { RawApiClient } from '../../support/attackers/raw-api-client.ts';
import { stopWithProcess } from '../../support/processes/stopped-with-process.ts';
import { Checkout, type Running } from './checkout.ts';
import { INSTALLED, openCluster, path, type AttackedCluster, type Thing } from './clusters.ts';

const PARENT = 'multicluster.admiralty.io/parent-uid';
/** Permissions of a tenant who has been given a namespace with all that Isthmus has for users in it. */
const TENANT_RULES = [
  {
    apiGroups: ['isthmus.dev', 'multicluster.admiralty.io'],
    resources: ['placementpolicies', 'targets'],
    verbs: ['*'],
  },
];

/** The sandbox; stop it in the end. */
export class Attacked {
  readonly checkout: Checkout;
  readonly source: AttackedCluster;
  readonly targets: readonly [AttackedCluster, AttackedCluster];
  /** UID of the source's kube-system Namespace. */
  readonly sourceId: string;
  readonly #stop: () => Promise<void>;
  readonly #clients: RawApiClient[] = [];
  #running: Running | undefined;

  private constructor(
    checkout: Checkout,
    [source, ...targets]: readonly AttackedCluster[],
    sourceId: string,
    stop: () => Promise<void>,
  ) {
    const [first, second] = targets;
    if (source === undefined || first === undefined || second === undefined)
      throw new Error('the sandbox lacks a cluster');
    [this.checkout, this.source, this.targets, this.sourceId, this.#stop] = [
      checkout,
      source,
      [first, second],
      sourceId,
      stop,
    ];
  }

  /** Starts the sandbox of the checkout in a folder, in an empty folder of its own. */
  static async start(folder: string): Promise<Attacked> {
    const checkout = new Checkout(folder);
    const dir = await mkdtemp(join(tmpdir(), 'isthmus-attacked-'));
    const sandbox = checkout.start(
      'sandbox',
      'up',
      '--targets',
      '2',
      '--nodes',
      '2',
      '--dir',
      join(dir, 'sandbox'),
      '--json',
    );
    const stop = async (): Promise<void> => {
      await sandbox.stop();
      await rm(dir, { recursive: true, force: true });
    };
    stopWithProcess(stop);
    return Attacked.attach(checkout, await sandbox.firstLine(), stop).catch(async (error: unknown) => {
      await stop();
      throw error;
    });
  }

  /** Takes a sandbox as it says it is. */
  static async attach(checkout: Checkout, text: string, stop: () => Promise<void>): Promise<Attacked> {
    const { source, targets } = JSON.parse(text) as { readonly source: string; readonly targets: readonly string[] };
    const clusters = await Promise.all([source, ...targets].map(openCluster));
    const { metadata } = await clusters[0]!.admin.json<Thing>({
      method: 'GET',
      path: '/api/v1/namespaces/kube-system',
    });
    return new Attacked(checkout, clusters, metadata.uid, stop);
  }

  /** Ends it all. */
  async stop(): Promise<void> {
    await Promise.all([...this.#clients, ...this.clusters.map(({ admin }) => admin)].map((client) => client.close()));
    await this.#running?.stop();
    await this.#stop();
  }

  /** The source first. */
  get clusters(): readonly AttackedCluster[] {
    return [this.source, ...this.targets];
  }

  /** A client with a token. */
  caller({ connection }: AttackedCluster, token: string): RawApiClient {
    const client = new RawApiClient(connection, token);
    this.#clients.push(client);
    return client;
  }

  /** A client as a ServiceAccount, by a token for an hour. */
  async account(cluster: AttackedCluster, namespace: string, name: string): Promise<RawApiClient> {
    const request = {
      method: 'POST',
      path: path('api/v1', 'serviceaccounts', namespace, `${name}/token`),
      body: { spec: { expirationSeconds: 3_600 } },
    };
    const { status } = await cluster.admin.json<{ readonly status: { readonly token: string } }>(request);
    return this.caller(cluster, status.token);
  }

  /** The source, with the identity that peering has given it in a target. */
  async sourceIn(target: AttackedCluster): Promise<RawApiClient> {
    const { data } = await this.source.admin.json<{ readonly data: { readonly config: string } }>({
      method: 'GET',
      path: path('api/v1', 'secrets', INSTALLED, `${target.name}-kubeconfig`),
    });
    const { credentials } = await readKubeconfig({
      text: Buffer.from(data.config, 'base64').toString(),
      author: 'administrator',
    });
    if (credentials.kind !== 'token') throw new Error('the source has no token');
    return this.caller(target, credentials.token);
  }

  /** Makes a namespace everywhere, whose pods may be elected. `labels` are those at the source. */
  async namespace(
    name: string,
    labels: Readonly<Record<string, string>> = { 'multicluster-scheduler': 'enabled' },
  ): Promise<void> {
    for (const { admin } of this.clusters)
      await admin.json({
        method: 'POST',
        path: '/api/v1/namespaces',
        body: { metadata: { name, ...(admin === this.source.admin && { labels }) } },
      });
    const account = { method: 'GET', path: path('api/v1', 'serviceaccounts', name, 'default') };
    for (const { admin } of this.clusters) await eventually(`the account of ${name}`, () => admin.json<Thing>(account));
  }

  /** A tenant with `edit` in a namespace, and with what Isthmus has for users. */
  async tenant(cluster: AttackedCluster, namespace: string, name = 'tenant'): Promise<RawApiClient> {
    const subjects = [{ kind: 'ServiceAccount', namespace, name }];
    const roleRef = (kind: string, of: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name: of });
    const rbac = 'apis/rbac.authorization.k8s.io/v1';
    const make = (where: string, body: object): Promise<unknown> =>
      cluster.admin.json({ method: 'POST', path: where, body });
    await make(path('api/v1', 'serviceaccounts', namespace), { metadata: { name } });
    await make(path(rbac, 'roles', namespace), { metadata: { name }, rules: TENANT_RULES });
    await make(path(rbac, 'rolebindings', namespace), { metadata: { name }, subjects, roleRef: roleRef('Role', name) });
    await make(path(rbac, 'rolebindings', namespace), {
      metadata: { name: `${name}-edit` },
      subjects,
      roleRef: roleRef('ClusterRole', 'edit'),
    });
    return this.account(cluster, namespace, name);
  }

  /** The delegates of a proxy in both targets. */
  async delegatesOf({ metadata: { namespace, uid } }: Thing): Promise<readonly Thing[]> {
    const call = {
      method: 'GET',
      path: `${path('api/v1', 'pods', namespace)}?labelSelector=${encodeURIComponent(`${PARENT}=${uid}`)}`,
    };
    return (
      await Promise.all(this.targets.map(({ admin }) => admin.json<{ readonly items: readonly Thing[] }>(call)))
    ).flatMap(({ items }) => items);
  }

  /** The one delegate of a proxy, as soon as it is there. */
  delegateOf(proxy: Thing): Promise<Thing> {
    return eventually(`the delegate of ${proxy.metadata.name}`, async () => (await this.delegatesOf(proxy))[0], 30_000);
  }

  /** Runs the command line against a cluster. */
  run({ kubeconfig }: AttackedCluster, ...args: readonly string[]): ReturnType<Checkout['run']> {
    return this.checkout.run(...args, '--kubeconfig', kubeconfig);
  }

  /** The process of Isthmus that the sandbox has for a cluster; NaN when there is none. */
  async processOf({ folder }: AttackedCluster): Promise<number> {
    const table = await new Promise<string>((resolve, reject) => {
      execFile('ps', ['-eo', 'pid,args'], (error, stdout) => (error === null ? resolve(stdout) : reject(error)));
    });
    const line = table
      .split('\n')
      .find((each) => each.includes(`main.js run --kubeconfig ${folder}/isthmus.kubeconfig`));
    return Number(line?.trim().split(' ')[0]);
  }

  /**
   * Has components of a cluster run with the flags that users have, in the place of the sandbox's process, which has
   * some more; until the end.
   */
  async runAsUsersDo(cluster: AttackedCluster, components: string): Promise<void> {
    if (this.#running !== undefined) return;
    process.kill(await this.processOf(cluster), 'SIGTERM');
    await eventually('the process ends', async () => Number.isNaN(await this.processOf(cluster)));
    this.#running = this.checkout.start(
      'run',
      '--kubeconfig',
      join(cluster.folder, 'isthmus.kubeconfig'),
      '--components',
      components,
    );
  }
}
