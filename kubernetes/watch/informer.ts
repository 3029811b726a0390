// A live copy of a collection as slim records: objects are projected as they arrive and forgotten.
// Listeners see every change of a key in order; a list after a gap gives synthetic deletes.
// A listener or projection that throws is logged and passed over: it must not stop the others from being told.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { messageOf } from '../../process/errors.ts';
import { informerMetrics } from '../../process/metrics.ts';
import { RecordIndex } from './record-index.ts';
import { reflect, type ReflectorSink, type ReflectorSource } from './reflector.ts';

/** Told of each change of a record: `before` is missing when it is new, `after` when it is gone. */
export type ChangeListener<R> = (key: string, before: R | undefined, after: R | undefined) => void;

/** Whether the watch is open, or why not. */
export type ConnectionState = { readonly kind: 'connecting' } | { readonly kind: 'open' } | { readonly kind: 'broken'; readonly error: unknown };

/** Gives the value that a record is found by; undefined leaves it out. */
export type IndexKey<R> = (record: R) => string | undefined;

/** What to keep of each object. `project` gets its key as well; it gives undefined for objects that do not matter. */
export interface InformerOptions<T extends KubernetesObject, R> extends ReflectorSource<T> {
  readonly project: (object: T, key: string) => R | undefined;
  /** What {@link Informer.indexed} looks in. */
  readonly index?: IndexKey<R>;
  /** More of them, by name, for {@link Informer.by}: owner, parent UID, node. */
  readonly indexes?: Readonly<Record<string, IndexKey<R>>>;
}

interface Entry<R> {
  record: R;
  resourceVersion: string;
  /** The list that the object was last seen in or after, counted from 1. */
  list: number;
  /** What it counts for in the budget of its server; 0 where there is none. */
  bytes: number;
}

/** Cached records of one collection, by `namespace/name` (or `name`). */
export class Informer<T extends KubernetesObject, R> {
  readonly #options: InformerOptions<T, R>;
  readonly #entries = new Map<string, Entry<R>>();
  readonly #indexes = new Map<string, RecordIndex<R>>();
  readonly #listeners: ChangeListener<R>[] = [];
  readonly #connectionListeners: ((state: ConnectionState) => void)[] = [];
  readonly #listedListeners: (() => void)[] = [];
  readonly #synced: Promise<void>;
  #resolveSynced: () => void = () => undefined;
  #list = 0;
  #hasSynced = false;
  #resourceVersion = '';
  #connection: ConnectionState = { kind: 'connecting' };

  constructor(options: InformerOptions<T, R>) {
    this.#options = options;
    if (options.index !== undefined) this.#indexes.set('', new RecordIndex(options.index));
    for (const [name, keyOf] of Object.entries(options.indexes ?? {})) this.#indexes.set(name, new RecordIndex(keyOf));
    this.#synced = new Promise((resolve) => {
      this.#resolveSynced = resolve;
    });
  }

  /** Starts to follow the collection until `signal` is aborted. Add listeners before. */
  async run(signal: AbortSignal): Promise<void> {
    const metrics = informerMetrics(this.#options.type.plural, () => this.size);
    this.onListed(() => metrics.listed());
    this.onConnection(({ kind }) => {
      if (kind === 'broken') metrics.broke();
    });
    await reflect(this.#options, this.#sink(), signal);
    metrics.ended();
    this.#resolveSynced();
  }

  /** Adds a listener. One that comes late is told of all records as new ones at once. */
  onChange(listener: ChangeListener<R>): void {
    this.#listeners.push(listener);
    for (const [key, { record }] of this.#entries) this.#guard(() => listener(key, undefined, record));
  }

  /** Adds a listener for the watch opening and breaking. */
  onConnection(listener: (state: ConnectionState) => void): void {
    this.#connectionListeners.push(listener);
  }

  /** Adds a listener for each full list that was read to its end. */
  onListed(listener: () => void): void {
    this.#listedListeners.push(listener);
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
    return this.#recordsOf(this.#indexes.get('')?.keys(value));
  }

  /** The records that have this value in the index of this name. Throws RangeError when there is no such index. */
  by(name: string, value: string): R[] {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new RangeError(`no index ${name}`);
    return this.#recordsOf(index.keys(value));
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Whether a full list has been seen. Before that nothing may be concluded from a missing record. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Resolves when {@link hasSynced} becomes true, or following has ended before. */
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
    for (const listener of this.#listedListeners) this.#guard(listener);
  }

  #put(object: T): void {
    const key = keyOf(object);
    const entry = this.#entries.get(key);
    const resourceVersion = object.metadata.resourceVersion ?? '';
    if (entry !== undefined) entry.list = this.#list;
    if (entry?.resourceVersion === resourceVersion) return;
    const projected = this.#guard(() => ({ record: this.#options.project(object, key) }));
    if (projected === undefined) return; // an object that cannot be read is not a deleted one: the record before stays
    const { record } = projected;
    if (record === undefined) return this.#remove(key);
    const before = entry?.record;
    this.#store(key, entry, { record, resourceVersion });
    this.#reindex(key, before, record);
    this.#notify(key, before, record);
  }

  /** Throws LimitError when the server has a budget and this is more than is left of it. */
  #store(key: string, entry: Entry<R> | undefined, { record, resourceVersion }: Pick<Entry<R>, 'record' | 'resourceVersion'>): void {
    const bytes = this.#options.client.transport.budget?.take(record, entry?.bytes ?? 0) ?? 0;
    if (entry === undefined) this.#entries.set(key, { record, resourceVersion, list: this.#list, bytes });
    else Object.assign(entry, { record, resourceVersion, bytes });
  }

  #remove(key: string): void {
    const before = this.#entries.get(key);
    if (before === undefined) return;
    this.#entries.delete(key);
    this.#options.client.transport.budget?.free(before.bytes);
    this.#reindex(key, before.record, undefined);
    this.#notify(key, before.record, undefined);
  }

  #recordsOf(keys: Iterable<string> = []): R[] {
    const records: R[] = [];
    for (const key of keys) {
      const entry = this.#entries.get(key);
      if (entry !== undefined) records.push(entry.record);
    }
    return records;
  }

  #reindex(key: string, before: R | undefined, after: R | undefined): void {
    for (const index of this.#indexes.values()) index.move(key, before, after);
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
