// A target with sources of both kinds: one that was peered by our command, and one declared as manifests for Admiralty
// have it, without a cluster ID.
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import { CLUSTER_SOURCES, NAMESPACES, PODS, SERVICE_ACCOUNTS } from '../../../api/resource-types.ts';
import type { ClusterSource } from '../../../api/kinds/cluster-source.ts';
import type { KubernetesObject, ObjectMeta, Pod } from '../../../api/objects/core.ts';
import { PARENT_CLUSTER_LABEL, PARENT_UID_LABEL } from '../../../api/objects/keys.ts';
import { pollUntil } from '../../../cli/clusters/poll-until.ts';
import { installInto } from '../../../cli/install/install.ts';
import { peerClusters } from '../../../cli/join/peer-clusters.ts';
import { startChaperons } from '../../../delegate-controller/chaperon/chaperon-controller.ts';
import { SourceLeases } from '../../../delegate-controller/failover/source-lease-controller.ts';
import { ResourceShares } from '../../../delegate-controller/resource-shares/resource-share-controller.ts';
import { SourceRules } from '../../../delegate-controller/target-cache/source-rules-cache.ts';
import { StreamGrants } from '../../../delegate-controller/streams/stream-grants-controller.ts';
import {
  TARGET_POD_FIELDS, toTargetPodRecord, type TargetPod,
} from '../../../delegate-controller/target-cache/target-pod.ts';
import { ApiError } from '../../../kubernetes/flow/api-error.ts';
import { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import type { EventSink } from '../../../kubernetes/controller/event-recorder.ts';
import { Informer } from '../../../kubernetes/watch/informer.ts';
import { readKubeconfig } from '../../../kubernetes/credentials/kubeconfig.ts';
import { openCluster, type OpenCluster } from '../../../kubernetes/client/open-cluster.ts';
import { requestToken } from '../../../kubernetes/client/service-account-token.ts';
import { readClusterId } from '../../../kubernetes/client/cluster-id.ts';
import { Transport } from '../../../kubernetes/http/transport.ts';
import type { ServiceAccountName } from '../../../model/access/rbac-objects.ts';
import { startSources } from '../../../peering/identity/source-controller.ts';
import { sourceAccount, sourceName, tokenKubeconfig } from '../../../peering/access/target-access.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { SILENT } from '../doubles/scripted-api-server.ts';
import { startTestSandbox } from '../processes/stopped-with-process.ts';

const installNamespace = 'isthmus-system';
/** Filled in when the world starts: labels of what the peered source makes. */
export const OWN_LABELS: Record<string, string> = {};
/** As Admiralty 0.17's manifests have it. */
export const ADMIRALTY_SOURCE: ClusterSource =
  { metadata: { name: 'admiralty-form' }, spec: { serviceAccount: { namespace: 'default', name: 'admiralty-form' } } };
const POLLING = { forMs: 60_000, everyMs: 50 };

/** What is written, as plain JSON. */
export type Written = Readonly<Record<string, unknown>>;

/** The sources of the world. */
export type SourceKind = 'a peered source' | "a source of Admiralty's form";

/** An identity in the target. */
export interface ConfinedSource {
  readonly client: ClusterClient;
  readonly account: ServiceAccountName;
}

/** Whether the API server answered that it is not allowed, by RBAC or by admission. */
export function isDenied(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403;
}

let only: Promise<ConfinedWorld> | undefined;

/** The one world of this kind in the process, which ends after all suites: files that are run together share it. */
export function confinedWorld(): Promise<ConfinedWorld> {
  if (only === undefined) {
    const starting = mkdtemp(join(tmpdir(), 'isthmus-confined-')).then((dir) => ConfinedWorld.start(dir));
    only = starting;
    after(async () => (await starting).stop());
  }
  return only;
}

/** The world; its sources are those of {@link SourceKind}. */
export class ConfinedWorld {
  readonly #sandbox: Sandbox;
  readonly #stopped: AbortController;
  readonly #clients: ClusterClient[] = [];
  readonly #sources = new Map<SourceKind, ConfinedSource>();
  /** Name of the ClusterSource of the peered source. */
  sourceName = '';
  readonly sourceCluster: OpenCluster;
  readonly target: OpenCluster;

  private constructor(sandbox: Sandbox, clusters: readonly [OpenCluster, OpenCluster], stopped: AbortController) {
    this.#sandbox = sandbox;
    this.#stopped = stopped;
    [this.sourceCluster, this.target] = clusters;
  }

  /**
   * Starts the clusters in `dir`, installs, runs the part of peering that keeps identities, with its own permissions,
   * and makes the sources.
   */
  static async start(dir: string): Promise<ConfinedWorld> {
    const stopped = new AbortController();
    const sandbox = await startTestSandbox({ dir, targets: 1, nodes: 0, gpus: 0, audit: false }, stopped.signal);
    const [source, target] = await Promise.all(
      sandbox.clusters.map(({ kubeconfigPath }) => openCluster({ kubeconfigPath, userAgent: 'isthmus-test' })),
    );
    if (source === undefined || target === undefined) throw new Error('the sandbox lacks a cluster');
    const world = new ConfinedWorld(sandbox, [source, target], stopped);
    await world.#prepare();
    return world;
  }

  async #prepare(): Promise<void> {
    const { signal, sourceCluster, target } = this;
    const quiet = { tell: () => undefined, signal };
    for (const { client } of [sourceCluster, target]) await installInto(client, { installNamespace }, quiet);
    await this.makeNamespace('open', { 'isthmus.dev/sources': 'all' });
    startSources(
      {
        client: await this.identity({ namespace: installNamespace, name: 'isthmus-peering' }), installNamespace,
        logger: SILENT,
      },
      signal,
    );
    const [peered, sourceId] =
      [{ ...sourceCluster, label: 'source' }, await readClusterId(sourceCluster.client, signal)];
    Object.assign(OWN_LABELS, { [PARENT_CLUSTER_LABEL]: sourceId });
    const peering = await peerClusters(
      { name: 'eu', installNamespace, source: peered, target: { ...target, label: 'target' } }, quiet,
    );
    this.sourceName = sourceName(peering);
    await this.admin.create(CLUSTER_SOURCES, ADMIRALTY_SOURCE);
    const ready = async () => (
      (await this.admin.get(CLUSTER_SOURCES, { name: 'admiralty-form' })).status?.conditions?.some(
        ({ type, status }) => type === 'Ready' && status === 'True',
      ) === true ? true : undefined
    );
    if ((await pollUntil(ready, POLLING, signal)) === undefined) {
      throw new Error('the declared source never becomes Ready');
    }
    for (
      const [kind, account] of [['a peered source', sourceAccount(peering)], [
        "a source of Admiralty's form", { namespace: 'default', name: 'admiralty-form' },
      ]] as const
    ) {
      this.#sources.set(kind, { account, client: await this.identity(account) });
    }
  }

  /** Starts the part of the delegate controller that makes pods in the target, with its own permissions. */
  async startDelegates(): Promise<void> {
    const client = await this.identity({ namespace: installNamespace, name: 'isthmus-delegate-controller' });
    const pods = new Informer<Pod, TargetPod>(
      { client, logger: SILENT, type: PODS, selection: {}, project: toTargetPodRecord, fields: TARGET_POD_FIELDS },
    );
    const ownClusterId = await readClusterId(client, this.signal);
    const [resourceShares, sources] =
      [new ResourceShares({ client, pods, logger: SILENT }), new SourceRules({ client, ownClusterId, logger: SILENT })];
    const streams = new StreamGrants({ client, pods, sources, logger: SILENT });
    const events = { record: () => undefined, flush: () => Promise.resolve() } as unknown as EventSink;
    startChaperons(
      {
        client, pods, resourceShares, sources, streams, events, leases: new SourceLeases({ client, logger: SILENT }),
        logger: SILENT,
      },
      this.signal,
    );
    sources.run(this.signal);
    resourceShares.run(this.signal);
    void pods.run(this.signal);
  }

  /** Aborted when the world stops. */
  get signal(): AbortSignal {
    return this.#stopped.signal;
  }

  /** An administrator of the target. */
  get admin(): ClusterClient {
    return this.target.client;
  }

  /** The client and account of a source. */
  source(kind: SourceKind): ConfinedSource {
    const found = this.#sources.get(kind);
    if (found === undefined) throw new Error(`${kind} is not there`);
    return found;
  }

  /** Labels that mark what a source makes as its own. */
  labels(kind: SourceKind): Record<string, string> {
    return kind === 'a peered source' ? OWN_LABELS : { [PARENT_CLUSTER_LABEL]: 'admiralty', [PARENT_UID_LABEL]: 'u' };
  }

  /** A client that acts as a ServiceAccount of the target. */
  async identity(account: ServiceAccountName): Promise<ClusterClient> {
    const { client, connection } = this.target;
    const { token } = await requestToken(client, { ...account, seconds: 3_600 }, this.signal);
    const text = tokenKubeconfig({
      server: connection.server.href, certificateAuthority: connection.certificateAuthority, token, cluster: 'c',
      user: account.name,
    });
    const opened =
      new ClusterClient(new Transport(await readKubeconfig({ text, author: 'administrator' }), 'isthmus-test'));
    this.#clients.push(opened);
    return opened;
  }

  /** Makes a namespace of the target, and waits for its default account. */
  async makeNamespace(name: string, labels: Record<string, string> = {}): Promise<void> {
    await this.admin.create(NAMESPACES, { metadata: { name, labels } });
    await pollUntil(
      () => this.admin.get(SERVICE_ACCOUNTS, { namespace: name, name: 'default' }).catch(() => undefined), POLLING,
      this.signal,
    );
  }

  /** A plain create, with or without effect. */
  create(client: ClusterClient, type: ResourceType, object: Written, isDryRun: boolean): Promise<KubernetesObject> {
    return client.transport.call({
      method: 'POST', path: `${collectionOf(type, object)}${isDryRun ? '?dryRun=All' : ''}`, body: typed(type, object),
    });
  }

  /** A plain PUT. */
  replace(client: ClusterClient, type: ResourceType, object: Written): Promise<KubernetesObject> {
    return client.transport.call({
      method: 'PUT', path: `${collectionOf(type, object)}/${(object['metadata'] as ObjectMeta).name}`,
      body: typed(type, object),
    });
  }

  /** Ends everything. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await Promise.all(
      [this.admin, this.sourceCluster.client, ...this.#clients].map((client) => client.transport.close()),
    );
    await this.#sandbox.stop();
    await rmdir(this.#sandbox.dir); // fails when the sandbox left something in it
  }
}

function typed({ group, version, kind }: ResourceType, object: Written): object {
  return { apiVersion: group === '' ? version : `${group}/${version}`, kind, ...object };
}

function collectionOf({ group, version, plural }: ResourceType, { metadata }: Written): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return `${root}/namespaces/${(metadata as ObjectMeta).namespace}/${plural}`;
}
