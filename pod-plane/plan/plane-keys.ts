// The key of a cluster's pod plane: one for all its gateways, in a Secret, so that peers continue with any new gateway.
// Rotation has timed steps, recorded in the Secret: the next key is announced next to the current one, then used once
// the broker has told of it, and then the old one is dropped.
import type { Secret } from '../../api/objects/core.ts';
import { isWireguardKey, publicKeyOf } from '../../gateway/protocol/wireguard-keys.ts';

/** Name of the Secret in the install namespace. */
export const PLANE_KEY_SECRET = 'isthmus-pod-plane';
/** How long the broker may take to propagate a change to all members, in ms. */
export const SPREAD_MS = 30_000;

/** The keys at the current time. */
export interface PlaneKeys {
  /** Base64; the one in use. */
  readonly privateKey: string;
  /** Announced to peers, the one in use first. */
  readonly publicKeys: readonly string[];
  /** New data of the Secret, when a step is due. */
  readonly next: Readonly<Record<string, string>> | undefined;
  /** Next check in ms; undefined when no rotation is in progress. */
  readonly lookAgainMs: number | undefined;
}

/** What the Secret holds, as texts. */
type Texts = Readonly<Record<string, string | undefined>>;

/**
 * The keys in the Secret, at a time in ms since the epoch; undefined when it has none. A step is put off while not all
 * keys are announced.
 */
export function readPlaneKeys(
  data: Texts, nowMs: number, isAnnounced: (publicKeys: readonly string[]) => boolean = () => true,
): PlaneKeys | undefined {
  const text = (key: string) => Buffer.from(data[key] ?? '', 'base64').toString('utf8').trim();
  const [privateKey, nextKey] = [text('private-key'), text('next-private-key')];
  if (!isWireguardKey(privateKey)) return undefined;
  const own = publicKeyOf(privateKey);
  const sinceMs = Date.parse(text('since'));
  const dueMs = Number.isNaN(sinceMs) ? 0 : sinceMs + SPREAD_MS;
  if (isWireguardKey(nextKey)) {
    const publicKeys = [own, publicKeyOf(nextKey)];
    if (nowMs < dueMs) return { privateKey, publicKeys, next: undefined, lookAgainMs: dueMs - nowMs };
    if (!isAnnounced(publicKeys)) {
      const next = toTexts({ privateKey, nextPrivateKey: nextKey, sinceMs: nowMs });
      return { privateKey, publicKeys, next, lookAgainMs: SPREAD_MS };
    }
    return {
      privateKey: nextKey, publicKeys: [publicKeyOf(nextKey), own],
      next: toTexts({ privateKey: nextKey, oldPublicKey: own, sinceMs: nowMs }), lookAgainMs: SPREAD_MS,
    };
  }
  const old = text('old-public-key');
  if (!isWireguardKey(old)) return { privateKey, publicKeys: [own], next: undefined, lookAgainMs: undefined };
  if (nowMs < dueMs) return { privateKey, publicKeys: [own, old], next: undefined, lookAgainMs: dueMs - nowMs };
  return { privateKey, publicKeys: [own], next: toTexts({ privateKey }), lookAgainMs: undefined };
}

interface KeyState {
  readonly privateKey: string;
  readonly nextPrivateKey?: string;
  readonly oldPublicKey?: string;
  readonly sinceMs?: number;
}

/** All keys of the Secret; empty values overwrite existing ones. */
function toTexts(
  { privateKey, nextPrivateKey = '', oldPublicKey = '', sinceMs }: KeyState,
): Readonly<Record<string, string>> {
  const texts = {
    'private-key': privateKey, 'next-private-key': nextPrivateKey, 'old-public-key': oldPublicKey,
    since: sinceMs === undefined ? '' : new Date(sinceMs).toISOString(),
  };
  return Object.fromEntries(
    Object.entries(texts).map(([key, text]) => [key, Buffer.from(text, 'utf8').toString('base64')]),
  );
}

/** The Secret of a new cluster. */
export function toPlaneKeySecret(namespace: string, privateKey: string): Secret {
  return {
    apiVersion: 'v1', kind: 'Secret',
    metadata: { namespace, name: PLANE_KEY_SECRET, labels: { 'app.kubernetes.io/part-of': 'isthmus' } }, type: 'Opaque',
    data: toTexts({ privateKey }),
  };
}

/** Secret data that begins a rotation, unless one is in progress. */
export function beginRotation(data: Texts, nextPrivateKey: string, nowMs: number): Readonly<Record<string, string>>
  | undefined {
  const keys = readPlaneKeys(data, nowMs);
  if (keys === undefined || keys.publicKeys.length > 1) return undefined;
  return toTexts({ privateKey: keys.privateKey, nextPrivateKey, sinceMs: nowMs });
}
