// The path that only API servers know: the plain path of a webhook behind an unguessable segment that is in the webhook configurations. Who asks on
// another path is none of the cluster's API servers, and is not listened to. Pure.
import { WEBHOOK_PATHS } from '../../api/admission-rules.ts';
import type { Secret, StringMap } from '../../api/objects/core.ts';
import type { WebhookConfiguration } from '../../api/resource-types.ts';

type Webhook = NonNullable<WebhookConfiguration['webhooks']>[number];
type ClientConfig = Webhook['clientConfig'];

/** What a server lets in: paths behind one of these segments; behind the empty one, plain paths. */
export type OpenSegments = readonly string[];

/** The segment that replicas share, and since when, in ms since the epoch. */
export interface StoredSegment {
  readonly segment: string;
  readonly since: number;
}

/** Segment of a path that anybody could guess. */
export const PLAIN = '';
/** API servers take paths of Services only where each segment is a lower-case DNS name. */
const SEGMENT_FORM = /^[0-9a-f]{48}$/;
const SEGMENT_BYTES = 24;
const SEGMENT_KEY = 'path';
const SINCE_KEY = 'path-since';

/** A new segment, from a source of so many random bytes. */
export function newSegment(randomBytes: (size: number) => Buffer): string {
  return randomBytes(SEGMENT_BYTES).toString('hex');
}

/** What a Secret holds; undefined where it has no segment that nobody could guess. */
export function storedSegment({ data = {} }: Secret): StoredSegment | undefined {
  const text = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString();
  const segment = text(SEGMENT_KEY);
  return SEGMENT_FORM.test(segment) ? { segment, since: Date.parse(text(SINCE_KEY)) || 0 } : undefined;
}

/** The data (base64) of a Secret that holds a segment. */
export function segmentData({ segment, since }: StoredSegment): StringMap {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  return { [SEGMENT_KEY]: base64(segment), [SINCE_KEY]: base64(new Date(since).toISOString()) };
}

/** Where requests lead that are not let in. */
const NOWHERE = '/-';
/** Paths that anybody may read. */
export const PUBLIC_PATHS: ReadonlySet<string> = new Set(['/readyz', '/metrics']);

/** The path that a request to `target` (of its request line) leads to: a public one, a plain one of a webhook, or one that there is not. */
export function routeOf(target: string, open: OpenSegments): string {
  return PUBLIC_PATHS.has(target) ? target : (plainPathOf(target, open) ?? NOWHERE);
}

const REVIEW_ROUTES: ReadonlySet<string> = new Set(Object.values(WEBHOOK_PATHS));

/** Whether a path that {@link routeOf} gave is one of a webhook. */
export function isReviewRoute(route: string): boolean {
  return REVIEW_ROUTES.has(route);
}

/** The plain path that a request to `target` (of its request line) is for; undefined where it is not let in. */
export function plainPathOf(target: string, open: OpenSegments): string | undefined {
  const [path = ''] = target.split('?', 1);
  const end = path.indexOf('/', 1);
  if (end === -1) return open.includes(PLAIN) ? path : undefined;
  const asked = Buffer.from(path.slice(1, end));
  // Compared whole, whatever differs first: the time tells nothing about the segment.
  const isOpen = open.map((segment) => segment !== PLAIN && isEqual(Buffer.from(segment), asked)).includes(true);
  return isOpen ? path.slice(end) : undefined;
}

function isEqual(one: Buffer, other: Buffer): boolean {
  if (one.length !== other.length) return false;
  return one.reduce((difference, byte, index) => difference | (byte ^ (other[index] ?? 0)), 0) === 0;
}

/** A webhook whose address is to be written: its name and the fields to apply. */
export interface NewAddress {
  readonly name: string;
  readonly clientConfig: { readonly service: { readonly path: string } } | { readonly url: string };
}

/** The webhooks of a configuration that do not have the path behind this segment yet. A URL with a path of somebody's own is left to them. */
export function missingAddresses({ webhooks = [] }: WebhookConfiguration, segment: string): readonly NewAddress[] {
  return webhooks.flatMap(({ name, clientConfig }) => {
    const plain = WEBHOOK_PATHS[name];
    const path = `/${segment}${plain ?? ''}`;
    if (plain === undefined || pathOf(clientConfig) === path) return [];
    const isTheirs = clientConfig.url !== undefined && segmentOf(clientConfig, plain) === undefined;
    return isTheirs ? [] : [{ name, clientConfig: withPath(clientConfig, path) }];
  });
}

/**
 * The segments by which a configuration has API servers ask: {@link PLAIN} as manifests with a URL give it, and where the URL has a path of
 * somebody's own, who then sends requests on to the plain paths. None where it names no path.
 */
export function namedSegments({ webhooks = [] }: WebhookConfiguration): readonly string[] {
  const segments = webhooks.flatMap(({ name, clientConfig }) => {
    const plain = WEBHOOK_PATHS[name];
    if (plain === undefined) return [];
    return segmentOf(clientConfig, plain) ?? (clientConfig.url === undefined ? [] : PLAIN);
  });
  return [...new Set(segments)];
}

function segmentOf(clientConfig: ClientConfig, plain: string): string | undefined {
  const path = pathOf(clientConfig);
  if (!path.endsWith(plain)) return undefined;
  const segment = path.slice(1, path.length - plain.length);
  return path === plain ? PLAIN : SEGMENT_FORM.test(segment) ? segment : undefined;
}

function pathOf({ url, service }: ClientConfig): string {
  if (url !== undefined) return URL.canParse(url) ? new URL(url).pathname : '';
  return service?.path ?? '';
}

function withPath({ url }: ClientConfig, path: string): NewAddress['clientConfig'] {
  return url === undefined ? { service: { path } } : { url: new URL(path, url).href };
}

/** Times in ms. */
export interface PathTimes {
  /** A replica that starts leaves plain paths as they are for so long: in a rollout, replicas of a version before may know no other. */
  readonly settle: number;
  /** A segment is known to all replicas for so long before API servers hear of it. */
  readonly spread: number;
  /** A path is let in for so long after no configuration names it any more: API servers may see that later than we do. */
  readonly overlap: number;
  /** A segment is replaced by a new one after this time: API servers name it in errors that users see. */
  readonly renew: number;
}

/** Whether a new segment is due: there is none, it is old, or it is from before a process that `startedAt` then, whose absence may have told it. */
export function isSegmentDue(stored: StoredSegment | undefined, { renew, overlap }: PathTimes, startedAt: number, now: number): boolean {
  return stored === undefined || now >= stored.since + renew || stored.since < startedAt - overlap;
}

/** When a configuration may be given the path behind a segment, in ms since the epoch. */
export function writableAt(configuration: WebhookConfiguration, { since }: StoredSegment, { settle, spread }: PathTimes, startedAt: number): number {
  const named = namedSegments(configuration);
  if (named.length === 0) return 0; // nothing is asked anywhere yet
  return Math.max(since + spread, named.includes(PLAIN) ? startedAt + settle : 0);
}
