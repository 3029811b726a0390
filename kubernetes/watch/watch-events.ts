// What a watch delivers, and who takes it: the events of `meta/v1` WatchEvent in version order.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { isLater } from '../../model/objects/resource-version.ts';
import { ApiError } from '../flow/api-error.ts';
import { INITIAL_EVENTS_END } from '../json/watched-fields.ts';

/** Receives the collection. Calls are in version order and never concurrent. */
export interface ReflectorSink<T extends KubernetesObject> {
  /** A list begins; items of an earlier, unfinished list are void. */
  listing(): void;
  /** One page of it. */
  listed(objects: readonly T[]): void;
  /** An object of an earlier page was deleted in the meantime. */
  unlisted(object: T): void;
  /** The list is complete: objects on no page no longer exist. */
  listEnded(): void;
  changed(object: T, resourceVersion: string): void;
  deleted(object: T, resourceVersion: string): void;
  /** The collection is unchanged up to this version (bookmark). */
  bookmark(resourceVersion: string): void;
  /** Whether the collection, as it was last heard of, has no objects. */
  isEmpty(): boolean;
  /** Whether a watch is open, or a list was answered where none is needed; the error when not. */
  connection(state: { readonly open: true } | { readonly open: false; readonly error: unknown }): void;
}

/** A watch event (`meta/v1` WatchEvent). */
export interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: T & { readonly code?: number; readonly reason?: string; readonly message?: string };
}

/** The initial events of a streaming list: all objects, then a bookmark. */
export class InitialList<T extends KubernetesObject> {
  readonly #sink: ReflectorSink<T>;

  constructor(sink: ReflectorSink<T>) {
    this.#sink = sink;
  }

  /** Returns the resourceVersion of the list once it is complete. */
  take(event: WatchEvent<T>): string | undefined {
    const { object } = event;
    throwIfError(event);
    if (event.type === 'DELETED') this.#sink.unlisted(object);
    else if (event.type !== 'BOOKMARK') this.#sink.listed([object]);
    else if (object.metadata.annotations?.[INITIAL_EVENTS_END] === 'true') {
      const version = object.metadata.resourceVersion ?? '';
      this.#sink.bookmark(version);
      this.#sink.listEnded();
      return version;
    }
    return undefined;
  }
}

function throwIfError({ type, object }: WatchEvent<KubernetesObject>): void {
  if (type === 'ERROR') throw new ApiError(object.code ?? 500, object.reason ?? '', object.message ?? 'watch error');
}

/**
 * Delivers one event and returns the version to resume from. Events not newer than `from` are replays and are dropped.
 */
export function deliver<T extends KubernetesObject>(
  event: WatchEvent<T>, from: string, sink: ReflectorSink<T>,
): string {
  throwIfError(event);
  const version = event.object.metadata.resourceVersion ?? '';
  if (!isLater(version, from)) return from;
  if (event.type === 'BOOKMARK') sink.bookmark(version);
  else if (event.type === 'DELETED') sink.deleted(event.object, version);
  else sink.changed(event.object, version);
  return version;
}
