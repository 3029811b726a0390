// A target that can be lost: its source reaches it through a relay that swallows all bytes when told to, while the
// cluster itself lives on.
import { TcpRelay } from '../network/tcp-relay.ts';
import type { ClusterTarget } from '../../../api/kinds/cluster-target.ts';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import { CLUSTER_TARGETS, SECRETS } from '../../../api/resource-types.ts';
import type { IsthmusWorld, WorldCluster } from '../worlds/isthmus-world.ts';
import { WatchedCollection } from '../history/watched-collection.ts';

const TIMEOUT_MS = 90_000;

/** A relay between a source and one of its targets. */
export class RelayToTarget {
  readonly relay: TcpRelay;
  readonly #world: IsthmusWorld;
  readonly #target: WorldCluster;

  private constructor(world: IsthmusWorld, target: WorldCluster, relay: TcpRelay) {
    this.#world = world;
    this.#target = target;
    this.relay = relay;
  }

  /**
   * Leads the source's process through a relay, as if the target had moved; call {@link RelayToTarget.restore} in the
   * end.
   */
  static async divert(world: IsthmusWorld, target: WorldCluster): Promise<RelayToTarget> {
    const through = new RelayToTarget(world, target, await TcpRelay.start(Number(new URL(target.cluster.server).port)));
    await through.#lead(through.relay.port);
    return through;
  }

  /** Nothing comes through from now on, in silence or with a refusal; resolves when the source has noticed. */
  async lose(how: 'blackHole' | 'refuse'): Promise<void> {
    this.relay[how]();
    await this.#untilReachable('False');
  }

  /** All comes through again; resolves when the source has noticed. */
  async heal(): Promise<void> {
    this.relay.heal();
    await this.#untilReachable('True');
  }

  /** Connects the source directly again. */
  async restore(): Promise<void> {
    await this.#lead(Number(new URL(this.#target.cluster.server).port));
    await this.relay.stop();
  }

  async #lead(port: number): Promise<void> {
    const { client } = this.#world.source;
    const { spec } = await client.get(CLUSTER_TARGETS, { name: this.#target.cluster.name });
    const { namespace, name, key = 'config' } = spec.kubeconfigSecret ?? { name: '' };
    const { data } = await client.get(SECRETS, { namespace, name });
    const kubeconfig =
      Buffer.from(data?.[key] ?? '', 'base64').toString('utf8').replace(/(https:\/\/127\.0\.0\.1:)\d+/, `$1${port}`);
    const secret =
      { metadata: {}, data: { [key]: Buffer.from(kubeconfig, 'utf8').toString('base64') } } as KubernetesObject;
    const before = this.relay.joined;
    const seen = await this.#watch();
    const since = isReachable(seen.objects) ? seen.history.length : 0;
    await client.patch(SECRETS, { namespace, name }, { patchType: 'merge', patch: secret });
    if (port === this.relay.port) await this.relay.untilJoined(before + 1);
    // its conditions are those of the former connection until it connects anew
    const isAnew = () => seen.history.slice(since).some(({ after }) => after !== undefined && !isReachable([after]));
    await seen.until('connected anew', (all) => isAnew() && isReachable(all) && isReady(all), TIMEOUT_MS);
  }

  async #watch(): Promise<WatchedCollection<ClusterTarget>> {
    const selection = { fieldSelector: `metadata.name=${this.#target.cluster.name}` };
    return new WatchedCollection(this.#world.source.client, CLUSTER_TARGETS, selection).start(this.#world.signal);
  }

  async #untilReachable(status: 'True' | 'False'): Promise<void> {
    const seen = await this.#watch();
    await seen.until(`reachable: ${status}`, (all) => (
      status === 'True' ? isReachable(all) && isReady(all) : has(all, 'Reachable', 'False')
    ), TIMEOUT_MS);
  }
}

type Targets = readonly ClusterTarget[];

function has(targets: Targets, type: string, status: 'True' | 'False'): boolean {
  return targets.some((target) => target.status?.conditions?.some(
    (condition) => condition.type === type && condition.status === status,
  ));
}

const isReachable = (targets: Targets): boolean => has(targets, 'Reachable', 'True');
const isReady = (targets: Targets): boolean => has(targets, 'Ready', 'True');
