// Keeps a sink equal to a collection of an API server: list once, then watch from there; list again only when history is gone.
// The watch resumes from the last version seen, so a cut stream loses nothing. Semantics of client-go `tools/cache/reflector.go`.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import type { FieldsOf } from '../../model/objects/fields.ts';
import { isLater } from '../../model/objects/resource-version.ts';
import { messageOf } from '../../process/errors.ts';
import { ApiError, isExpired } from '../flow/api-error.ts';
import { backoffDelay, delay } from '../flow/backoff.ts';
import { CredentialsChangedError } from '../http/cluster-access.ts';
import { pathOf, selectors, type ClusterClient, type ListPage, type Selection } from '../client/cluster-client.ts';
import { checkValues, LimitError } from '../connect/connection-limits.ts';
import { JsonLines, type ReadDocument } from '../json/json-lines.ts';
import type { WatchStream } from '../http/open-stream.ts';
import { continueTokenOf, INITIAL_EVENTS_END, readersOf, type CollectionReaders } from '../json/watched-fields.ts';

/** What to keep a copy of, and how to reach it. */
export interface ReflectorSource<T extends KubernetesObject> {
  readonly client: ClusterClient;
  readonly type: ResourceType<T>;
  readonly selection: Selection;
  readonly logger: Logger;
  /** The fields that are read of each object, besides what identifies it; all but managedFields when missing. For large collections. */
  readonly fields?: FieldsOf<T>;
}

/** A source with the means to read it. */
interface OpenedSource<T extends KubernetesObject> extends ReflectorSource<T> {
  readonly read: CollectionReaders;
}

/** Receives the collection. Calls come in the order of the versions, never two at once. */
export interface ReflectorSink<T extends KubernetesObject> {
  /** A full list begins; what an earlier, unfinished one brought does not count. */
  listing(): void;
  /** One part of it. */
  listed(objects: readonly T[]): void;
  /** An object of a part before has gone meanwhile. */
  unlisted(object: T): void;
  /** The list is complete: objects that were on no page no longer exist. */
  listEnded(): void;
  changed(object: T, resourceVersion: string): void;
  deleted(object: T, resourceVersion: string): void;
  /** The collection is known to be unchanged up to this version. */
  bookmark(resourceVersion: string): void;
  /** Whether a watch is open now; when not, why. */
  connection(state: { readonly open: true } | { readonly open: false; readonly error: unknown }): void;
}

/** A watch event (`meta/v1` WatchEvent). */
interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: T & { readonly code?: number; readonly reason?: string; readonly message?: string };
}

/** Small enough that reading a page of usual pods blocks the event loop for some 10 ms. */
const PAGE_SIZE = 200;
const RETRY = { firstMs: 200, maxMs: 5_000 };
/** After so many 403s in a row they are no longer taken for rights that are just being granted, or for a server that has just begun and knows no roles yet. */
const PASSING_REFUSALS = 6;
/** A watch that stood for this long was a good one: what happens then counts as a first failure (in ms). */
const STABLE_MS = 1_000;
/** Events are read for this long, in ms, before other work gets its turn. */
const TIME_SLICE_MS = 5;
/** The server ends each watch after this long, in seconds; spread so that not all end at once. */
const WATCH_SECONDS = { least: 300, spread: 300 };

/** Runs until `signal` is aborted. Never throws: every failure is reported to the sink and retried. */
export async function reflect<T extends KubernetesObject>(source: ReflectorSource<T>, sink: ReflectorSink<T>, signal: AbortSignal): Promise<void> {
  const progress: Progress = { version: undefined, openedAt: undefined, isRefused: false };
  const opened = { ...source, read: readersOf(source.fields) };
  let failures = 0;
  let refusals = 0;
  while (!signal.aborted) {
    const ending = await listAndWatch(opened, sink, progress, signal);
    if (ending.kind === 'rotated') continue;
    // A clean end counts as a failure and events do not clear the count: a server that ends each watch at once,
    // or answers each with an error event, must not be asked in a tight loop.
    const stable = progress.openedAt !== undefined && performance.now() - progress.openedAt >= STABLE_MS;
    failures = stable ? 1 : failures + 1;
    refusals = ending.kind === 'forbidden' ? refusals + 1 : 0;
    progress.isRefused = refusals > PASSING_REFUSALS;
    const wait = ending.askedToWaitMs + (failures > 1 ? backoffDelay(RETRY, failures - 1, Math.random()) : 0);
    if (progress.isRefused) await source.client.transport.refused.next(signal);
    else if (wait > 0) await delay(wait, signal);
  }
}

