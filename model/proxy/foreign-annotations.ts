// Annotations of users and of controllers, as proxies and delegates remember them to merge them. Pods of one template mostly have the same, so
// equal ones are one value in memory.
import { createHash } from 'node:crypto';
import type { ObjectMeta, StringMap } from '../../api/objects/core.ts';
import { DELEGATE_ANNOTATIONS_ANNOTATION, OWN_PREFIX } from '../../api/objects/keys.ts';

/** So many are known; a bound, not a limit: what is forgotten is only no longer shared. */
const MAX_INTERNED = 4_096;
const interned = new Map<string, StringMap>();
/** Longest annotation that is taken over from a target, in characters, and the most of them. What a target sends is data (design §8). */
const MAX_VALUE = 4_096;
const MAX_TAKEN = 32;
/** Most characters of all of them together: with the user's own they must stay below the 256 KiB that an API server takes. */
const MAX_TAKEN_CHARACTERS = 16_384;
/** Longer maps are not shared: a target could fill the memory with them. */
const MAX_INTERNED_CHARACTERS = 4_096;

/** All annotations that could be merged: not ours, nor Kubernetes' own. Long values are remembered by their digest: they are never taken over. */
export function foreignAnnotations({ annotations = {} }: ObjectMeta): StringMap {
  const foreign = Object.fromEntries(
    Object.entries(annotations).filter(([key]) => mayBeTaken(key)).map(([key, value]) => [key, value.length > MAX_VALUE ? longOf(value) : value]),
  );
  const text = JSON.stringify(foreign);
  if (text.length > MAX_INTERNED_CHARACTERS) return foreign;
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

/**
 * Domains whose annotations controllers, network plugins and meshes of the source act on, and those of their subdomains: what a target writes there
 * would have networks attached, scrapers led astray, commands run by backups, or nodes not drained. Others are for people and tools to read.
 */
const ACTED_ON = [
  'kubernetes.io', 'k8s.io', 'x-k8s.io', OWN_PREFIX.slice(0, -1), 'isthmus.dev',
  'cncf.io', 'projectcalico.org', 'tigera.io', 'cilium.io', 'ovn.org', 'antrea.io', 'openshift.io', 'submariner.io', 'liqo.io',
  'istio.io', 'linkerd.io', 'kuma.io', 'hashicorp.com', 'dapr.io', 'openservicemesh.io', 'solo.io', 'spiffe.io',
  'prometheus.io', 'datadoghq.com', 'velero.io', 'karpenter.sh', 'keda.sh', 'volcano.sh', 'kyverno.io', 'gatekeeper.sh', 'argoproj.io', 'cert-manager.io', 'stakater.com',
  'amazonaws.com', 'k8s.aws', 'azure.com', 'azure.workload.identity', 'gke.io', 'cloud.google.com', 'alibabacloud.com',
];
/** A qualified name (Kubernetes "Labels and annotations"): one key that an API server refuses would keep the whole status from being written. */
const KEY = /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LONGEST_KEY = 317;

/** Whether a key is nobody's in the source but people's. */
function mayBeTaken(key: string): boolean {
  if (key === '__proto__' || key.length > LONGEST_KEY || !KEY.test(key)) return false;
  const [domain = ''] = key.split('/');
  return !key.includes('/') || !ACTED_ON.some((acted) => domain === acted || domain.endsWith(`.${acted}`));
}

/**
 * The change to a proxy's annotations that merges the delegate's into them; undefined when there is nothing to do. What the user or another
 * controller has set on the proxy, at any time, stays; what was taken over follows the delegate, and goes with it.
 */
export function toAnnotationPatch(proxy: StringMap, taken: readonly string[] = [], delegate: StringMap): Readonly<Record<string, string | null>> | undefined {
  const wanted = Object.entries(delegate)
    .filter(([key, value]) => (taken.includes(key) || !Object.hasOwn(proxy, key)) && mayBeTaken(key) && !value.startsWith(LONG))
    .slice(0, MAX_TAKEN)
    .filter(withinRoom(MAX_TAKEN_CHARACTERS));
  const keys = wanted.map(([key]) => key);
  const patch: Record<string, string | null> = {};
  for (const key of taken) if (Object.hasOwn(proxy, key) && !keys.includes(key)) patch[key] = null;
  for (const [key, value] of wanted) if (proxy[key] !== value) patch[key] = value;
  if (Object.keys(patch).length === 0 && keys.length === taken.length) return undefined;
  return { ...patch, [DELEGATE_ANNOTATIONS_ANNOTATION]: keys.length === 0 ? null : JSON.stringify(keys) };
}

/** Lets entries pass as long as there is room for their characters. */
function withinRoom(characters: number): (entry: readonly [key: string, value: string]) => boolean {
  let left = characters;
  return ([key, value]) => {
    left -= key.length + value.length;
    return left >= 0;
  };
}
