// Keeps a sink in sync with a collection: list once, then watch; relist only when the resourceVersion has expired. The
// watch resumes from the last version, so a cut stream loses nothing. Semantics of client-go
// `tools/cache/reflector.go`.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import type { FieldsOf } from '../../model/objects/fields.ts';
import { isLater } from '../../model/objects/resource-version.ts';
import { messageOf } from '../../process/errors.ts';
import { ApiError, isExpired, UnreachableError, type OnceReachable } from '../flow/api-error.ts';
import { backoffDelay, delayUnless } from '../flow/backoff.ts';
import { CredentialsChangedError } from '../http/cluster-access.ts';
import { pathOf, selectors, type ClusterClient, type ListPage, type Selection } from '../client/cluster-client.ts';
import { checkValues, LimitError } from '../connect/connection-limits.ts';
import type { ReadDocument } from '../json/json-lines.ts';
import type { WatchStream } from '../http/open-stream.ts';
import { continueTokenOf, readersOf, type CollectionReaders } from '../json/watched-fields.ts';
import { readEvents, SilentWatchError, type EventStream } from './event-reader.ts';
import type { WatchDemand } from './watch-demand.ts';
import { deliver, InitialList, type ReflectorSink, type WatchEvent } from './watch-events.ts';

/** What to list and watch, and with which transport. */
export interface ReflectorSource<T extends KubernetesObject> {
  readonly client: ClusterClient;
  readonly type: ResourceType<T>;
  readonly selection: Selection;
  readonly logger: Logger;
  /** Fields to read of each object in addition to its identity; all but managedFields when missing. For large
   * collections. */
  readonly fields?: FieldsOf<T>;
  /** Whether the collection has to be watched while it is empty; always when missing. */
  readonly demand?: WatchDemand;
  /** Whether API servers send no bookmarks for the kind, as for Events, of which they keep no watch cache. */
  readonly lacksBookmarks?: boolean;
}

/** A source with its readers. */
interface OpenedSource<T extends KubernetesObject> extends ReflectorSource<T> {
  readonly read: CollectionReaders;
}

/** Small enough that parsing a page of usual pods blocks the event loop for some 10 ms. */
const PAGE_SIZE = 200;
const RETRY = { firstMs: 200, maxMs: 5_000 };
/**
 * Consecutive 403s after which they no longer count as RBAC that is still propagating, or as an API server that has
 * just started.
 */
const PASSING_REFUSALS = 6;
/** A watch that was open for this long was healthy: the next error counts as a first failure (in ms). */
const STABLE_MS = 1_000;
/** Watch timeout in seconds, after which the server ends it; with jitter, so that not all end at once. */
const WATCH_SECONDS = { least: 300, spread: 300 };
/** The same without bookmarks: the server ends a quiet watch before its silence makes it count as dead. */
const QUIET_WATCH_SECONDS = { least: 60, spread: 20 };

/** Runs until `signal` is aborted. Never throws: every failure is reported to the sink and retried. */
export async function reflect<T extends KubernetesObject>(
  source: ReflectorSource<T>, sink: ReflectorSink<T>, signal: AbortSignal,
): Promise<void> {
  const progress: Progress = { version: undefined, openedAt: undefined, isRefused: false, wasSilent: false };
  const opened = { ...source, read: readersOf(source.fields) };
  let failures = 0;
  let refusals = 0;
  while (!signal.aborted) {
    const ending = await listAndWatch(opened, sink, progress, signal);
    if (ending.kind === 'rotated') continue;
    if (sink.isEmpty()) source.demand?.rest();
    // A clean end counts as a failure and events do not reset the count: a server that ends each watch at once, or
    // answers each with an ERROR event, must not be called in a tight loop.
    const stable = progress.openedAt !== undefined && performance.now() - progress.openedAt >= STABLE_MS;
    failures = stable ? 1 : failures + 1;
    refusals = ending.kind === 'forbidden' ? refusals + 1 : 0;
    progress.isRefused = refusals > PASSING_REFUSALS;
    const wait = ending.retryAfterMs + (failures > 1 ? backoffDelay(RETRY, failures - 1, Math.random()) : 0);
    if (progress.isRefused) await source.client.transport.refused.next(signal);
    else if (wait > 0 && (await delayUnless(ending.onceReachable, wait, signal))) failures = 1;
  }
}

