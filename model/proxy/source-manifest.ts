// The copy of the source pod that Admiralty, and Isthmus before it had admission records, stores in an annotation of
// the proxy pod. Only the fields of an admission record are read from it; it is written only where tools require it.
import { gunzipSync } from 'node:zlib';
import { parse } from 'yaml';
import type { Pod } from '../../api/objects/core.ts';
import { isRecord } from '../objects/json-values.ts';

/** Prefix of a manifest that an older version compressed; the rest is a base64 gzip stream (RFC 1952). */
const COMPRESSED = 'data:application/gzip;base64,';
/** Maximum size of a restored pod, in bytes; API servers reject far smaller objects. */
const MAX_RESTORED_BYTES = 8 * 1024 * 1024;

/** The text of the annotation for a source pod: JSON, which YAML parsers accept. */
export function saveManifest(pod: Pod): string {
  return JSON.stringify(pod);
}

/** Parses the annotation: YAML as Admiralty writes it, JSON, or compressed JSON. Undefined when it is invalid. */
export function restoreManifest(manifest: string): Pod | undefined {
  try {
    const text = decompress(manifest);
    const pod: unknown = text.startsWith('{') ? JSON
      .parse(text) : parse(text, { maxAliasCount: 10, schema: 'core', logLevel: 'error' });
    return isPod(pod) ? pod : undefined;
  } catch {
    return undefined;
  }
}

function decompress(manifest: string): string {
  if (!manifest.startsWith(COMPRESSED)) return manifest;
  return gunzipSync(
    Buffer.from(manifest.slice(COMPRESSED.length), 'base64'), { maxOutputLength: MAX_RESTORED_BYTES },
  ).toString();
}

/** Whether the parts that are read have the API's shape. */
function isPod(value: unknown): value is Pod {
  if (!isRecord(value) || !isRecord(value['metadata']) || !isRecord(value['spec'])) return false;
  const { labels = {}, annotations = {} } = value['metadata'];
  return isRecord(labels) && isRecord(annotations);
}
