// The secret webhook path: the plain path behind an unguessable segment that only the webhook configurations hold. A
// client that uses another path is not one of the cluster's API servers and is rejected. Pure.
import { timingSafeEqual } from 'node:crypto';
import { WEBHOOK_PATHS } from '../../api/admission-rules.ts';
import type { Secret, StringMap } from '../../api/objects/core.ts';
import type { WebhookConfiguration } from '../../api/resource-types.ts';

type Webhook = NonNullable<WebhookConfiguration['webhooks']>[number];
type ClientConfig = Webhook['clientConfig'];

/** Segments that a server accepts; the empty segment means plain paths. */
export type OpenSegments = readonly string[];

/** The segment that replicas share, and its creation time in ms since the epoch. */
export interface StoredSegment {
  readonly segment: string;
  readonly since: number;
}

/** The segment of a guessable path. */
export const PLAIN = '';
/** API servers accept paths of Services only when each segment is a lower-case DNS name. */
const SEGMENT_FORM = /^[0-9a-f]{48}$/;
const SEGMENT_BYTES = 24;
const SEGMENT_KEY = 'path';
const SINCE_KEY = 'path-since';

/** A new segment, from a source of random bytes. */
export function newSegment(randomBytes: (size: number) => Buffer): string {
  return randomBytes(SEGMENT_BYTES).toString('hex');
}

/** The segment in a Secret; undefined when it has no unguessable one. */
export function storedSegment({ data = {} }: Secret): StoredSegment | undefined {
  const text = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString();
  const segment = text(SEGMENT_KEY);
  return SEGMENT_FORM.test(segment) ? { segment, since: Date.parse(text(SINCE_KEY)) || 0 } : undefined;
}

/** The data (base64) of the Secret for a segment. */
export function segmentData({ segment, since }: StoredSegment): StringMap {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  return { [SEGMENT_KEY]: base64(segment), [SINCE_KEY]: base64(new Date(since).toISOString()) };
}

/** Route of rejected requests. */
const NOWHERE = '/-';
/** Unauthenticated paths. */
export const PUBLIC_PATHS: ReadonlySet<string> = new Set(['/readyz', '/metrics']);

/**
 * The route of a request to `target` (of its request line): a public path, a webhook's plain path, or the one for
 * rejected requests.
 */
export function routeOf(target: string, open: OpenSegments): string {
  return PUBLIC_PATHS.has(target) ? target : (plainPathOf(target, open) ?? NOWHERE);
}

const REVIEW_ROUTES: ReadonlySet<string> = new Set(Object.values(WEBHOOK_PATHS));

/** Whether a route of {@link routeOf} is a webhook's. */
export function isReviewRoute(route: string): boolean {
  return REVIEW_ROUTES.has(route);
}

/** The plain path for a request to `target` (of its request line); undefined when it is rejected. */
export function plainPathOf(target: string, open: OpenSegments): string | undefined {
  const [path = ''] = target.split('?', 1);
  const end = path.indexOf('/', 1);
  if (end === -1) return open.includes(PLAIN) ? path : undefined;
  const asked = Buffer.from(path.slice(1, end));
  // Constant-time comparison: the duration reveals nothing about the segment.
  const isOpen = open.map((segment) => segment !== PLAIN && isEqual(Buffer.from(segment), asked)).includes(true);
  return isOpen ? path.slice(end) : undefined;
}

function isEqual(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

/** A webhook whose address must be written: its name and the fields to apply. */
export interface NewAddress {
  readonly name: string;
  readonly clientConfig: { readonly service: { readonly path: string } } | { readonly url: string };
}

/** The webhooks of a configuration without this segment in their path. A URL with a custom path is left alone. */
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
 * The segments that API servers use according to a configuration: {@link PLAIN} for manifests with a URL, and for a URL
 * with a custom path, whose owner forwards requests to the plain paths. None when it names no path.
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
  /** A new replica leaves plain paths alone for this long: during a rollout, older replicas may know no other. */
  readonly rollout: number;
  /** All replicas know a segment this long before API servers use it. */
  readonly spread: number;
  /** A path is accepted for this long after the last configuration named it: API servers may see the change later. */
  readonly overlap: number;
  /** Rotation interval of the segment: API servers quote it in errors that users see. */
  readonly renew: number;
}

/**
 * Whether a new segment is due: there is none, it is old, or it predates a process that started at `startedAt`, whose
 * absence may have exposed it.
 */
export function isSegmentDue(
  stored: StoredSegment | undefined, { renew, overlap }: PathTimes, startedAt: number, now: number,
): boolean {
  return stored === undefined || now >= stored.since + renew || stored.since < startedAt - overlap;
}

/** When a segment may be written into a configuration, in ms since the epoch. */
export function writableAt(
  configuration: WebhookConfiguration, { since }: StoredSegment, { rollout, spread }: PathTimes, startedAt: number,
): number {
  const named = namedSegments(configuration);
  if (named.length === 0) return 0; // no path is in use yet
  return Math.max(since + spread, named.includes(PLAIN) ? startedAt + rollout : 0);
}
