// A source and its targets with Isthmus in them, as integration tests want them: clients, and collections to wait on.
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pod } from '../../../api/objects/core.ts';
import {
  ALL_SOURCES, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE, SOURCES_LABEL,
} from '../../../api/objects/keys.ts';
import type { PodChaperon } from '../../../api/kinds/pod-chaperon.ts';
import { NAMESPACES, POD_CHAPERONS, PODS } from '../../../api/resource-types.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import type { Cluster } from '../../../sandbox/control-plane/control-plane.ts';
import { startIsthmus, type IsthmusInSandbox } from '../../../sandbox/isthmus-in-sandbox.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { startTestSandbox, stopWithProcess, type TestSandboxOptions } from '../processes/stopped-with-process.ts';
import { WatchedCollection } from '../history/watched-collection.ts';

/** One cluster of the world; pods and chaperons are those of all namespaces but the system's. */
export interface WorldCluster {
  readonly cluster: Cluster;
  readonly client: ClusterClient;
  readonly pods: WatchedCollection<Pod>;
  readonly chaperons: WatchedCollection<PodChaperon>;
}

/** The world; call {@link IsthmusWorld.stop} in `after`. */
export interface IsthmusWorld {
  readonly sandbox: Sandbox;
  readonly isthmus: IsthmusInSandbox;
  readonly source: WorldCluster;
  readonly targets: readonly [WorldCluster, WorldCluster, ...WorldCluster[]];
  /** Aborted when the world stops. */
  readonly signal: AbortSignal;
  stop(): Promise<void>;
}

/** What world to start. */
export interface WorldOptions extends Partial<TestSandboxOptions> {
  /** The only namespace whose pods and chaperons the test follows; all when missing. */
  readonly watchedNamespace?: string;
}

/** Starts what is ours in a sandbox. */
export type StartIn = (sandbox: Sandbox, signal: AbortSignal) => Promise<IsthmusInSandbox>;

/**
 * Starts two targets, or as many as `options` say, and peers them as ClusterTargets `target-1`, `target-2` and so on.
 */
export async function startWorld(
  { watchedNamespace, ...options }: WorldOptions = {}, start: StartIn = startIsthmus,
): Promise<IsthmusWorld> {
  const stopped = new AbortController();
  const dir = await mkdtemp(join(tmpdir(), 'isthmus-world-'));
  const sandbox =
    await startTestSandbox({ dir, targets: 2, nodes: 2, gpus: 0, audit: false, ...options }, stopped.signal);
  try {
    const isthmus = await start(sandbox, stopped.signal);
    const [source, first, second, ...more] =
      await Promise.all(sandbox.clusters.map((cluster) => openWorldCluster(cluster, stopped.signal, watchedNamespace)));
    if (source === undefined || first === undefined || second === undefined) {
      throw new Error('the sandbox lacks a cluster');
    }
    const stop = async () => {
      stopped.abort();
      await Promise.all([source, first, second, ...more].map(({ client }) => client.transport.close()));
      await isthmus.stop();
      await sandbox.stop();
      await rmdir(dir); // fails when the sandbox left something in it
    };
    stopWithProcess(stop);
    return { sandbox, isthmus, source, targets: [first, second, ...more], signal: stopped.signal, stop };
  } catch (error) {
    await sandbox.stop();
    throw error;
  }
}

/** Opens a cluster of a sandbox and follows its pods and chaperons. */
export async function openWorldCluster(
  cluster: Cluster, signal: AbortSignal, namespace?: string,
): Promise<WorldCluster> {
  const { client } = await openCluster({ kubeconfigPath: cluster.kubeconfigPath, userAgent: 'isthmus-test' });
  const [pods, chaperons] = await Promise.all([
    new WatchedCollection(client, PODS, { namespace }).start(signal),
    new WatchedCollection(client, POD_CHAPERONS, { namespace }).start(signal),
  ]);
  return { cluster, client, pods, chaperons };
}

/** Makes a namespace in every cluster, opted in at the source, and letting sources in at the targets. */
export async function makeNamespace(world: IsthmusWorld, name: string): Promise<void> {
  const labels = { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE };
  await world.source.client.apply(NAMESPACES, { metadata: { name, labels } }, 'isthmus-test');
  await Promise.all(world.targets.map(
    ({ client }) =>
      client.apply(NAMESPACES, { metadata: { name, labels: { [SOURCES_LABEL]: ALL_SOURCES } } }, 'isthmus-test'),
  ));
}

/** Those of a namespace. */
export function inNamespace<T extends { readonly metadata: { readonly namespace?: string } }>(
  objects: readonly T[], namespace: string,
): T[] {
  return objects.filter((object) => object.metadata.namespace === namespace);
}

/** Whether a pod is Running. */
export function isRunning(pod: Pod): boolean {
  return pod.status?.phase === 'Running';
}