/** Progress: the last version, and when the current watch was opened (monotonic clock, ms). */
interface Progress {
  version: string | undefined;
  openedAt: number | undefined;
  /** Waits for the next retry of a forbidden request. */
  isRefused: boolean;
  /** The last watch delivered nothing for too long, not even a bookmark. */
  wasSilent: boolean;
}

/** Why the watch ended; `retryAfterMs` is the server's Retry-After, `onceReachable` is of one that did not answer. */
type Ending = { readonly kind: 'rotated' } | {
  readonly kind: 'ended' | 'forbidden'; readonly retryAfterMs: number;
  readonly onceReachable?: OnceReachable | undefined
};

async function listAndWatch<T extends KubernetesObject>(
  source: OpenedSource<T>, sink: ReflectorSink<T>, progress: Progress, signal: AbortSignal,
): Promise<Ending> {
  progress.openedAt = undefined;
  try {
    if (isIdle(source)) await listUntilDemanded(source, sink, progress, signal);
    else if (
      progress.version === undefined && source.client.transport.offersStreamingLists
    ) await listThenWatch(source, sink, progress, signal);
    else await watchFrom(source, sink, progress, signal);
    return { kind: 'ended', retryAfterMs: 0 };
  } catch (error) {
    if (error instanceof CredentialsChangedError) return { kind: 'rotated' };
    if (signal.aborted) return { kind: 'ended', retryAfterMs: 0 };
    if (isExpired(error)) progress.version = undefined;
    progress.wasSilent = error instanceof SilentWatchError;
    if (error instanceof LimitError) source.client.transport.budget?.exceeded(error);
    sink.connection({ open: false, error });
    source.logger.debug({ resource: source.type.plural, error: messageOf(error) }, 'watch interrupted');
    return endingOf(error);
  }
}

function endingOf(error: unknown): Ending {
  if (error instanceof UnreachableError) return { kind: 'ended', retryAfterMs: 0, onceReachable: error.onceReachable };
  if (!(error instanceof ApiError)) return { kind: 'ended', retryAfterMs: 0 };
  return { kind: error.status === 403 ? 'forbidden' : 'ended', retryAfterMs: error.retryAfterMs ?? 0 };
}

type OnDemand<T extends KubernetesObject> = OpenedSource<T> & { readonly demand: WatchDemand };

function isIdle<T extends KubernetesObject>(source: OpenedSource<T>): source is OnDemand<T> {
  return source.demand?.isDemanded === false;
}

/** Lists the collection. An empty one rests until its watch is demanded; the watch then continues from the list. */
async function listUntilDemanded<T extends KubernetesObject>(
  source: OnDemand<T>, sink: ReflectorSink<T>, progress: Progress, signal: AbortSignal,
): Promise<void> {
  progress.version = await listPages(source, sink, signal);
  connected(source, sink, progress);
  if (!sink.isEmpty()) source.demand.ask();
  if (await source.demand.untilAsked(signal)) await watchFrom(source, sink, progress, signal);
}

async function watchFrom<T extends KubernetesObject>(
  source: OpenedSource<T>, sink: ReflectorSink<T>, progress: Progress, signal: AbortSignal,
): Promise<void> {
  if (progress.wasSilent && progress.version !== undefined && await isRestored(source, progress.version, signal)) {
    progress.version = undefined;
  }
  progress.version ??= await listPages(source, sink, signal);
  const { body, silenceMs } = await openWatch(source, { resourceVersion: progress.version }, signal);
  opened(source, sink, progress);
  await readEvents({ body, silenceMs, ...linesOf(source) }, (event) => {
    progress.version = deliver(event as WatchEvent<T>, progress.version ?? '', sink);
  });
}

