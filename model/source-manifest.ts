// The pod as its user made it, kept in an annotation of the proxy pod. The webhook saves, the scheduler restores.
// It is written as JSON, which every YAML parser reads: YAML text costs 20 times more to write and parse (docs/adr/0002).
import type { Pod } from '../api/core.ts';
import { SOURCE_MANIFEST_ANNOTATION } from '../api/keys.ts';

/** The text of the annotation for a source pod. */
export function saveSourceManifest(pod: Pod): string {
  return JSON.stringify(pod);
}

/** A restored source pod, or why the annotation cannot be used. */
export type RestoredPod = { readonly kind: 'restored'; readonly pod: Pod } | { readonly kind: 'invalid'; readonly message: string };

/** The source pod from the text of the annotation. */
export function restoreSourcePod(manifest: string): RestoredPod {
  let pod: unknown;
  try {
    pod = JSON.parse(manifest);
  } catch {
    return { kind: 'invalid', message: `annotation ${SOURCE_MANIFEST_ANNOTATION} is not what the webhook wrote; delete the pod and create it again` };
  }
  return isPod(pod)
    ? { kind: 'restored', pod }
    : { kind: 'invalid', message: `annotation ${SOURCE_MANIFEST_ANNOTATION} holds no pod; delete the pod and create it again` };
}

function isPod(value: unknown): value is Pod {
  if (typeof value !== 'object' || value === null) return false;
  const { metadata, spec } = value as { metadata?: unknown; spec?: unknown };
  if (typeof metadata !== 'object' || metadata === null || typeof spec !== 'object' || spec === null) return false;
  return Array.isArray((spec as { containers?: unknown }).containers);
}
