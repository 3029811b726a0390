// A world in which tests of faults run: a relay before each target, the processes of all clusters, what a pod and its
// delegate are at any moment, and what every such test asks: how long a recovery took, whether the pair is the same as
// before, whether anything is left.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterTarget } from '../../../api/kinds/cluster-target.ts';
import type { KubernetesObject, Pod } from '../../../api/objects/core.ts';
import {
  CLUSTER_TARGET_NAME_LABEL, ELECT_ANNOTATION, PARENT_UID_LABEL, PROXY_CONSTRAINTS_ANNOTATION,
  TARGET_UNREACHABLE_CONDITION,
} from '../../../api/objects/keys.ts';
import { CLUSTER_TARGETS, PODS } from '../../../api/resource-types.ts';
import { findCondition } from '../../../model/objects/conditions.ts';
import { eventually } from '../history/eventually.ts';
import { faultyPathTo, type FaultyPath } from './faulty-network.ts';
import { HookedProcess } from './hooked-process.ts';
import {
  isRunning, makeNamespace, startWorld, type IsthmusWorld, type WorldCluster, type WorldOptions,
} from '../worlds/isthmus-world.ts';
import { WatchedCollection } from '../history/watched-collection.ts';
import { assertInvariants, assertNoDoubles } from '../history/world-invariants.ts';

/** How long anything is waited for that has no limit of its own, in ms. */
const TIMEOUT_MS = 120_000;
/** Watches of the test itself come back later than their server, in ms. */
const OWN_WATCHES_MS = 60_000;

/** An elected pod and what runs for it. */
export interface Pair {
  readonly home: WorldCluster;
  readonly proxy: Pod;
  readonly delegate: Pod;
}

/** What of a pod matters to a test. */
export type PodChange = Partial<Pod['spec']>;

/** Where an object is. */
export const placeOf = ({ metadata: { namespace, name = '' } }: KubernetesObject) => ({ namespace, name });

/** Prints how long something took, and fails when that is more than the row allows. */
export async function within(row: string, seconds: number, act: () => Promise<unknown>): Promise<void> {
  const from = performance.now();
  await act();
  const took = Math.round((performance.now() - from) / 100) / 10;
  tell({ row, seconds: took, limit: seconds });
  assert.ok(took <= seconds, `${row}: took ${took} s`);
}

/** Prints a figure. */
export function tell(figures: object): void {
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}

/** A source and targets, one namespace for pods, and the faults that were made in it. */
export class FaultWorld {
  readonly world: IsthmusWorld;
  readonly namespace: string;
  readonly processes: ReadonlyMap<WorldCluster, HookedProcess>;
  readonly paths: ReadonlyMap<WorldCluster, FaultyPath>;
  readonly clusterTargets: WatchedCollection<ClusterTarget>;
  /** UIDs of proxies that were taken away by force. */
  readonly forced = new Set<string>();
  readonly #outages: { readonly from: number; until: number }[] = [];

  private constructor(parts: Pick<FaultWorld, 'world' | 'namespace' | 'processes' | 'paths' | 'clusterTargets'>) {
    (
      {
        world: this.world, namespace: this.namespace, processes: this.processes, paths: this.paths,
        clusterTargets: this.clusterTargets,
      } = parts
    );
  }

  /** Resolves when all targets are Ready through their relays. */
  static async start(namespace: string, options: WorldOptions = {}): Promise<FaultWorld> {
    const world = await startWorld({ nodes: 1, audit: true, ...options });
    await makeNamespace(world, namespace);
    const processes =
      new Map([world.source, ...world.targets].map((cluster) => [cluster, new HookedProcess(world, cluster)]));
    const paths = new Map(
      await Promise.all(world.targets.map(async (target) => [target, await faultyPathTo(world, target)] as const)),
    );
    const clusterTargets =
      await new WatchedCollection<ClusterTarget>(world.source.client, CLUSTER_TARGETS).start(world.signal);
    const made = new FaultWorld({ world, namespace, processes, paths, clusterTargets });
    for (const target of world.targets) await made.readyIs(target, 'True');
    return made;
  }

