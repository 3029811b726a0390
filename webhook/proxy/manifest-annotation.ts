// The copy of the source pod that Admiralty keeps on its proxy pods, for tools that read it. Isthmus writes it only where the installation
// asks for it, and reads it never.
import type { Pod, StringMap } from '../../api/objects/core.ts';
import { SOURCE_MANIFEST_ANNOTATION } from '../../api/objects/keys.ts';
import { saveManifest } from '../../model/proxy/source-manifest.ts';

/** Most bytes that the keys and values of an object's annotations may take (apimachinery `validation.TotalAnnotationSizeLimitB`). */
const ANNOTATIONS_LIMIT = 256 * 1024;
/** Bytes kept free for what comes later: the record, where the delegate runs, and its annotations. */
const RESERVE = 16 * 1024;

/** The text for the annotation; none, and a warning, where there is no room for it. */
export interface StoredManifest {
  readonly text: string | undefined;
  readonly warnings: readonly string[];
}

/** The manifest of `source` beside the annotations that `pod` has. One that is there already stays as it is. */
export function storedManifest({ metadata: { annotations = {} } }: Pod, source: Pod): StoredManifest {
  const there = annotations[SOURCE_MANIFEST_ANNOTATION];
  if (there !== undefined) return { text: there, warnings: [] };
  const text = saveManifest(source);
  const room = ANNOTATIONS_LIMIT - RESERVE - bytesOf(annotations);
  if (Buffer.byteLength(text) <= room) return { text, warnings: [] };
  return { text: undefined, warnings: [`annotation ${SOURCE_MANIFEST_ANNOTATION} is left out: it does not fit beside the pod's own annotations`] };
}

function bytesOf(annotations: StringMap): number {
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  return bytes;
}
