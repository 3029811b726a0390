// Makes the source manifest fit beside the pod's own annotations, compressed where it must be.
import { SOURCE_MANIFEST_ANNOTATION } from '../api/keys.ts';
import type { Pod, StringMap } from '../api/core.ts';
import { compressSourceManifest } from '../model/source-manifest.ts';
import { deny, type Denial } from './admission.ts';

/** Most bytes that the keys and values of an object's annotations may take (apimachinery `validation.TotalAnnotationSizeLimitB`). */
export const ANNOTATIONS_LIMIT = 256 * 1024;
/** Bytes kept free for what comes later: signature, opt-outs of other webhooks, where the delegate runs and its annotations. */
const RESERVE = 8 * 1024;

/** The text for the annotation from the source pod's JSON, or why there is no room for it. */
export function fitManifest(sourcePod: Pod, manifest: string): { readonly kind: 'fits'; readonly text: string } | Denial {
  const room = ANNOTATIONS_LIMIT - RESERVE - SOURCE_MANIFEST_ANNOTATION.length - bytesOf(sourcePod.metadata.annotations ?? {});
  if (takesAtMost(manifest, room)) return { kind: 'fits', text: manifest };
  const compressed = compressSourceManifest(manifest);
  if (compressed.length <= room) return { kind: 'fits', text: compressed };
  return deny(
    'ManifestTooLarge',
    `the pod takes ${compressed.length} bytes compressed, and its annotations leave room for ${Math.max(room, 0)} of the ${ANNOTATIONS_LIMIT} that Kubernetes allows; move data to a ConfigMap or Secret`,
  );
}

function bytesOf(annotations: StringMap): number {
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  return bytes;
}

/** UTF-8 needs at most three bytes for each of a string's units, so small texts need not be counted. */
function takesAtMost(text: string, bytes: number): boolean {
  return text.length * 3 <= bytes || Buffer.byteLength(text) <= bytes;
}
