// An informer whose cache holds slim records: objects are projected as they arrive and then dropped. Listeners see
// every change of a key in order; a relist after a gap yields synthetic deletes. A listener or projection that throws
// is logged and skipped, so that the others still run.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { SharedValues } from '../../model/objects/shared-values.ts';
import { messageOf } from '../../process/errors.ts';
import { informerMetrics } from '../../process/metrics.ts';
import { RecordIndex } from './record-index.ts';
import { reflect, type ReflectorSource } from './reflector.ts';
import type { ReflectorSink } from './watch-events.ts';

/** Called on each change of a record: `before` is missing when it is new, `after` when it is deleted. */
export type ChangeListener<R> = (key: string, before: R | undefined, after: R | undefined) => void;

/** Whether the watch is open, or was not needed when the empty collection was listed; or why neither. */
export type ConnectionState = { readonly kind: 'connecting' } | { readonly kind: 'open' }
  | { readonly kind: 'broken'; readonly error: unknown };

/** Returns the index value of a record; undefined leaves it out of the index. */
export type IndexKey<R> = (record: R) => string | undefined;

/**
 * What to cache of each object. `project` also gets its key, and what keeps values once that the records of this
 * collection have in common; it returns undefined to skip an object.
 */
export interface InformerOptions<T extends KubernetesObject, R> extends ReflectorSource<T> {
  readonly project: (object: T, key: string, shared: SharedValues) => R | undefined;
  /** The index of {@link Informer.indexed}. */
  readonly index?: IndexKey<R>;
  /** More indexes by name, for {@link Informer.by}: owner, parent UID, node. */
  readonly indexes?: Readonly<Record<string, IndexKey<R>>>;
}

interface Entry<R> {
  record: R;
  resourceVersion: string;
  /** The relist that last contained the object, counted from 1. */
  list: number;
  /** Its size in the server's cache budget; 0 where there is none. */
  bytes: number;
}

/** Cached records of one collection, by `namespace/name` (or `name`). */
export class Informer<T extends KubernetesObject, R> {
  readonly #options: InformerOptions<T, R>;
  readonly #entries = new Map<string, Entry<R>>();
  readonly #shared = new SharedValues();
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

  /** Lists and watches the collection until `signal` is aborted. Add listeners before. */
  async run(signal: AbortSignal): Promise<void> {
    const metrics = informerMetrics(this.#options.type.plural, () => this.size);
    this.onListed(() => metrics.listed());
    let wasOpen = false;
    this.onConnection(({ kind }) => {
      if (kind === 'broken' && wasOpen) metrics.broke();
      wasOpen = kind === 'open';
    });
    await reflect(this.#options, this.#sink(), signal);
    metrics.ended();
    this.#resolveSynced();
  }

  /** Adds a listener. A late one is called at once with all records as new. */
  onChange(listener: ChangeListener<R>): void {
    this.#listeners.push(listener);
    for (const [key, { record }] of this.#entries) this.#guard(() => listener(key, undefined, record));
  }

  /** Adds a listener for the watch connecting and disconnecting. */
  onConnection(listener: (state: ConnectionState) => void): void {
    this.#connectionListeners.push(listener);
  }

  /** Adds a listener for each completed list. */
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

  /** The records with this value in the default index. */
  indexed(value: string): R[] {
    return this.#recordsOf(this.#indexes.get('')?.keys(value));
  }

  /** The records with this value in the named index. Throws RangeError when there is no such index. */
  by(name: string, value: string): R[] {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new RangeError(`no index ${name}`);
    return this.#recordsOf(index.keys(value));
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Whether a full list was received. Before that a missing record means nothing. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Resolves when {@link hasSynced} becomes true, or when the informer has stopped before. */
  get synced(): Promise<void> {
    return this.#synced;
  }

  /** The resourceVersion up to which the cache is complete. */
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
      isEmpty: () => this.#entries.size === 0,
      connection: (state) =>
        this.#setConnection(state.open ? { kind: 'open' } : { kind: 'broken', error: state.error }),
    };
  }

  /** Removes records that the last list did not contain. */
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
    const projected = this.#guard(() => ({ record: this.#options.project(object, key, this.#shared) }));
    if (projected === undefined) return; // an unreadable object is not a deleted one: keep the record
    const { record } = projected;
    if (record === undefined) return this.#remove(key);
    const before = entry?.record;
    this.#store(key, entry, { record, resourceVersion });
    this.#reindex(key, before, record);
    this.#notify(key, before, record);
  }

  /** Throws LimitError when the record exceeds what is left of the server's budget. */
  #store(
    key: string, entry: Entry<R> | undefined, { record, resourceVersion }: Pick<Entry<R>, 'record' | 'resourceVersion'>,
  ): void {
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
    for (const index of this.#indexes.values()) index.update(key, before, after);
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
      this.#options.logger.error(
        { resource: this.#options.type.plural, error: messageOf(error) }, 'a listener or projection failed',
      );
      return undefined;
    }
  }
}

/** The cache key of an object: `namespace/name`, or `name` for cluster-scoped ones. */
export function keyOf(object: KubernetesObject): string {
  const { namespace, name = '' } = object.metadata;
  return namespace === undefined ? name : [namespace, name].join('/'); // in one piece, unlike a template's
}
