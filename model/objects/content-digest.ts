// A short digest of an object's contents, for caches that do not store the contents.
import { hash } from 'node:crypto';
import { canonicalJson } from './canonical-json.ts';

/** A text that is equal for equal values; see {@link canonicalJson}. */
export function contentDigest(value: unknown): string {
  return hash('sha256', canonicalJson(value), 'base64');
}
