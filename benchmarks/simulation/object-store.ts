// The objects of one simulated cluster, as an API server stores them: versions, generations, finalizers, and the events
// of each change. Schemas, admission and permissions are left out.
import { randomUUID } from 'node:crypto';
import type { KubernetesObject } from '../../api/objects/core.ts';

/** An object with whatever fields it has. */
export type StoredObject = KubernetesObject & Readonly<Record<string, unknown>>;

/** A change, as a watch tells of it. */
export interface StoredEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: StoredObject;
  readonly version: number;
}

/** A write that an API server rejects, with its status and reason. */
export class RejectedWrite extends Error {
  override readonly name = 'RejectedWrite';
  readonly status: number;
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

/** Name of an object; `collection` is `plural.group`, or `plural` for the core group. */
export interface StoredName {
  readonly collection: string;
  readonly namespace?: string | undefined;
  readonly name: string;
}

type Listener = (event: StoredEvent) => void;

/** Events of a collection that a watch may still resume from. */
const REMEMBERED_EVENTS = 2_000;

class Collection {
  readonly objects = new Map<string, StoredObject>();
  readonly events: StoredEvent[] = [];
  readonly listeners = new Set<Listener>();
  /** Events up to this version are forgotten. */
  forgottenTo = 0;
}

/** All objects of one cluster. */
export class ObjectStore {
  readonly #collections = new Map<string, Collection>();
  #version = 1;

  /** The latest resourceVersion. */
  get version(): number {
    return this.#version;
  }

  /** All objects of a collection. */
  list(collection: string): Iterable<StoredObject> {
    return this.#collection(collection).objects.values();
  }

  /** One object. */
  get({ collection, namespace, name }: StoredName): StoredObject | undefined {
    return this.#collection(collection).objects.get(keyOf(namespace, name));
  }

  /** Events of a collection after a version; undefined when they are forgotten (410 Gone). */
  eventsAfter(collection: string, version: number): readonly StoredEvent[] | undefined {
    const { events, forgottenTo } = this.#collection(collection);
    return version < forgottenTo ? undefined : events.filter((event) => event.version > version);
  }

  /** Calls `listener` for each change of a collection, before the write is answered. Returns what ends that. */
  listen(collection: string, listener: Listener): () => void {
    const { listeners } = this.#collection(collection);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  /**
   * Stores a new object; its UID and age are new unless it brings them. Throws RejectedWrite when there is one of its
   * name.
   */
  create(collection: string, object: StoredObject): StoredObject {
    const { namespace, name = `${object.metadata.generateName ?? ''}${randomUUID().slice(0, 5)}` } = object.metadata;
    if (this.get({ collection, namespace, name }) !== undefined) {
      throw new RejectedWrite(409, 'AlreadyExists', `${collection} "${name}" already exists`);
    }
    const own = { uid: randomUUID(), creationTimestamp: now(), generation: 1 };
    return this.#put(collection, { ...object, metadata: { ...own, ...object.metadata, name } }, 'ADDED');
  }

  /**
   * Replaces an object by what `change` makes of it, and removes it when it is being deleted and has lost its last
   * finalizer. Throws RejectedWrite when it does not exist.
   */
  update(at: StoredName, change: (object: StoredObject) => StoredObject): StoredObject {
    const before = this.get(at);
    if (before === undefined) throw new RejectedWrite(404, 'NotFound', `${at.collection} "${at.name}" not found`);
    const after = change(before);
    const { finalizers = [], deletionTimestamp } = after.metadata;
    if (deletionTimestamp !== undefined && finalizers.length === 0) return this.#put(at.collection, after, 'DELETED');
    return this.#put(at.collection, after, 'MODIFIED');
  }

  /** Deletes an object; one with finalizers is marked. Throws RejectedWrite when it does not exist. */
  delete(at: StoredName): StoredObject {
    return this.update(at, (object) => {
      const deletionTimestamp = object.metadata.deletionTimestamp ?? now();
      return { ...object, metadata: { ...object.metadata, deletionTimestamp } };
    });
  }

  #collection(name: string): Collection {
    let collection = this.#collections.get(name);
    if (collection === undefined) this.#collections.set(name, (collection = new Collection()));
    return collection;
  }

  #put(name: string, object: StoredObject, type: StoredEvent['type']): StoredObject {
    const collection = this.#collection(name);
    const version = (this.#version += 1);
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    const key = keyOf(stored.metadata.namespace, stored.metadata.name ?? '');
    if (type === 'DELETED') collection.objects.delete(key);
    else collection.objects.set(key, stored);
    const event = { type, object: stored, version };
    collection.events.push(event);
    if (collection.events.length > 2 * REMEMBERED_EVENTS) {
      const forgotten = collection.events.splice(0, REMEMBERED_EVENTS);
      collection.forgottenTo = forgotten.at(-1)?.version ?? collection.forgottenTo;
    }
    for (const listener of collection.listeners) listener(event);
    return stored;
  }
}

function now(): string {
  return new Date().toISOString().replace(/\.\d+Z/, 'Z');
}

function keyOf(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
