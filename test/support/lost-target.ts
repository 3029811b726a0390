// A target that can be lost: its source reaches it through a relay that swallows all bytes when told to, while the
// cluster itself lives on.
import { TcpRelay } from '../../benchmarks/tcp-relay.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { CLUSTER_TARGETS, SECRETS } from '../../api/resource-types.ts';
import type { IsthmusWorld, WorldCluster } from './isthmus-world.ts';
import { WatchedCollection } from './watched-collection.ts';

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
    await client.patch(SECRETS, { namespace, name }, { patchType: 'merge', patch: secret });
    if (port === this.relay.port) await this.relay.untilJoined(before + 1);
    await this.#untilReachable('True');
  }

  async #untilReachable(status: 'True' | 'False'): Promise<void> {
    const seen = await new WatchedCollection(
      this.#world.source.client, CLUSTER_TARGETS, { fieldSelector: `metadata.name=${this.#target.cluster.name}` },
    ).start(this.#world.signal);
    const holds = (type: string) => seen.objects.some((target) => target.status?.conditions?.some(
      (condition) => condition.type === type && condition.status === status,
    ));
    await seen.until(
      `reachable: ${status}`, () => holds('Reachable') && (status === 'False' || holds('Ready')), TIMEOUT_MS,
    );
  }
}
