// A collection of a real API server that a test can wait on: it is watched, so no test sleeps.
import { isDeepStrictEqual } from 'node:util';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import type { ClusterClient, Selection } from '../../../kubernetes/client/cluster-client.ts';
import { Informer } from '../../../kubernetes/watch/informer.ts';
import { createLogger } from '../../../process/logger.ts';
import { eventually } from './eventually.ts';

/** All objects of a kind, followed until the test ends. */
export class WatchedCollection<T extends KubernetesObject> {
  /** Every version of every object, in the order seen, with the time in ms; deletions have `after` undefined. */
  readonly history: { readonly at: number; readonly key: string; readonly after: T | undefined }[] = [];
  readonly #informer: Informer<T, T>;
  readonly #name: string;
  readonly #listed: () => Promise<readonly T[]>;
  readonly #changed = new Set<() => void>();

  constructor(client: ClusterClient, type: ResourceType<T>, selection: Selection = {}) {
    this.#name = type.plural;
    this.#listed = () => client.list(type, selection);
    this.#informer =
      new Informer<T, T>({ client, type, selection, logger: createLogger('silent'), project: (object) => object });
    this.#informer.onChange((key, _before, after) => {
      this.history.push({ at: performance.now(), key, after });
      for (const changed of this.#changed) changed();
    });
  }

  /** Starts to follow; resolves once the collection is known. */
  async start(signal: AbortSignal): Promise<this> {
    void this.#informer.run(signal);
    await this.#informer.synced;
    return this;
  }

  get objects(): T[] {
    return [...this.#informer.records()];
  }

  get(key: string): T | undefined {
    return this.#informer.get(key);
  }

  /**
   * Resolves once the watch has told all that the API server holds. What was seen in another cluster, or in an answer,
   * may come earlier than the watch of this one. What came and went in between may still be missing.
   */
  async caughtUp(): Promise<this> {
    await eventually(`${this.#name} are watched as they are listed`, async () => {
      const listed = versionsOf(await this.#listed());
      return isDeepStrictEqual(versionsOf(this.objects), listed);
    });
    return this;
  }

  /** Resolves with the objects as soon as `holds`; rejects with what is there when it does not within `ms`. */
  until(what: string, holds: (objects: T[]) => boolean, ms = 60_000): Promise<T[]> {
    return new Promise((resolve, reject) => {
      const check = () => {
        const { objects } = this;
        if (!holds(objects)) return;
        done();
        resolve(objects);
      };
      const timer = setTimeout(() => {
        done();
        const seen = this.objects.map((object) => {
          const { name, deletionTimestamp: deleted, finalizers } = object.metadata;
          return `${name}: ${JSON.stringify({ deleted, finalizers, ...(object as { status?: object }).status })}`;
        });
        reject(new Error(
          `${this.#name}: not within ${ms} ms: ${what}. There are ` +
            `${seen.length}:\n${seen.slice(0, 8).join('\n').slice(0, 4_000)}`,
        ));
      }, ms);
      const done = () => {
        clearTimeout(timer);
        this.#changed.delete(check);
      };
      this.#changed.add(check);
      check();
    });
  }
}

function versionsOf(objects: readonly KubernetesObject[]): ReadonlySet<string> {
  return new Set(objects.map(({ metadata: { uid, resourceVersion } }) => `${uid} ${resourceVersion}`));
}