/**
 * Whether the server is at an earlier version than this one, because its etcd was restored from a backup. It delivers
 * no events and no bookmarks then until it is past that version again, which may take days.
 */
async function isRestored<T extends KubernetesObject>(
  { client, type, selection, read }: OpenedSource<T>, version: string, signal: AbortSignal,
): Promise<boolean> {
  const page = read.page(await client.listPageBytes(type, selection, { limit: 1 }, signal)) as ListPage<T>;
  return isLater(version, page.metadata.resourceVersion);
}

/** A streaming list (WatchList, KEP-3157). Falls back to pages where the server does not support it. */
async function listThenWatch<T extends KubernetesObject>(
  source: OpenedSource<T>, sink: ReflectorSink<T>, progress: Progress, signal: AbortSignal,
): Promise<void> {
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
  await readEvents({ ...stream, ...linesOf(source) }, (line) => {
    const event = line as WatchEvent<T>;
    if (progress.version !== undefined) {
      progress.version = deliver(event, progress.version, sink);
      return;
    }
    progress.version = initial.take(event);
    if (progress.version !== undefined) opened(source, sink, progress);
  });
  if (progress.version === undefined) throw new Error('the list ended before it was complete');
}

function opened(
  source: Pick<ReflectorSource<KubernetesObject>, 'client' | 'demand'>,
  sink: Pick<ReflectorSink<KubernetesObject>, 'connection'>, progress: Progress,
): void {
  source.demand?.opened();
  connected(source, sink, progress);
}

function connected(
  { client }: Pick<ReflectorSource<KubernetesObject>, 'client'>,
  sink: Pick<ReflectorSink<KubernetesObject>, 'connection'>, progress: Progress,
): void {
  progress.openedAt = performance.now();
  if (progress.isRefused) client.transport.refused.release();
  progress.isRefused = false;
  sink.connection({ open: true });
}

/** Prefetches the next page while one is processed. */
async function listPages<T extends KubernetesObject>(
  source: OpenedSource<T>, sink: ReflectorSink<T>, signal: AbortSignal,
): Promise<string> {
  sink.listing();
  const ask = (token?: string) => source.client.listPageBytes(
    source.type, source.selection, { limit: source.client.transport.limits?.pageSize ?? PAGE_SIZE, continue: token },
    signal,
  );
  let asked = ask();
  for (;;) {
    const answer = await asked;
    const early = continueTokenOf(answer);
    if (early !== undefined) {
      asked = ask(early);
      asked.catch(() => undefined); // reported to the caller that awaits it
      await nextTurn(); // start the request now
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

function openWatch<T extends KubernetesObject>(
  source: OpenedSource<T>, from: Readonly<Record<string, string>>, signal: AbortSignal,
): Promise<WatchStream> {
  const { client, type, selection } = source;
  const { least, spread } = source.lacksBookmarks === true ? QUIET_WATCH_SECONDS : WATCH_SECONDS;
  const seconds = least + Math.floor(Math.random() * spread);
  const query =
    { ...selectors(selection), watch: 'true', allowWatchBookmarks: 'true', ...from, timeoutSeconds: String(seconds) };
  return client.transport.stream(
    { method: 'GET', path: pathOf(type, { namespace: selection.namespace }), query }, signal,
  );
}

/** Reads watch events, under the limits of the server if it has any. */
function linesOf<T extends KubernetesObject>(
  { client, read: { event } }: OpenedSource<T>,
): Pick<EventStream, 'read' | 'maxLineBytes'> {
  const { limits } = client.transport;
  if (limits === undefined) return { read: event, maxLineBytes: undefined };
  const read: ReadDocument = (bytes, start, end) => {
    checkValues(bytes.subarray(start, end), limits);
    return event(bytes, start, end);
  };
  return { read, maxLineBytes: limits.maxLineBytes };
}
