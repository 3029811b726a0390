// A collection as the viewer could read it, and what to say where they could not.
import type { UnreadablePart } from '../wire/screens.ts';

/**
 * The records, or why there are none to show. `reading`: the first list is under way. `outdated` says why changes of
 * them are not known now.
 */
export type Reading<T> =
  | { readonly kind: 'read'; readonly records: readonly T[]; readonly outdated?: string | undefined }
  | { readonly kind: 'reading' }
  | { readonly kind: 'forbidden' | 'failed'; readonly message: string };

/** The records; undefined where nothing is known of them. */
export function knownRecords<T>(reading: Reading<T>): readonly T[] | undefined {
  return reading.kind === 'read' ? reading.records : undefined;
}

/** What to say of collections that cannot be read, by what they are called: `pods`. */
export function unreadableIn(
  readings: Readonly<Record<string, Reading<unknown>>>, namespace: string | undefined,
): readonly UnreadablePart[] {
  return Object.entries(readings).flatMap(([name, reading]) => {
    const where = namespace === undefined ? '' : ` of namespace ${namespace}`;
    if (reading.kind === 'read' && reading.outdated !== undefined) {
      return [{ what: `changes of ${name}${where}`, why: reading.outdated, advice: OUTDATED }];
    }
    if (reading.kind === 'reading' || reading.kind === 'read') return [];
    return [{ what: `${name}${where}`, why: reading.message, advice: adviceFor(name, reading.kind, namespace) }];
  });
}

const OUTDATED = 'What is shown was read before and may be out of date. Retrying.';

function adviceFor(name: string, kind: 'forbidden' | 'failed', namespace: string | undefined): string {
  if (kind === 'failed') {
    return 'Retrying. If this lasts, check the API server with "kubectl get --raw /readyz".';
  }
  if (name === 'pods' && namespace === undefined) {
    return 'Enter a namespace that you may read above, or ask an administrator for permission to list pods.';
  }
  return `Ask an administrator for permission to list ${name}. The rest of the page works without it.`;
}
