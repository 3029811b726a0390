// The copy of the source pod that Admiralty, and Isthmus before its admission records, keep in an annotation of the proxy pod. It is read
// for the fields that an admission record holds, and never trusted beyond them; it is written only where tools ask for it.
import { gunzipSync } from 'node:zlib';
import { parse } from 'yaml';
import type { Pod } from '../../api/objects/core.ts';

/** Opens the text of a manifest that an older version compressed; the rest is base64 of a gzip stream (RFC 1952). */
const COMPRESSED = 'data:application/gzip;base64,';
/** The API server takes no object that comes near this, so a restored pod is not larger either. */
const MAX_RESTORED_BYTES = 8 * 1024 * 1024;

/** The text of the annotation for a source pod: JSON, which YAML parsers read. */
export function saveManifest(pod: Pod): string {
  return JSON.stringify(pod);
}

/** The pod in the text of an annotation: YAML as Admiralty writes it, JSON, or compressed JSON. Undefined where there is none. */
export function restoreManifest(manifest: string): Pod | undefined {
  try {
    const text = decompress(manifest);
    const pod: unknown = text.startsWith('{') ? JSON.parse(text) : parse(text, { maxAliasCount: 10, schema: 'core', logLevel: 'error' });
    return isPod(pod) ? pod : undefined;
  } catch {
    return undefined;
  }
}

function decompress(manifest: string): string {
  if (!manifest.startsWith(COMPRESSED)) return manifest;
  return gunzipSync(Buffer.from(manifest.slice(COMPRESSED.length), 'base64'), { maxOutputLength: MAX_RESTORED_BYTES }).toString();
}

/** Whether the parts that we read have the shape that the API server gives them. */
function isPod(value: unknown): value is Pod {
  if (!isObject(value) || !isObject(value['metadata']) || !isObject(value['spec'])) return false;
  const { labels = {}, annotations = {} } = value['metadata'];
  return isObject(labels) && isObject(annotations);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
