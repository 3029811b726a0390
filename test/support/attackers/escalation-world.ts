// A source and a target with canaries in them, and a token of each identity that Isthmus makes there, and of a user
// with the permissions of a tenant.
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ClusterSource } from '../../../api/kinds/cluster-source.ts';
import type { KubernetesObject, Secret } from '../../../api/objects/core.ts';
import { CLUSTER_SOURCES, NAMESPACES, ROLE_BINDINGS, SECRETS, SERVICE_ACCOUNTS } from '../../../api/resource-types.ts';
import { pollUntil } from '../../../cli/clusters/poll-until.ts';
import { installInto } from '../../../cli/install/install.ts';
import { inviteSource } from '../../../cli/join/invite.ts';
import { joinTarget } from '../../../cli/join/join.ts';
import { peerClusters } from '../../../cli/join/peer-clusters.ts';
import { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { EventRecorder } from '../../../kubernetes/controller/event-recorder.ts';
import { readKubeconfig } from '../../../kubernetes/credentials/kubeconfig.ts';
import { openCluster, type OpenCluster } from '../../../kubernetes/client/open-cluster.ts';
import { requestToken } from '../../../kubernetes/client/service-account-token.ts';
import { keyNamespace } from '../../../model/access/key-namespace.ts';
import { readClusterId } from '../../../kubernetes/client/cluster-id.ts';
import { Transport } from '../../../kubernetes/http/transport.ts';
import { startJoining } from '../../../peering/invitation/join-controller.ts';
import { startSources } from '../../../peering/identity/source-controller.ts';
import { sourceAccount, tokenKubeconfig } from '../../../peering/access/target-access.ts';
import { unverifiedData } from '../../../process/crypto/signed-token.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { administratorObjects, canariesOf, ADMINISTRATOR } from './escalation-canaries.ts';
import { SILENT } from '../doubles/scripted-api-server.ts';
import { startTestSandbox } from '../processes/stopped-with-process.ts';

const installNamespace = 'isthmus-system';
const POLLING = { forMs: 60_000, everyMs: 50 };
/** One that sources may use, one that says nothing, one of a tenant. */
const NAMESPACES_OF_USERS: Readonly<Record<string, Readonly<Record<string, string>>>> =
  { opened: { 'isthmus.dev/sources': 'all' }, stranger: {}, 'team-a': {} };
/** Namespaces in which everybody tries. */
export const PLACES =
  ['kube-system', installNamespace, keyNamespace(installNamespace), ...Object.keys(NAMESPACES_OF_USERS)];

/** Who tries. */
export interface Identity {
  /** As `a peered source`. */
  readonly who: string;
  readonly cluster: OpenCluster;
  readonly token: string;
  readonly account: { readonly namespace: string; readonly name: string };
  readonly clusterId?: string;
}

/** The world. Stop it in the end. */
export class EscalationWorld {
  readonly #stopped = new AbortController();
  readonly #opened: ClusterClient[] = [];
  readonly #sandbox: Sandbox;
  readonly source: OpenCluster;
  readonly target: OpenCluster;

  private constructor(sandbox: Sandbox, source: OpenCluster, target: OpenCluster) {
    this.#sandbox = sandbox;
    [this.source, this.target] = [source, target];
  }

  /** Starts it, with Isthmus installed in both clusters and its peering at work in the target. */
  static async start(): Promise<EscalationWorld> {
    const dir = await mkdtemp(join(tmpdir(), 'isthmus-escalation-'));
    const sandbox =
      await startTestSandbox({ dir, targets: 1, nodes: 0, gpus: 0, audit: false }, AbortSignal.timeout(120_000));
    const [source, target] = await Promise.all(
      sandbox.clusters.map(({ kubeconfigPath }) => openCluster({ kubeconfigPath, userAgent: 'isthmus-test' })),
    );
    const world = new EscalationWorld(sandbox, source!, target!);
    await Promise.all([world.#prepare(world.source, 'source'), world.#prepare(world.target, 'target')]);
    return world;
  }

  get #quiet() {
    return { tell: () => undefined, signal: this.#stopped.signal };
  }

  async #prepare(cluster: OpenCluster, role: 'source' | 'target'): Promise<void> {
    const { client } = cluster;
    await installInto(client, { installNamespace, role }, this.#quiet);
    for (const [name, labels] of Object.entries(NAMESPACES_OF_USERS)) {
      await client.apply(NAMESPACES, { metadata: { name, labels } }, 'isthmus-test');
    }
    for (const object of [...PLACES.flatMap(canariesOf), ...administratorObjects()]) await this.#plant(client, object);
    const isFilled = async (): Promise<Secret | undefined> => {
      const secret: Secret = await client.get(SECRETS, { namespace: 'kube-system', name: ADMINISTRATOR });
      return secret.data?.['token'] === undefined ? undefined : secret;
    };
    if ((await pollUntil(isFilled, POLLING, this.#stopped.signal)) === undefined) {
      throw new Error('the administrator has no token');
    }
  }

  async #plant(client: ClusterClient, object: KubernetesObject): Promise<void> {
    const { apiVersion = '', kind = '', metadata } = object;
    const path =
      `${apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`}${metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`}/${kind.toLowerCase()}${kind === 'Ingress' ? 'es' : 's'}/${metadata.name}`;
    await client.transport.call({
      method: 'PATCH', path: `${path}?fieldManager=isthmus-test&force=true`,
      contentType: 'application/apply-patch+yaml', body: object,
    });
  }

  /** All of them; sources are made here. */
  async identities(): Promise<readonly Identity[]> {
    const peering = await this.#clientAs(this.target, { namespace: installNamespace, name: 'isthmus-peering' });
    const { signal } = this.#stopped;
    const events = new EventRecorder({ client: peering, controller: 'isthmus.dev/peering', logger: SILENT });
    void events.run(signal);
    startSources({ client: peering, installNamespace, logger: SILENT }, signal);
    startJoining(
      {
        client: peering, clusterId: await readClusterId(this.target.client, signal), installNamespace, events,
        logger: SILENT,
      },
      signal,
    );
    return [
      ...(await this.#sources()), await this.#tenant(), ...(await this.#components(this.target, 'in a target')),
      ...(await this.#components(this.source, 'in a source')),
    ];
  }

  /** One joins before another is peered: an invitation lets in no cluster that is there already. */
  async #sources(): Promise<readonly Identity[]> {
    const { target, source } = this;
    const offer = { targetName: 'joined', installNamespace, minutes: 15, needsApproval: false, tokenSeconds: 3_600 };
    const [{ token }, { token: unused }] = [
      await inviteSource(target, offer, this.#stopped.signal), await inviteSource(target, offer, this.#stopped.signal),
    ];
    const joined = await joinTarget({ client: source.client, token, installNamespace }, this.#quiet);
    const peer = (name: string, namespace?: string) => peerClusters(
      {
        name, namespace, installNamespace, source: { ...source, label: 'source' },
        target: { ...target, label: 'target' },
      },
      this.#quiet,
    );
    const [peered, narrow] = [await peer('peered'), await peer('narrow', 'team-a')];
    const declared = { namespace: 'stranger', name: 'declared' };
    const written: ClusterSource = { metadata: { name: 'declared' }, spec: { serviceAccount: declared } };
    await target.client.create(CLUSTER_SOURCES, written);
    const isReady = async (): Promise<true | undefined> => (
      (await target.client.get(CLUSTER_SOURCES, { name: 'declared' })).status?.conditions?.some(
        ({ type, status }) => type === 'Ready' && status === 'True',
      ) === true ? true : undefined
    );
    if ((await pollUntil(isReady, POLLING, this.#stopped.signal)) === undefined) {
      throw new Error('the declared source never becomes Ready');
    }
    return [
      await this.#identity(
        'a source by isthmus peer', target, { account: sourceAccount(peered), clusterId: peered.sourceId },
      ),
      await this.#identity(
        'a source by isthmus invite and join', target, { account: sourceAccount(joined), clusterId: joined.sourceId },
      ),
      await this.#identity(
        'a source by isthmus peer --namespace', target, { account: sourceAccount(narrow), clusterId: narrow.sourceId },
      ),
      await this.#identity(
        'a ClusterSource written for Admiralty', target, { account: declared, clusterId: 'some-cluster' },
      ),
      {
        who: 'anyone who has an invitation', cluster: target, token: String(unverifiedData(unused)?.['bearer']),
        account: { namespace: installNamespace, name: 'bearer' },
      },
    ];
  }

  async #tenant(): Promise<Identity> {
    const account = { namespace: 'team-a', name: 'tenant' };
    const { client } = this.source;
    const binding: KubernetesObject & { readonly roleRef: object; readonly subjects: readonly object[] } = {
      metadata: account, roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' },
      subjects: [{ kind: 'ServiceAccount', ...account }],
    };
    await client.create(SERVICE_ACCOUNTS, { metadata: account });
    await client.create(ROLE_BINDINGS, binding);
    return this.#identity('a tenant with edit in a namespace', this.source, { account });
  }

  /** Whatever accounts an installation has. */
  async #components(cluster: OpenCluster, where: string): Promise<readonly Identity[]> {
    const accounts = await cluster.client.list(
      SERVICE_ACCOUNTS, { namespace: installNamespace, labelSelector: 'app.kubernetes.io/part-of=isthmus' },
    );
    const names = accounts.map(({ metadata }) => metadata.name ?? '')
      .filter((name) => name === 'isthmus' || (name.startsWith('isthmus-') && !name.startsWith('isthmus-invitation-')));
    return Promise.all(names.map(
      (name) => this.#identity(`${name} ${where}`, cluster, { account: { namespace: installNamespace, name } }),
    ));
  }

  async #identity(who: string, cluster: OpenCluster, of: Pick<Identity, 'account' | 'clusterId'>): Promise<Identity> {
    const { token } = await requestToken(cluster.client, { ...of.account, seconds: 3_600 }, this.#stopped.signal);
    return { who, cluster, token, ...of };
  }

  async #clientAs(cluster: OpenCluster, account: Identity['account']): Promise<ClusterClient> {
    const { token } = await this.#identity('', cluster, { account });
    const { server, certificateAuthority } = cluster.connection;
    const text =
      tokenKubeconfig({ server: server.href, certificateAuthority, token, cluster: 'c', user: account.name });
    const client =
      new ClusterClient(new Transport(await readKubeconfig({ text, author: 'administrator' }), 'isthmus-test'));
    this.#opened.push(client);
    return client;
  }

  /** Ends everything. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await Promise.all(
      [this.source.client, this.target.client, ...this.#opened].map((client) => client.transport.close()),
    );
    await this.#sandbox.stop();
    await rmdir(this.#sandbox.dir); // fails when the sandbox left something in it
  }
}
