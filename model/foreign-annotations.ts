// Annotations of users and of controllers, as proxies and delegates remember them to merge them. Pods of one template mostly have the same, so
// equal ones are one value in memory.
import { createHash } from 'node:crypto';
import type { ObjectMeta, StringMap } from '../api/core.ts';
import { DELEGATE_ANNOTATIONS_ANNOTATION, OWN_PREFIX } from '../api/keys.ts';

/** So many are known; a bound, not a limit: what is forgotten is only no longer shared. */
const MAX_INTERNED = 4_096;
const interned = new Map<string, StringMap>();
/** Longest annotation that is taken over from a target, in characters, and the most of them. What a target sends is data (design §8). */
const MAX_VALUE = 4_096;
const MAX_TAKEN = 32;

/** All annotations that could be merged: not ours, nor Kubernetes' own. Long values are remembered by their digest: they are never taken over. */
export function foreignAnnotations({ annotations = {} }: ObjectMeta): StringMap {
  const foreign = Object.fromEntries(
    Object.entries(annotations).filter(([key]) => mayBeTaken(key)).map(([key, value]) => [key, value.length > MAX_VALUE ? longOf(value) : value]),
  );
  const text = JSON.stringify(foreign);
  const known = interned.get(text);
  if (known !== undefined) return known;
  if (interned.size >= MAX_INTERNED) interned.clear();
  interned.set(text, foreign);
  return foreign;
}

const LONG = 'sha1:';

function longOf(value: string): string {
  return LONG + createHash('sha1').update(value).digest('base64');
}

/** Keys that {@link toAnnotationPatch} took over before. */
export function takenKeys({ annotations = {} }: ObjectMeta): readonly string[] | undefined {
  const text = annotations[DELEGATE_ANNOTATIONS_ANNOTATION];
  try {
    const keys: unknown = text === undefined ? undefined : JSON.parse(text);
    return Array.isArray(keys) && keys.every((key) => typeof key === 'string') ? keys : undefined;
  } catch {
    return undefined;
  }
}

/** Kubernetes' own keys mean something to whoever looks at a proxy, and nothing good when they come from a target. */
function mayBeTaken(key: string): boolean {
  const [prefix = ''] = key.split('/');
  const isKubernetes = key.includes('/') && /(^|\.)(kubernetes|k8s)\.io$/.test(prefix);
  return !isKubernetes && !key.startsWith(OWN_PREFIX) && key !== '__proto__';
}

/**
 * The change to a proxy's annotations that merges the delegate's into them; undefined when there is nothing to do. What the user or another
 * controller has set on the proxy, at any time, stays; what was taken over follows the delegate, and goes with it.
 */
export function toAnnotationPatch(proxy: StringMap, taken: readonly string[] = [], delegate: StringMap): Readonly<Record<string, string | null>> | undefined {
  const wanted = Object.entries(delegate)
    .filter(([key, value]) => (taken.includes(key) || !Object.hasOwn(proxy, key)) && mayBeTaken(key) && !value.startsWith(LONG))
    .slice(0, MAX_TAKEN);
  const keys = wanted.map(([key]) => key);
  const patch: Record<string, string | null> = {};
  for (const key of taken) if (Object.hasOwn(proxy, key) && !keys.includes(key)) patch[key] = null;
  for (const [key, value] of wanted) if (proxy[key] !== value) patch[key] = value;
  if (Object.keys(patch).length === 0 && keys.length === taken.length) return undefined;
  return { ...patch, [DELEGATE_ANNOTATIONS_ANNOTATION]: keys.length === 0 ? null : JSON.stringify(keys) };
}
