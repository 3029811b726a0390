// Orders keys fairly: namespaces round robin, first in, first out within one. A user who creates ten thousand pods at
// once delays others by at most one item.

/** Round robin over groups. All operations take constant time. */
export class FairQueue<T> {
  /** Queues of groups in round-robin order; empty ones are removed. */
  readonly #lines = new Map<string, Line<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Adds an item behind those of its group. */
  enqueue(item: T, group: string): void {
    const line = this.#lines.get(group);
    if (line === undefined) this.#lines.set(group, { items: [item], head: 0 });
    else line.items.push(item);
    this.#size += 1;
  }

  /** Takes the first item of the next group; undefined when there is none. */
  dequeue(): T | undefined {
    for (const [group, line] of this.#lines) {
      const item = line.items[line.head];
      line.items[line.head] = undefined;
      line.head += 1;
      this.#size -= 1;
      this.#endTurn(group, line);
      return item;
    }
    return undefined;
  }

  /** The group goes to the end of the round, where there are others, or goes when it is empty. */
  #endTurn(group: string, line: Line<T>): void {
    const isEmpty = line.head === line.items.length;
    if (!isEmpty && this.#lines.size === 1 && line.head < COMPACT_AT) return;
    this.#lines.delete(group);
    if (!isEmpty) this.#lines.set(group, compacted(line));
  }

  /** Drops all items. */
  clear(): void {
    this.#lines.clear();
    this.#size = 0;
  }
}

interface Line<T> {
  /** Those before `head` were taken and forgotten: one that waits behind a thousand must not keep them all. */
  readonly items: (T | undefined)[];
  head: number;
}

const COMPACT_AT = 1_024;

function compacted<T>(line: Line<T>): Line<T> {
  const isSmall = line.head < COMPACT_AT || line.head * 2 < line.items.length;
  return isSmall ? line : { items: line.items.slice(line.head), head: 0 };
}

/** The namespace of a key `namespace/name`; keys without one share a group. */
export function namespaceOf(key: string): string {
  const slash = key.indexOf('/');
  return slash === -1 ? '' : key.slice(0, slash);
}