  /** Ends all, having checked the invariants over all that was seen. */
  async stop(): Promise<void> {
    try {
      assertInvariants(this.world, { outages: this.#outages, forced: this.forced });
      await assertNoDoubles(this.world);
    } finally {
      for (const process of this.processes.values()) await process.stop();
      for (const path of this.paths.values()) await path.stop();
      await this.world.stop();
    }
  }

  get source(): WorldCluster {
    return this.world.source;
  }

  get first(): WorldCluster {
    return this.target(0);
  }

  get second(): WorldCluster {
    return this.target(1);
  }

  /** The n-th target, from 0. */
  target(index: number): WorldCluster {
    const target = this.world.targets[index];
    if (target === undefined) throw new RangeError(`the world has no target ${index}`);
    return target;
  }

  /** An elected pod; for one target only where a home is given. */
  aPod(name: string, home?: WorldCluster, change: PodChange = {}, namespace = this.namespace): Pod {
    const constraints = home && {
      [PROXY_CONSTRAINTS_ANNOTATION]:
        JSON.stringify({ nodeSelector: { [CLUSTER_TARGET_NAME_LABEL]: home.cluster.name } }),
    };
    return {
      metadata: { namespace, name, annotations: { [ELECT_ANNOTATION]: '', ...constraints } },
      spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'main', image: 'example/main:1' }], ...change },
    };
  }

  /** Creates a pod, which a webhook that has just begun may refuse at first. */
  async create(pod: Pod): Promise<Pod> {
    return eventually('the webhook', () => this.world.source.client.create(PODS, pod));
  }

  /** The proxy once `holds`; undefined when it has gone. */
  async proxyIs(
    pod: Pod, what: string, holds: (pod: Pod | undefined) => boolean, ms = TIMEOUT_MS,
  ): Promise<Pod | undefined> {
    const find = (all: readonly Pod[]) =>
      all.find(({ metadata }) => metadata.namespace === pod.metadata.namespace && metadata.name === pod.metadata.name);
    return find(await this.world.source.pods.until(`${pod.metadata.name} is ${what}`, (all) => holds(find(all)), ms));
  }

  /** Creates a pod and resolves when it runs, with its delegate as the target has it then. */
  async run(name: string, home?: WorldCluster, change: PodChange = {}): Promise<Pair> {
    const pod = await this.create(this.aPod(name, home, change));
    const proxy = (await this.proxyIs(pod, 'Running', (it) => it !== undefined && isRunning(it)))!;
    const homes = home === undefined ? this.world.targets : [home];
    const found = (await Promise.all(homes.map(async (one) => {
      const all = await one.client
        .list(PODS, { namespace: this.namespace, labelSelector: `${PARENT_UID_LABEL}=${proxy.metadata.uid}` })
        .catch(() => []);
      return all.map((delegate) => ({ home: one, proxy, delegate }));
    }))).flat();
    assert.equal(found.length, 1, `${name} has one delegate`);
    return found[0]!;
  }

  /** What the watches of all targets show of a proxy's delegates now. */
  delegatesOf({ metadata: { uid } }: Pod): Pod[] {
    return this.world.targets.flatMap(
      ({ pods }) => pods.objects.filter(({ metadata }) => metadata.labels?.[PARENT_UID_LABEL] === uid),
    );
  }

  /** How many pods there ever were for a proxy, over all targets. */
  everMade({ metadata: { uid } }: Pod): number {
    const versions = this.world.targets.flatMap(({ pods }) => pods.history.flatMap(
      ({ after: pod }) => (pod?.metadata.labels?.[PARENT_UID_LABEL] === uid ? [pod?.metadata.uid] : []),
    ));
    return new Set(versions).size;
  }

  /** Resolves when the ClusterTarget says so. */
  async readyIs({ cluster }: WorldCluster, status: 'True' | 'False', reason?: string, ms = TIMEOUT_MS): Promise<void> {
    const isSo = ({ metadata, status: has }: ClusterTarget) => {
      const ready = findCondition(has?.conditions, 'Ready');
      return metadata.name === cluster.name && ready?.status === status
        && (reason === undefined || ready.reason === reason);
    };
    await this.clusterTargets.until(`${cluster.name} is Ready=${status} ${reason ?? ''}`, (all) => all.some(isSo), ms);
  }

  /** Resolves when the proxy says that its target is lost, or no longer says so. */
  async tellsLoss({ proxy }: Pair, isLost: boolean): Promise<void> {
    await this.proxyIs(
      proxy, isLost ? 'told of the loss' : 'no longer told of it',
      (it) => it !== undefined && (
        findCondition(it.status?.conditions, TARGET_UNREACHABLE_CONDITION)?.status === 'True'
      ) === isLost,
    );
  }

  /** A change in the target reaches the proxy. */
  async mirrors({ home, proxy, delegate }: Pair, restartCount: number): Promise<void> {
    await eventually('the target', async () => {
      const [main] = (await home.client.get(PODS, placeOf(delegate))).status?.containerStatuses ?? [];
      if (main === undefined) return false;
      return home.client.patch(PODS, { ...placeOf(delegate), subresource: 'status' }, {
        patchType: 'strategic', patch: { status: { containerStatuses: [{ ...main, restartCount }] } },
      });
    });
    await this.proxyIs(proxy, 'restarted', (it) => JSON.stringify(it?.status?.containerStatuses ?? []).includes(
      `"restartCount":${restartCount}`,
    ));
  }

  /** The same pod runs in the same place, and no other ever has for it. */
  async assertSame({ proxy, delegate }: Pair): Promise<void> {
    const now = await this.proxyIs(proxy, 'there', (it) => it !== undefined);
    assert.equal(now?.metadata.uid, proxy.metadata.uid);
    assert.equal(now?.status?.phase, 'Running');
    assert.deepEqual(this.delegatesOf(proxy).map(({ metadata }) => metadata.uid), [delegate.metadata.uid]);
    assert.equal(this.everMade(proxy), 1);
  }

  /** Resolves when no cluster has anything of a pod. */
  async goneEverywhere(pod: Pod): Promise<void> {
    await this.proxyIs(pod, 'gone', (it) => it === undefined);
    const isOf = ({ metadata }: KubernetesObject) =>
      metadata.namespace === this.namespace && metadata.name?.startsWith(`${pod.metadata.name}-`) === true;
    await Promise.all(this.world.targets.flatMap(
      ({ pods, chaperons }) => [pods.until('no delegate', (all) => !all.some(isOf), TIMEOUT_MS), chaperons.until(
        'no chaperon', (all) => !all.some(isOf), TIMEOUT_MS,
      )],
    ));
  }

  /** Something is away while this lasts. */
  async during(act: () => Promise<void>): Promise<void> {
    const outage = { from: performance.now(), until: Infinity };
    this.#outages.push(outage);
    try {
      await act();
    } finally {
      outage.until = performance.now() + OWN_WATCHES_MS;
    }
  }

  /** The network to a target swallows everything until `act` is done; the source knows of it by then. */
  cutOff(target: WorldCluster, act: () => Promise<void>): Promise<void> {
    return this.during(async () => {
      this.paths.get(target)!.cut();
      try {
        await this.readyIs(target, 'False', 'Unreachable');
        await act();
      } finally {
        this.paths.get(target)!.heal();
      }
    });
  }

  /** Swallows everything and lets it through by turns, so many times; each state lasts `ms`. */
  async flap(target: WorldCluster, times: number, ms: number): Promise<void> {
    const path = this.paths.get(target)!;
    for (let time = 0; time < times; time += 1) {
      path.cut();
      await sleep(ms);
      path.heal();
      await sleep(ms);
    }
  }
}
