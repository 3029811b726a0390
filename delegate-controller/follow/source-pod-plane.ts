// The pod plane of the source, from the objects of the clusterset. A source without these kinds, or without the
// permission to read them, has none.
import type { Logger } from 'pino';
import type { ClustersetMember, ClustersetEndpoint } from '../../api/kinds/gateway.ts';
import type { TargetSpec } from '../../api/kinds/cluster-target.ts';
import { CLUSTERSET_MEMBERS, CLUSTERSET_ENDPOINTS } from '../../api/resource-types.ts';
import { isUnreadable } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { Informer } from '../../kubernetes/watch/informer.ts';
import { fullInformersOf } from '../../kubernetes/watch/full-objects.ts';
import { asReachedFromHere, podAddressesOf, readPodPlane, type PodPlane } from '../../model/network/pod-plane.ts';
import type { TargetSession } from '../../targets/target-session.ts';

/** Where the objects are. */
export interface PodPlaneOptions {
  readonly source: ClusterClient;
  readonly installNamespace: string;
  readonly logger: Logger;
}

/** The objects of a proxy pod in its target. */
type FoundPod = ReturnType<TargetSession['find']>;

/** The source's view of the pod plane. */
export class SourcePodPlane {
  /** Resolves when it is known whether there is a pod plane. */
  readonly known: Promise<unknown>;
  readonly #clusters: Informer<ClustersetMember, ClustersetMember>;
  readonly #endpoints: Informer<ClustersetEndpoint, ClustersetEndpoint>;
  readonly #listeners: (() => void)[] = [];
  #plane: PodPlane | undefined;
  #known = '';

  constructor({ source, installNamespace: namespace, logger }: PodPlaneOptions) {
    const inform = fullInformersOf({ client: source, logger });
    this.#clusters = inform(CLUSTERSET_MEMBERS, { namespace });
    this.#endpoints = inform(CLUSTERSET_ENDPOINTS, { namespace });
    for (const informer of this.#informers) {
      informer.onChange(() => this.#learn());
      informer.onListed(() => this.#learn());
    }
    this.known =
      Promise.all(this.#informers.map((informer) => Promise.race([informer.synced, untilRefused(informer)])));
  }

  get #informers() {
    return [this.#clusters, this.#endpoints] as const;
  }

  /** Whether pods of this source can reach those of other clusters. */
  get isThere(): boolean {
    return this.#plane !== undefined;
  }

  /** A target's cached objects of a pod, with the addresses under which the source reaches it. */
  seenFromHere({ chaperon, delegate }: FoundPod, spec: TargetSpec): FoundPod {
    const addresses = podAddressesOf(this.#plane, spec);
    if (addresses.kind === 'own') return { chaperon, delegate };
    return {
      chaperon:
        chaperon?.ended === undefined ? chaperon : { ...chaperon, ended: asReachedFromHere(chaperon.ended, addresses) },
      delegate: delegate && { ...delegate, status: asReachedFromHere(delegate.status, addresses) },
    };
  }

  /** Calls `listener` on every change from now on. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Watches the objects until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#informers.map((informer) => informer.run(signal)));
  }

  #learn(): void {
    if (!this.#clusters.hasSynced || !this.#endpoints.hasSynced) return; // a partial view would give other addresses
    const plane = readPodPlane([...this.#clusters.records()], [...this.#endpoints.records()]);
    const known = JSON.stringify(plane && [[...plane.members], plane.taken]) ?? '';
    if (known === this.#known) return;
    this.#known = known;
    this.#plane = plane;
    for (const listener of this.#listeners) listener();
  }
}

/** Resolves when the API server has responded that there is nothing to read. */
function untilRefused(informer: Pick<Informer<ClustersetMember, unknown>, 'onConnection'>): Promise<void> {
  return new Promise((resolve) => {
    informer.onConnection((state) => {
      if (state.kind === 'broken' && isUnreadable(state.error)) resolve();
    });
  });
}
