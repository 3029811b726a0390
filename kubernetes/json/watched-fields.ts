// Which fields a reflector reads from list pages and watch events: those that its records are made of, and those that
// it needs itself.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { SHARED, type FieldsOf, type FieldSelection, type SelectedFields } from '../../model/objects/fields.ts';
import { FieldReader } from './json-fields.ts';
import type { ReadDocument } from './json-lines.ts';
import { readSlim } from './managed-fields.ts';

/** Annotation of the bookmark that ends the initial events of a streaming list. */
export const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

/** Readers of one collection. */
export interface CollectionReaders {
  readonly page: (answer: Buffer) => unknown;
  readonly event: ReadDocument;
}

/** Readers of these fields of each object plus its identity; all but managedFields when they are missing. */
export function readersOf<T extends KubernetesObject>(fields: FieldsOf<T> | undefined): CollectionReaders {
  if (fields === undefined) return { page: readSlim, event: readSlim };
  const item = withIdentity(fields);
  const page = new FieldReader({ metadata: { resourceVersion: true, continue: true }, items: item });
  // An ERROR event holds a Status in the place of an object.
  const event = new FieldReader({ type: true, object: { ...item, code: true, reason: true, message: true } });
  return { page: (answer) => page.read(answer), event: (bytes, start, end) => event.read(bytes, start, end) };
}

function withIdentity(fields: SelectedFields): SelectedFields {
  return {
    ...fields,
    metadata: merged(fields['metadata'], {
      namespace: true, name: true, resourceVersion: true, annotations: { [INITIAL_EVENTS_END]: true },
    }),
  };
}

/** Both selections merged. A field that is selected by other fields' values is read whole. */
function merged(one: FieldSelection | undefined, other: SelectedFields): FieldSelection {
  if (one === undefined) return other;
  if (one === SHARED) return SHARED;
  if (one === true || typeof one === 'function') return true;
  const both: Record<string, FieldSelection | undefined> = { ...one };
  for (const [name, selection] of Object.entries(other)) {
    const isShared = one[name] === SHARED;
    if (!isShared) both[name] = typeof selection === 'object' ? merged(one[name], selection) : true;
  }
  return both;
}

const ITEMS = '"items":[';
/** Metadata of a list is short: a token of some hundred bytes. */
const LONGEST_HEAD = 8_192;

/**
 * The continue token, found without reading the items; undefined on the last page, or when the page does not begin with
 * its metadata as an API server's do. The key's bytes cannot be inside a string, where its quotes would be escaped.
 */
export function continueTokenOf(page: Buffer): string | undefined {
  const at = page.subarray(0, LONGEST_HEAD).indexOf(ITEMS);
  if (at === -1) return undefined;
  try {
    const { metadata } = JSON.parse(`${page.toString('utf8', 0, at)}${ITEMS}]}`) as {
      readonly metadata?: { readonly continue?: unknown }
    };
    return typeof metadata?.continue === 'string' && metadata.continue !== '' ? metadata.continue : undefined;
  } catch {
    return undefined;
  }
}