/** How far the collection has been followed, and since when (by the monotonic clock, in ms) the present watch is open. */
interface Progress {
  version: string | undefined;
  openedAt: number | undefined;
  /** It waits for its turn to ask again for what it may not have. */
  isRefused: boolean;
}

/** Why following stopped; `askedToWaitMs` is how long the server wants to be left alone. */
type Ending = { readonly kind: 'rotated' } | { readonly kind: 'ended' | 'forbidden'; readonly askedToWaitMs: number };

async function listAndWatch<T extends KubernetesObject>(
  source: OpenedSource<T>, sink: ReflectorSink<T>, progress: Progress, signal: AbortSignal,
): Promise<Ending> {
  progress.openedAt = undefined;
  try {
    if (progress.version === undefined && source.client.transport.offersStreamingLists) await listThenWatch(source, sink, progress, signal);
    else await watchFrom(source, sink, progress, signal);
    return { kind: 'ended', askedToWaitMs: 0 };
  } catch (error) {
    if (error instanceof CredentialsChangedError) return { kind: 'rotated' };
    if (signal.aborted) return { kind: 'ended', askedToWaitMs: 0 };
    if (isExpired(error)) progress.version = undefined;
    if (error instanceof LimitError) source.client.transport.budget?.exceeded(error);
    sink.connection({ open: false, error });
    source.logger.debug({ resource: source.type.plural, error: messageOf(error) }, 'watch interrupted');
    if (!(error instanceof ApiError)) return { kind: 'ended', askedToWaitMs: 0 };
    return { kind: error.status === 403 ? 'forbidden' : 'ended', askedToWaitMs: error.retryAfterMs ?? 0 };
  }
}

async function watchFrom<T extends KubernetesObject>(source: OpenedSource<T>, sink: ReflectorSink<T>, progress: Progress, signal: AbortSignal): Promise<void> {
  progress.version ??= await listPages(source, sink, signal);
  const { body, silenceMs } = await openWatch(source, { resourceVersion: progress.version }, signal);
  opened(source, sink, progress);
  await readEvents<T>({ body, silenceMs, ...linesOf(source) }, (event) => {
    progress.version = deliver(event, progress.version ?? '', sink);
  });
}

