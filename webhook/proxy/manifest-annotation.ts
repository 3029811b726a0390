// The copy of the source manifest that Admiralty stores on proxy pods, for tools that read it. Isthmus writes it only
// where the installation asks for it, and reads only those of Admiralty's own proxy pods.
import type { Pod, StringMap } from '../../api/objects/core.ts';
import { SOURCE_MANIFEST_ANNOTATION } from '../../api/objects/keys.ts';
import { saveManifest } from '../../model/proxy/source-manifest.ts';

/** Limit in bytes for all annotations of an object (apimachinery `validation.TotalAnnotationSizeLimitB`). */
const ANNOTATIONS_LIMIT = 256 * 1024;
/** Bytes reserved for later annotations: the record, the placement, and those copied from the delegate. */
const RESERVE = 16 * 1024;

/** The annotation's text; none, with a warning, when it does not fit. */
export interface StoredManifest {
  readonly text: string | undefined;
  readonly warnings: readonly string[];
}

/** The manifest of `source`, to be stored next to the annotations of `pod`. An existing one is left unchanged. */
export function storedManifest({ metadata: { annotations = {} } }: Pod, source: Pod): StoredManifest {
  const there = annotations[SOURCE_MANIFEST_ANNOTATION];
  if (there !== undefined) return { text: there, warnings: [] };
  const text = saveManifest(source);
  const room = ANNOTATIONS_LIMIT - RESERVE - bytesOf(annotations);
  if (Buffer.byteLength(text) <= room) return { text, warnings: [] };
  return {
    text: undefined,
    warnings:
      [`annotation ${SOURCE_MANIFEST_ANNOTATION} is omitted: it does not fit next to the pod's own annotations`],
  };
}

function bytesOf(annotations: StringMap): number {
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  return bytes;
}
