// The copy of the source pod that Admiralty, and Isthmus before it had admission records, stores in an annotation of
// the proxy pod. Only the fields of an admission record are read from it; it is written only where tools require it.
import { parse } from 'yaml';
import type { Pod } from '../../api/objects/core.ts';
import { isRecord } from '../objects/json-values.ts';

/** The text of the annotation for a source pod: JSON, which YAML parsers accept. */
export function saveManifest(pod: Pod): string {
  return JSON.stringify(pod);
}

/** Parses the annotation: YAML as Admiralty writes it, or JSON. Undefined when it is invalid. */
export function restoreManifest(manifest: string): Pod | undefined {
  try {
    const pod: unknown = manifest.startsWith('{') ? JSON
      .parse(manifest) : parse(manifest, { maxAliasCount: 10, schema: 'core', logLevel: 'error' });
    return isPod(pod) ? pod : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the parts that are read have the API's shape. */
function isPod(value: unknown): value is Pod {
  if (!isRecord(value) || !isRecord(value['metadata']) || !isRecord(value['spec'])) return false;
  const { labels = {}, annotations = {} } = value['metadata'];
  return isRecord(labels) && isRecord(annotations);
}
