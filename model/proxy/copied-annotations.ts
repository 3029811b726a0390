// Annotations of users and of other controllers on proxies and delegates, as they are cached for merging. Pods of one
// template mostly have equal ones, which are stored once.
import { createHash } from 'node:crypto';
import type { ObjectMeta, StringMap } from '../../api/objects/core.ts';
import { DELEGATE_ANNOTATIONS_ANNOTATION, ADMIRALTY_PREFIX } from '../../api/objects/keys.ts';
import { isQualifiedName } from '../naming/label-syntax.ts';
import { parsedJson } from '../objects/json-values.ts';

/** Maximum number of interned maps; above it they are just not shared. */
const MAX_INTERNED = 4_096;
const interned = new Map<string, StringMap>();
/**
 * Maximum length of an annotation that is copied from a target, in characters, and their maximum number. A target's
 * texts are untrusted.
 */
const MAX_VALUE = 4_096;
const MAX_COPIED = 32;
/**
 * Maximum number of characters of all copied annotations: with the user's own they must stay below the API server's
 * limit of 256 KiB.
 */
const MAX_COPIED_CHARACTERS = 16_384;
/** Longer maps are not interned: a target could exhaust the memory with them. */
const MAX_INTERNED_CHARACTERS = 4_096;

/**
 * All annotations that may be merged: neither ours nor Kubernetes' own. Long values are stored as digests: they are
 * never copied.
 */
export function copyableAnnotations({ annotations = {} }: ObjectMeta): StringMap {
  const mergeable = Object.fromEntries(
    Object.entries(annotations).filter(([key]) => mayBeCopied(key)).map(
      ([key, value]) => [key, value.length > MAX_VALUE ? longOf(value) : value],
    ),
  );
  const text = JSON.stringify(mergeable);
  if (text.length > MAX_INTERNED_CHARACTERS) return mergeable;
  const known = interned.get(text);
  if (known !== undefined) return known;
  if (interned.size >= MAX_INTERNED) interned.clear();
  interned.set(text, mergeable);
  return mergeable;
}

const LONG = 'sha1:';

function longOf(value: string): string {
  return LONG + createHash('sha1').update(value).digest('base64');
}

/** Keys that {@link toAnnotationPatch} copied before. */
export function copiedAnnotationKeys({ annotations = {} }: ObjectMeta): readonly string[] | undefined {
  const keys = parsedJson(annotations[DELEGATE_ANNOTATIONS_ANNOTATION] ?? '');
  return Array.isArray(keys) && keys.every((key) => typeof key === 'string') ? keys : undefined;
}

/**
 * Domains, with subdomains, whose annotations controllers, network plugins and meshes of the source act on. From a
 * target they could attach networks, mislead scrapers, run backup hooks, or block node drains. Other annotations are
 * informational.
 */
const DENIED_DOMAINS: ReadonlySet<string> = new Set([
  'kubernetes.io', 'k8s.io', 'x-k8s.io', ADMIRALTY_PREFIX.slice(0, -1), 'isthmus.dev',
  'cncf.io',
  'projectcalico.org', 'tigera.io', 'cilium.io', 'ovn.org', 'antrea.io', 'openshift.io', 'submariner.io', 'liqo.io',
  'istio.io', 'linkerd.io', 'kuma.io', 'hashicorp.com', 'dapr.io', 'openservicemesh.io', 'solo.io', 'spiffe.io',
  'prometheus.io', 'datadoghq.com', 'velero.io', 'karpenter.sh',
  'keda.sh', 'volcano.sh', 'kyverno.io', 'gatekeeper.sh', 'argoproj.io', 'cert-manager.io', 'stakater.com',
  'amazonaws.com', 'k8s.aws', 'azure.com', 'azure.workload.identity', 'gke.io', 'cloud.google.com', 'alibabacloud.com',
]);

/** Whether nothing in the source acts on a key, and its API server accepts it: one that it rejects blocks the write. */
function mayBeCopied(key: string): boolean {
  if (key === '__proto__' || !isQualifiedName(key)) return false;
  const slash = key.indexOf('/');
  return slash === -1 || !isDeniedDomain(key.slice(0, slash));
}

function isDeniedDomain(domain: string): boolean {
  if (DENIED_DOMAINS.has(domain)) return true;
  const dot = domain.indexOf('.');
  return dot !== -1 && isDeniedDomain(domain.slice(dot + 1));
}

/**
 * The patch that merges the delegate's annotations into the proxy's; undefined when there is nothing to do. Values set
 * on the proxy by the user or another controller always stay; copied ones follow the delegate and are removed with it.
 */
export function toAnnotationPatch(
  proxy: StringMap, copied: readonly string[] = [], delegate: StringMap,
): Readonly<Record<string, string | null>> | undefined {
  const wanted = Object.entries(delegate)
    .filter(
      ([key, value]) =>
        (copied.includes(key) || !Object.hasOwn(proxy, key)) && mayBeCopied(key) && !value.startsWith(LONG),
    )
    .slice(0, MAX_COPIED)
    .filter(withinRoom(MAX_COPIED_CHARACTERS));
  const keys = wanted.map(([key]) => key);
  const patch: Record<string, string | null> = {};
  for (const key of copied) if (Object.hasOwn(proxy, key) && !keys.includes(key)) patch[key] = null;
  for (const [key, value] of wanted) if (proxy[key] !== value) patch[key] = value;
  if (Object.keys(patch).length === 0 && keys.length === copied.length) return undefined;
  return { ...patch, [DELEGATE_ANNOTATIONS_ANNOTATION]: keys.length === 0 ? null : JSON.stringify(keys) };
}

/** Accepts entries until the number of characters is used up. */
function withinRoom(characters: number): (entry: readonly [key: string, value: string]) => boolean {
  let left = characters;
  return ([key, value]) => {
    left -= key.length + value.length;
    return left >= 0;
  };
}
