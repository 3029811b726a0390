// Objects of registries for tests of pure code.
import type { KubernetesObject, ObjectMeta, Secret } from '../../api/objects/core.ts';

function metadataOf(key: string, more: ObjectMeta): ObjectMeta {
  const [first = '', second] = key.split('/');
  return { name: second ?? first, ...(second !== undefined && { namespace: first }), ...more };
}

/** An object by its key `namespace/name`, with these fields. */
export function objectOf(key: string, fields: object, more: ObjectMeta = {}): KubernetesObject {
  return { metadata: metadataOf(key, more), ...fields };
}

/** A Secret by its key, with these texts. */
export function secretOf(key: string, texts: Readonly<Record<string, string>>, more: ObjectMeta = {}): Secret {
  const data = Object.entries(texts).map(([name, text]) => [name, Buffer.from(text, 'utf8').toString('base64')]);
  return { metadata: metadataOf(key, more), data: Object.fromEntries(data) as Record<string, string> };
}
