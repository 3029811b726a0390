// Several collections that one viewer follows together, for as long as a screen needs them.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import type { ClusterClient, Selection } from '../../kubernetes/client/cluster-client.ts';
import { ViewerWatch } from './viewer-watch.ts';
import { Observed, type Running, type SharedUse } from './shared.ts';
import { ViewerActions, type Offered } from '../permissions/viewer-actions.ts';
import type { ViewerPermissions } from '../permissions/viewer-permissions.ts';

/** They begin with {@link ViewerWatches.run}, which gives the permissions back at its end. */
export class ViewerWatches extends Observed implements Running {
  readonly #client: ClusterClient;
  readonly #permissions: SharedUse<ViewerPermissions>;
  readonly #all: Running[] = [];

  constructor(client: ClusterClient, permissions: SharedUse<ViewerPermissions>) {
    super();
    [this.#client, this.#permissions] = [client, permissions];
  }

  /** Adds a collection, whose objects are kept whole. */
  follow<T extends KubernetesObject>(type: ResourceType<T>, selection: Selection): ViewerWatch<T, T> {
    return this.project(type, selection, (object) => object);
  }

  /** Adds a collection, of whose objects `project` says what is kept. */
  project<T extends KubernetesObject, R>(
    type: ResourceType<T>, selection: Selection, project: (object: T) => R | undefined,
  ): ViewerWatch<T, R> {
    const viewer = { client: this.#client, permissions: this.#permissions.value };
    const watch = new ViewerWatch<T, R>({ ...viewer, type, selection }, project, () => this.changed());
    this.#all.push(watch);
    return watch;
  }

  /** Adds what the viewer may do. */
  actions(offered: Offered): ViewerActions {
    const actions = new ViewerActions(this.#permissions.value, offered, () => this.changed());
    this.#all.push(actions);
    return actions;
  }

  /** Watches all until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all.map((watch) => watch.run(signal)));
    this.#permissions.release();
  }
}
