// Watch events that come once more, as a server may send them after a fault: old ones, never any that is still to come.
import { isLater } from '../../../model/objects/resource-version.ts';

/** So many lines are remembered; then the older half of them comes again. */
const REMEMBERED = 20;

/**
 * Remembers the lines of all streams of one collection. Streams may bring the same lines, and lines that never reached
 * their reader.
 */
export class EventReplays {
  readonly #lines: string[] = [];

  /**
   * What comes again right after a line: changes that are not later than it. A later one would make the reader believe
   * that it has seen all before, and no server sends one: a stream follows the order of versions.
   */
  after(line: string): readonly string[] {
    this.#lines.push(line);
    if (this.#lines.length <= REMEMBERED) return [];
    const oldest = this.#lines.splice(0, REMEMBERED / 2);
    const version = versionOf(line);
    return oldest.filter((old) => isChange(old) && !isLater(versionOf(old), version));
  }
}

/** Bookmarks, which may end a list, and errors are no events that a server could send again. */
function isChange(line: string): boolean {
  return line.startsWith('{"type":"ADDED"') || line.startsWith('{"type":"MODIFIED"')
    || line.startsWith('{"type":"DELETED"');
}

function versionOf(line: string): string {
  const { object } =
    JSON.parse(line) as { readonly object: { readonly metadata: { readonly resourceVersion?: string } } };
  return object.metadata.resourceVersion ?? '';
}
