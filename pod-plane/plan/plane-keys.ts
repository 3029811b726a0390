// The key of a cluster's pod plane: one for all its gateways, in a Secret, so that peers go on with whoever takes over. A key is changed in steps, told by
// the times in the Secret: the next one is announced beside the one in use, then used, and then the old one is forgotten.
import type { Secret } from '../../api/objects/core.ts';
import { isWireguardKey, publicKeyOf } from '../../gateway/protocol/wireguard-keys.ts';

/** Name of the Secret in the install namespace. */
export const PLANE_KEY_SECRET = 'isthmus-pod-plane';
/** How long a change may take to reach all members through the broker, in ms. */
export const SPREAD_MS = 30_000;

/** What the key's state comes to now. */
export interface PlaneKeys {
  /** Base64; the one to use. */
  readonly privateKey: string;
  /** Told to peers, that in use first. */
  readonly publicKeys: readonly string[];
  /** What the Secret should hold from now on, when a step is due. */
  readonly next: Readonly<Record<string, string>> | undefined;
  /** In ms: when to look again; undefined when nothing is under way. */
  readonly lookAgainMs: number | undefined;
}

/** What the Secret holds, as texts. */
type Texts = Readonly<Record<string, string | undefined>>;

/** The keys as the Secret has them, at a time in ms since the epoch; undefined for one that holds none. */
export function readPlaneKeys(data: Texts, nowMs: number): PlaneKeys | undefined {
  const text = (key: string) => Buffer.from(data[key] ?? '', 'base64').toString('utf8').trim();
  const [privateKey, nextKey] = [text('private-key'), text('next-private-key')];
  if (!isWireguardKey(privateKey)) return undefined;
  const own = publicKeyOf(privateKey);
  const sinceMs = Date.parse(text('since'));
  const dueMs = Number.isNaN(sinceMs) ? 0 : sinceMs + SPREAD_MS;
  if (isWireguardKey(nextKey)) {
    const isDue = nowMs >= dueMs;
    if (!isDue) return { privateKey, publicKeys: [own, publicKeyOf(nextKey)], next: undefined, lookAgainMs: dueMs - nowMs };
    return { privateKey: nextKey, publicKeys: [publicKeyOf(nextKey), own], next: toTexts({ privateKey: nextKey, oldPublicKey: own, sinceMs: nowMs }), lookAgainMs: SPREAD_MS };
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

/** Every key of the Secret: what is empty takes the place of what was there. */
function toTexts({ privateKey, nextPrivateKey = '', oldPublicKey = '', sinceMs }: KeyState): Readonly<Record<string, string>> {
  const texts = { 'private-key': privateKey, 'next-private-key': nextPrivateKey, 'old-public-key': oldPublicKey, since: sinceMs === undefined ? '' : new Date(sinceMs).toISOString() };
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text, 'utf8').toString('base64')]));
}

/** The Secret of a new cluster. */
export function toPlaneKeySecret(namespace: string, privateKey: string): Secret {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name: PLANE_KEY_SECRET, labels: { 'app.kubernetes.io/part-of': 'isthmus' } }, type: 'Opaque', data: toTexts({ privateKey }) };
}

/** What begins a change of the key: data of the Secret, when none is under way. */
export function beginRotation(data: Texts, nextPrivateKey: string, nowMs: number): Readonly<Record<string, string>> | undefined {
  const keys = readPlaneKeys(data, nowMs);
  if (keys === undefined || keys.publicKeys.length > 1) return undefined;
  return toTexts({ privateKey: keys.privateKey, nextPrivateKey, sinceMs: nowMs });
}
