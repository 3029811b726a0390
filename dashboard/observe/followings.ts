// Several collections that one viewer follows together, for as long as a screen needs them.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import type { ClusterClient, Selection } from '../../kubernetes/client/cluster-client.ts';
import { Following } from './following.ts';
import type { Lease, Running } from './shared.ts';
import { ViewerActions, type Offered } from '../rights/viewer-actions.ts';
import type { ViewerRights } from '../rights/viewer-rights.ts';

/** They begin with {@link Followings.run}, which gives the rights back at its end. */
export class Followings implements Running {
  readonly #client: ClusterClient;
  readonly #rights: Lease<ViewerRights>;
  readonly #all: Running[] = [];
  readonly #listeners = new Set<() => void>();

  constructor(client: ClusterClient, rights: Lease<ViewerRights>) {
    [this.#client, this.#rights] = [client, rights];
  }

  /** Adds a collection, whose objects are kept whole. */
  follow<T extends KubernetesObject>(type: ResourceType<T>, selection: Selection): Following<T, T> {
    return this.project(type, selection, (object) => object);
  }

  /** Adds a collection, of whose objects `project` says what is kept. */
  project<T extends KubernetesObject, R>(
    type: ResourceType<T>, selection: Selection, project: (object: T) => R | undefined,
  ): Following<T, R> {
    const viewer = { client: this.#client, rights: this.#rights.value };
    const following = new Following<T, R>({ ...viewer, type, selection }, project, () => this.#changed());
    this.#all.push(following);
    return following;
  }

  /** Adds what the viewer may do. */
  actions(offered: Offered): ViewerActions {
    const actions = new ViewerActions(this.#rights.value, offered, () => this.#changed());
    this.#all.push(actions);
    return actions;
  }

  /** Watches all until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all.map((following) => following.run(signal)));
    this.#rights.release();
  }

  /** Calls back at each change of one; the returned function stops that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