/** One stream that lists first and then watches (KEP-3157). Falls back to pages where the server does not offer it. */
async function listThenWatch<T extends KubernetesObject>(source: OpenedSource<T>, sink: ReflectorSink<T>, progress: Progress, signal: AbortSignal): Promise<void> {
  const query = { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' };
  const stream = await openWatch(source, query, signal).catch((error: unknown) => {
    if (!(error instanceof ApiError) || ![400, 405, 422].includes(error.status)) throw error;
    return undefined;
  });
  if (stream === undefined) {
    source.client.transport.offersStreamingLists = false;
    return watchFrom(source, sink, progress, signal);
  }
  sink.listing();
  const initial = new InitialList<T>(sink);
  await readEvents<T>({ ...stream, ...linesOf(source) }, (event) => {
    if (progress.version !== undefined) {
      progress.version = deliver(event, progress.version, sink);
      return;
    }
    progress.version = initial.take(event);
    if (progress.version !== undefined) opened(source, sink, progress);
  });
  if (progress.version === undefined) throw new Error('the list ended before it was complete');
}

function opened({ client }: Pick<ReflectorSource<KubernetesObject>, 'client'>, sink: Pick<ReflectorSink<KubernetesObject>, 'connection'>, progress: Progress): void {
  progress.openedAt = performance.now();
  if (progress.isRefused) client.transport.refused.release();
  progress.isRefused = false;
  sink.connection({ open: true });
}

/** The first events of a stream that lists: everything there is, then a bookmark that says so. */
class InitialList<T extends KubernetesObject> {
  readonly #sink: ReflectorSink<T>;

  constructor(sink: ReflectorSink<T>) {
    this.#sink = sink;
  }

  /** Gives the version of the list once it is complete. */
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

/** While a page is read the next one is already asked for. */
async function listPages<T extends KubernetesObject>(source: OpenedSource<T>, sink: ReflectorSink<T>, signal: AbortSignal): Promise<string> {
  sink.listing();
  const ask = (token?: string) => source.client.listPageBytes(source.type, source.selection, { limit: source.client.transport.limits?.pageSize ?? PAGE_SIZE, continue: token }, signal);
  let asked = ask();
  for (;;) {
    const answer = await asked;
    const early = continueTokenOf(answer);
    if (early !== undefined) {
      asked = ask(early);
      asked.catch(() => undefined); // whoever waits for it hears of it
      await nextTurn(); // the request goes out
    }
    const page = source.read.page(answer) as ListPage<T>;
    sink.listed(page.items);
    if (early !== undefined) continue;
    const { continue: token = '', resourceVersion } = page.metadata;
    if (token === '') {
      sink.bookmark(resourceVersion);
      sink.listEnded();
      return resourceVersion;
    }
    asked = ask(token);
  }
}

function openWatch<T extends KubernetesObject>(source: OpenedSource<T>, from: Readonly<Record<string, string>>, signal: AbortSignal): Promise<WatchStream> {
  const { client, type, selection } = source;
  const seconds = WATCH_SECONDS.least + Math.floor(Math.random() * WATCH_SECONDS.spread);
  const query = { ...selectors(selection), watch: 'true', allowWatchBookmarks: 'true', ...from, timeoutSeconds: String(seconds) };
  return client.transport.stream({ method: 'GET', path: pathOf(type, { namespace: selection.namespace }), query }, signal);
}

interface LineReading {
  readonly read: ReadDocument;
  /** The longest that is usual when undefined. */
  readonly maxLineBytes: number | undefined;
}

/** How the lines of a watch are read: of a server that has limits, only those that keep to them. */
function linesOf<T extends KubernetesObject>({ client, read: { event } }: OpenedSource<T>): LineReading {
  const { limits } = client.transport;
  if (limits === undefined) return { read: event, maxLineBytes: undefined };
  const read: ReadDocument = (bytes, start, end) => {
    checkValues(bytes.subarray(start, end), limits);
    return event(bytes, start, end);
  };
  return { read, maxLineBytes: limits.maxLineBytes };
}

/** Hands on event after event until the stream ends. Other work gets its turn: nobody waits for longer than {@link TIME_SLICE_MS}. */
async function readEvents<T extends KubernetesObject>({ body, silenceMs, read, maxLineBytes }: WatchStream & LineReading, take: (event: WatchEvent<T>) => void): Promise<void> {
  const watchdog = setTimeout(() => body.destroy(new Error('the watch was silent for too long')), silenceMs);
  const lines = new JsonLines(read, maxLineBytes);
  let turnBegan = performance.now();
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      watchdog.refresh();
      for (const event of lines.push(chunk)) {
        take(event as WatchEvent<T>);
        if (performance.now() - turnBegan < TIME_SLICE_MS) continue;
        await nextTurn();
        turnBegan = performance.now();
      }
    }
  } finally {
    clearTimeout(watchdog);
    body.destroy();
  }
}

function throwIfError({ type, object }: WatchEvent<KubernetesObject>): void {
  if (type === 'ERROR') throw new ApiError(object.code ?? 500, object.reason ?? '', object.message ?? 'watch error');
}

/** Hands one event on and gives the version to resume from. What is not later than `from` is a replay and dropped. */
function deliver<T extends KubernetesObject>(event: WatchEvent<T>, from: string, sink: ReflectorSink<T>): string {
  throwIfError(event);
  const version = event.object.metadata.resourceVersion ?? '';
  if (!isLater(version, from)) return from;
  if (event.type === 'BOOKMARK') sink.bookmark(version);
  else if (event.type === 'DELETED') sink.deleted(event.object, version);
  else sink.changed(event.object, version);
  return version;
}
