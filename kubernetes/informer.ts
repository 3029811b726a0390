// A live copy of a collection as slim records: objects are projected as they arrive and forgotten.
// Listeners see every change of a key in order; a list after a gap gives synthetic deletes.
// A listener or projection that throws is logged and passed over: it must not stop the others from being told.
import type { KubernetesObject } from '../api/core.ts';
import { messageOf } from '../process/errors.ts';
import { reflect, type ReflectorSink, type ReflectorSource } from './reflector.ts';

/** Told of each change of a record: `before` is missing when it is new, `after` when it is gone. */
export type ChangeListener<R> = (key: string, before: R | undefined, after: R | undefined) => void;

/** Whether the watch is open, or why not. */
export type ConnectionState = { readonly kind: 'connecting' } | { readonly kind: 'open' } | { readonly kind: 'broken'; readonly error: unknown };

/** What to keep of each object. `project` gives undefined for objects that do not matter; `index` names a group of records. */
export interface InformerOptions<T extends KubernetesObject, R> extends ReflectorSource<T> {
  readonly project: (object: T) => R | undefined;
  readonly index?: (record: R) => string | undefined;
}

interface Entry<R> {
  record: R;
  resourceVersion: string;
  /** The list that the object was last seen in or after, counted from 1. */
  list: number;
}

/** Cached records of one collection, by `namespace/name` (or `name`). */
export class Informer<T extends KubernetesObject, R> {
  readonly #options: InformerOptions<T, R>;
  readonly #entries = new Map<string, Entry<R>>();
  readonly #index = new Map<string, Set<string>>();
  readonly #listeners: ChangeListener<R>[] = [];
  readonly #connectionListeners: ((state: ConnectionState) => void)[] = [];
  readonly #synced: Promise<void>;
  #resolveSynced: () => void = () => undefined;
  #list = 0;
  #hasSynced = false;
  #resourceVersion = '';
  #connection: ConnectionState = { kind: 'connecting' };

  constructor(options: InformerOptions<T, R>) {
    this.#options = options;
    this.#synced = new Promise((resolve) => {
      this.#resolveSynced = resolve;
    });
  }

  /** Starts to follow the collection until `signal` is aborted. Add listeners before. */
  run(signal: AbortSignal): Promise<void> {
    return reflect(this.#options, this.#sink(), signal);
  }

  /** Adds a listener; call before {@link run}. */
  onChange(listener: ChangeListener<R>): void {
    this.#listeners.push(listener);
  }

  /** Adds a listener for the watch opening and breaking. */
  onConnection(listener: (state: ConnectionState) => void): void {
    this.#connectionListeners.push(listener);
  }

  /** The record of a key, if there is one. */
  get(key: string): R | undefined {
    return this.#entries.get(key)?.record;
  }

  /** All records. */
  *records(): Generator<R> {
    for (const entry of this.#entries.values()) yield entry.record;
  }

  /** All keys. */
  keys(): Iterable<string> {
    return this.#entries.keys();
  }

  /** The records whose index has this value. */
  indexed(value: string): R[] {
    const records: R[] = [];
    for (const key of this.#index.get(value) ?? []) {
      const entry = this.#entries.get(key);
      if (entry !== undefined) records.push(entry.record);
    }
    return records;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Whether a full list has been seen. Before that nothing may be concluded from a missing record. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Resolves when {@link hasSynced} becomes true. */
  get synced(): Promise<void> {
    return this.#synced;
  }

  /** Up to which version the records are complete. */
  get resourceVersion(): string {
    return this.#resourceVersion;
  }

  get connection(): ConnectionState {
    return this.#connection;
  }

  #sink(): ReflectorSink<T> {
    return {
      listing: () => {
        this.#list += 1;
      },
      listed: (objects) => {
        for (const object of objects) this.#put(object);
      },
      unlisted: (object) => this.#remove(keyOf(object)),
      listEnded: () => this.#listEnded(),
      changed: (object, version) => {
        this.#resourceVersion = version;
        this.#put(object);
      },
      deleted: (object, version) => {
        this.#resourceVersion = version;
        this.#remove(keyOf(object));
      },
      bookmark: (version) => {
        this.#resourceVersion = version;
      },
      connection: (state) => this.#setConnection(state.open ? { kind: 'open' } : { kind: 'broken', error: state.error }),
    };
  }

  /** What is in no list since the last one began no longer exists. */
  #listEnded(): void {
    for (const [key, entry] of this.#entries) {
      if (entry.list !== this.#list) this.#remove(key);
    }
    this.#hasSynced = true;
    this.#resolveSynced();
  }

  #put(object: T): void {
    const key = keyOf(object);
    const entry = this.#entries.get(key);
    const resourceVersion = object.metadata.resourceVersion ?? '';
    if (entry !== undefined) entry.list = this.#list;
    if (entry?.resourceVersion === resourceVersion) return;
    const projected = this.#guard(() => ({ record: this.#options.project(object) }));
    if (projected === undefined) return; // an object that cannot be read is not a deleted one: the record before stays
    const { record } = projected;
    if (record === undefined) return this.#remove(key);
    const before = entry?.record;
    if (entry === undefined) this.#entries.set(key, { record, resourceVersion, list: this.#list });
    else Object.assign(entry, { record, resourceVersion });
    this.#reindex(key, before, record);
    this.#notify(key, before, record);
  }

  #remove(key: string): void {
    const before = this.#entries.get(key);
    if (before === undefined) return;
    this.#entries.delete(key);
    this.#reindex(key, before.record, undefined);
    this.#notify(key, before.record, undefined);
  }

  #reindex(key: string, before: R | undefined, after: R | undefined): void {
    const { index } = this.#options;
    if (index === undefined) return;
    const old = before === undefined ? undefined : index(before);
    const now = after === undefined ? undefined : index(after);
    if (old === now) return;
    if (old !== undefined) {
      const keys = this.#index.get(old);
      keys?.delete(key);
      if (keys?.size === 0) this.#index.delete(old);
    }
    if (now !== undefined) {
      const keys = this.#index.get(now);
      if (keys === undefined) this.#index.set(now, new Set([key]));
      else keys.add(key);
    }
  }

  #notify(key: string, before: R | undefined, after: R | undefined): void {
    for (const listener of this.#listeners) this.#guard(() => listener(key, before, after));
  }

  #setConnection(state: ConnectionState): void {
    this.#connection = state;
    for (const listener of this.#connectionListeners) this.#guard(() => listener(state));
  }

  #guard<U>(call: () => U): U | undefined {
    try {
      return call();
    } catch (error) {
      this.#options.logger.error({ resource: this.#options.type.plural, error: messageOf(error) }, 'a listener or projection failed');
      return undefined;
    }
  }
}

/** The cache key of an object: `namespace/name`, or `name` for cluster-scoped ones. */
export function keyOf(object: KubernetesObject): string {
  const { namespace, name = '' } = object.metadata;
  return namespace === undefined ? name : `${namespace}/${name}`;
}
