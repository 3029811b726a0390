// A collection as an informer shows it, with everything it told: for tests that compare it with what the API server
// holds.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import type { ClusterClient, Selection } from '../../../kubernetes/client/cluster-client.ts';
import { Informer, keyOf, type ConnectionState } from '../../../kubernetes/watch/informer.ts';
import { SILENT } from '../doubles/scripted-api-server.ts';

/** Follows until the signal of {@link FollowedCollection.start} aborts. */
export class FollowedCollection {
  /** Keys whose deletion was told, in order. */
  readonly deletes: string[] = [];
  /** How many changes were told. */
  changes = 0;
  /** How often the watch broke. */
  breaks = 0;
  /** How often the collection was listed. */
  lists = 0;
  readonly #informer: Informer<KubernetesObject, string>;
  readonly #last = new Map<string, string>();
  readonly #exists = new Set<string>();
  readonly #disorders: string[] = [];
  readonly #waiting = { open: new Set<() => void>(), broken: new Set<() => void>(), changed: new Set<() => void>() };

  constructor(client: ClusterClient, type: ResourceType, selection: Selection) {
    this.#informer = new Informer<KubernetesObject, string>({
      client, type, selection, logger: SILENT, project: ({ metadata }) => metadata.resourceVersion ?? '', fields: {},
    });
    this.#informer.onChange((key, before, after) => this.#note(key, before, after));
    this.#informer.onConnection(({ kind }: ConnectionState) => {
      if (kind === 'broken') this.breaks += 1;
      if (kind !== 'connecting') release(this.#waiting[kind]);
    });
    this.#informer.onListed(() => {
      this.lists += 1;
    });
  }

  /** Adds a listener for every change. */
  onChange(listener: (key: string) => void): void {
    this.#informer.onChange(listener);
  }

  async start(signal: AbortSignal): Promise<this> {
    void this.#informer.run(signal);
    await this.#informer.synced;
    return this;
  }

  get size(): number {
    return this.#informer.size;
  }

  /** Resolves when the watch breaks the next time. */
  nextBreak(): Promise<void> {
    return new Promise((resolve) => this.#waiting.broken.add(resolve));
  }

  /** Resolves when a watch opens the next time. */
  nextOpen(): Promise<void> {
    return new Promise((resolve) => this.#waiting.open.add(resolve));
  }

  /** Resolves once keys and versions are those of `list`, asked for anew after each change. */
  async untilEqual(list: () => Promise<KubernetesObject[]>, ms: number): Promise<void> {
    const deadline = performance.now() + ms;
    for (;;) {
      const wanted =
        Object.fromEntries((await list()).map((object) => [keyOf(object), object.metadata.resourceVersion ?? '']));
      const found = Object.fromEntries([...this.#informer.keys()].map((key) => [key, this.#informer.get(key)]));
      try {
        assert.deepEqual(found, wanted);
        return;
      } catch (error) {
        if (performance.now() > deadline) throw error;
      }
      await Promise.race([sleep(100), new Promise<void>((resolve) => this.#waiting.changed.add(resolve))]);
    }
  }

  /** Fails when a key was told in another order than that of its versions, twice, or as new when it was not. */
  assertOrdered(): void {
    assert.deepEqual(this.#disorders, []);
  }

  /** Failures are kept: what a listener throws would only be logged. */
  #note(key: string, before: string | undefined, after: string | undefined): void {
    this.changes += 1;
    const last = this.#last.get(key);
    if (before !== undefined && before !== last) {
      this.#disorders.push(`${key}: was ${last}, is told to have been ${before}`);
    }
    if (before === undefined && this.#exists.has(key)) {
      this.#disorders.push(`${key}: is told as new at ${after}, and was there`);
    }
    if (after !== undefined && last !== undefined && BigInt(after) <= BigInt(last)) {
      this.#disorders.push(`${key}: ${after} comes after ${last}`);
    }
    if (after === undefined) {
      this.deletes.push(key);
      this.#exists.delete(key);
    } else {
      this.#last.set(key, after);
      this.#exists.add(key);
    }
    release(this.#waiting.changed);
  }
}

function release(waiting: Set<() => void>): void {
  for (const resolve of waiting) resolve();
  waiting.clear();
}
