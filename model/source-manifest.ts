// The pod as its user made it, kept in an annotation of the proxy pod. The webhook saves, the scheduler restores.
// It is written as JSON, which every YAML parser reads: YAML text costs some 60 times more to write and 170 to parse (docs/adr/0002).
// Where JSON would not fit it is compressed. Whether a text may be trusted at all is told by model/sealed-manifest.ts.
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Pod } from '../api/core.ts';
import { SOURCE_MANIFEST_ANNOTATION } from '../api/keys.ts';

/** Opens the text of a compressed manifest; the rest is base64 of a gzip stream (RFC 1952). */
const COMPRESSED = 'data:application/gzip;base64,';
/** The API server takes no object that comes near this, so a restored pod is not larger either. */
const MAX_RESTORED_BYTES = 8 * 1024 * 1024;

/** The text of the annotation for a source pod. */
export function saveSourceManifest(pod: Pod): string {
  return JSON.stringify(pod);
}

/** The same text in a form that takes less room: about an eighth for large pods. */
export function compressSourceManifest(manifest: string): string {
  return COMPRESSED + gzipSync(manifest).toString('base64');
}

/** A restored source pod, or why the annotation cannot be used. */
export type RestoredPod = { readonly kind: 'restored'; readonly pod: Pod } | { readonly kind: 'invalid'; readonly message: string };

/** The source pod from the text of the annotation. */
export function restoreSourcePod(manifest: string): RestoredPod {
  let pod: unknown;
  try {
    pod = JSON.parse(decompress(manifest));
  } catch {
    return { kind: 'invalid', message: `annotation ${SOURCE_MANIFEST_ANNOTATION} is not what the webhook wrote; delete the pod and create it again` };
  }
  return isPod(pod)
    ? { kind: 'restored', pod }
    : { kind: 'invalid', message: `annotation ${SOURCE_MANIFEST_ANNOTATION} holds no pod; delete the pod and create it again` };
}

function decompress(manifest: string): string {
  if (!manifest.startsWith(COMPRESSED)) return manifest;
  return gunzipSync(Buffer.from(manifest.slice(COMPRESSED.length), 'base64'), { maxOutputLength: MAX_RESTORED_BYTES }).toString();
}

/** Whether the parts that we read have the shape that the API server gives them. */
function isPod(value: unknown): value is Pod {
  if (!isObject(value) || !isObject(value['metadata']) || !isObject(value['spec'])) return false;
  const { labels = {}, annotations = {} } = value['metadata'];
  const { containers, initContainers = [] } = value['spec'];
  return isObject(labels) && isObject(annotations) && isListOfObjects(containers) && isListOfObjects(initContainers);
}

function isListOfObjects(value: unknown): boolean {
  return Array.isArray(value) && value.every(isObject);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
