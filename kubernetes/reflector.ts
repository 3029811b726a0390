// Keeps a sink equal to a collection of an API server: list once, then watch from there; list again only when history is gone.
// The watch resumes from the last version seen, so a cut stream loses nothing. Semantics of client-go `tools/cache/reflector.go`.
import type { Logger } from 'pino';
import type { KubernetesObject } from '../api/core.ts';
import type { ResourceType } from '../api/resource-types.ts';
import { messageOf } from '../process/errors.ts';
import { ApiError, isExpired } from './api-error.ts';
import { backoffDelay, delay } from './backoff.ts';
import { pathOf, selectors, type ClusterClient, type Selection } from './cluster-client.ts';
import { parseJsonLines } from './json-lines.ts';

/** What to keep a copy of, and how to reach it. */
export interface ReflectorSource<T extends KubernetesObject> {
  readonly client: ClusterClient;
  readonly type: ResourceType<T>;
  readonly selection: Selection;
  readonly logger: Logger;
}

/** Receives the collection. Calls come in the order of the versions, never two at once. */
export interface ReflectorSink<T extends KubernetesObject> {
  /** A full list begins; what an earlier, unfinished one brought does not count. */
  listing(): void;
  /** One page of it. */
  listed(objects: readonly T[]): void;
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
interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: KubernetesObject & { readonly code?: number; readonly reason?: string; readonly message?: string };
}

const PAGE_SIZE = 500;
const RETRY = { firstMs: 200, maxMs: 5_000 };
/** A watch that stood for this long was a good one: what happens then counts as a first failure (in ms). */
const STABLE_MS = 1_000;
/** The server ends each watch after this long, in seconds; spread so that not all end at once. */
const WATCH_SECONDS = { least: 300, spread: 300 };
/** Bookmarks come about every minute: a watch that is silent for longer than this is dead (in ms). */
const SILENCE_LIMIT_MS = 90_000;

/** Runs until `signal` is aborted. Never throws: every failure is reported to the sink and retried. */
export async function reflect<T extends KubernetesObject>(source: ReflectorSource<T>, sink: ReflectorSink<T>, signal: AbortSignal): Promise<void> {
  const progress: Progress = { version: undefined, openedAt: undefined };
  let failures = 0;
  while (!signal.aborted) {
    const askedToWaitMs = await listAndWatch(source, sink, progress, signal);
    // A clean end counts as a failure and events do not clear the count: a server that ends each watch at once,
    // or answers each with an error event, must not be asked in a tight loop.
    const stable = progress.openedAt !== undefined && performance.now() - progress.openedAt >= STABLE_MS;
    failures = stable ? 1 : failures + 1;
    const wait = askedToWaitMs + (failures > 1 ? backoffDelay(RETRY, failures - 1, Math.random()) : 0);
    if (wait > 0) await delay(wait, signal);
  }
}

/** How far the collection has been followed, and since when (by the monotonic clock, in ms) the present watch is open. */
interface Progress {
  version: string | undefined;
  openedAt: number | undefined;
}

/** Follows until the watch ends or something fails. Gives how long the server asked us to wait, in ms. */
async function listAndWatch<T extends KubernetesObject>(
  source: ReflectorSource<T>, sink: ReflectorSink<T>, progress: Progress, signal: AbortSignal,
): Promise<number> {
  progress.openedAt = undefined;
  try {
    progress.version ??= await listAll(source, sink, signal);
    for await (const event of watch(source, progress.version, signal)) {
      if (event === 'opened') {
        progress.openedAt = performance.now();
        sink.connection({ open: true });
      } else {
        progress.version = deliver(event, progress.version, sink);
      }
    }
    return 0;
  } catch (error) {
    if (signal.aborted) return 0;
    if (isExpired(error)) progress.version = undefined;
    sink.connection({ open: false, error });
    source.logger.debug({ resource: source.type.plural, error: messageOf(error) }, 'watch interrupted');
    return error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
  }
}

async function listAll<T extends KubernetesObject>(source: ReflectorSource<T>, sink: ReflectorSink<T>, signal: AbortSignal): Promise<string> {
  sink.listing();
  let next: string | undefined;
  for (;;) {
    const page = await source.client.listPage(source.type, source.selection, { limit: PAGE_SIZE, continue: next }, signal);
    sink.listed(page.items);
    next = page.metadata.continue === '' ? undefined : page.metadata.continue;
    if (next !== undefined) continue;
    sink.bookmark(page.metadata.resourceVersion);
    sink.listEnded();
    return page.metadata.resourceVersion;
  }
}

async function* watch<T extends KubernetesObject>(source: ReflectorSource<T>, from: string, signal: AbortSignal): AsyncGenerator<WatchEvent | 'opened'> {
  const { client, type, selection } = source;
  const silence = new AbortController();
  // It runs from before the opening: an error answer may stall in its body as well.
  const watchdog = setTimeout(() => silence.abort(new Error('the watch was silent for too long')), SILENCE_LIMIT_MS);
  try {
    const body = await client.transport.stream(
      {
        method: 'GET',
        path: pathOf(type, { namespace: selection.namespace }),
        query: {
          ...selectors(selection),
          watch: 'true',
          allowWatchBookmarks: 'true',
          resourceVersion: from,
          timeoutSeconds: String(WATCH_SECONDS.least + Math.floor(Math.random() * WATCH_SECONDS.spread)),
        },
      },
      AbortSignal.any([signal, silence.signal]),
    );
    yield 'opened';
    // Leaving the loop in any way destroys the body.
    for await (const event of parseJsonLines(body)) {
      watchdog.refresh();
      yield event as WatchEvent;
    }
  } finally {
    clearTimeout(watchdog);
    silence.abort();
  }
}

/** Hands one event on and gives the version to resume from. What is not later than `from` is a replay and dropped. */
function deliver<T extends KubernetesObject>(event: WatchEvent, from: string, sink: ReflectorSink<T>): string {
  if (event.type === 'ERROR') throw new ApiError(event.object.code ?? 500, event.object.reason ?? '', event.object.message ?? 'watch error');
  const version = event.object.metadata.resourceVersion ?? '';
  if (!isLater(version, from)) return from;
  if (event.type === 'BOOKMARK') sink.bookmark(version);
  else if (event.type === 'DELETED') sink.deleted(event.object as unknown as T, version);
  else sink.changed(event.object as unknown as T, version);
  return version;
}

/** Compares versions of one collection: decimal numbers without leading zeros that only grow (KEP-5504). */
function isLater(version: string, than: string): boolean {
  return version.length === than.length ? version > than : version.length > than.length;
}
