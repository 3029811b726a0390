// Orders keys fairly: namespaces round robin, first in, first out within one. A user who creates ten thousand pods at
// once delays others by at most one item.
import type { Queue, QueueAddOptions } from 'p-queue';

type RunFunction = () => Promise<unknown>;

/** Options that p-queue passes with each task. */
export interface FairOptions extends QueueAddOptions {
  /** Tasks of one group share a queue. */
  readonly group?: string;
}

/** Round robin over groups, for p-queue's `queueClass`. All operations take constant time. */
export class FairQueue implements Queue<RunFunction, FairOptions> {
  /** Queues of groups in round-robin order; empty ones are removed. */
  readonly #lines = new Map<string, Line>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  enqueue(run: RunFunction, { group = '' }: Partial<FairOptions> = {}): void {
    const line = this.#lines.get(group);
    if (line === undefined) this.#lines.set(group, { runs: [run], head: 0 });
    else line.runs.push(run);
    this.#size += 1;
  }

  dequeue(): RunFunction | undefined {
    for (const [group, line] of this.#lines) {
      const run = line.runs[line.head];
      line.head += 1;
      this.#size -= 1;
      this.#lines.delete(group);
      if (line.head < line.runs.length) this.#lines.set(group, compacted(line)); // back to the end of the round
      return run;
    }
    return undefined;
  }

  filter(): RunFunction[] {
    return [...this.#lines.values()].flatMap(({ runs, head }) => runs.slice(head));
  }

  setPriority(): void {
    throw new Error('there are no priorities');
  }
}

interface Line {
  readonly runs: RunFunction[];
  head: number;
}

const COMPACT_AT = 1_024;

function compacted(line: Line): Line {
  return line.head < COMPACT_AT
    || line.head * 2 < line.runs.length ? line : { runs: line.runs.slice(line.head), head: 0 };
}

/** The namespace of a key `namespace/name`; keys without one share a group. */
export function namespaceOf(key: string): string {
  const slash = key.indexOf('/');
  return slash === -1 ? '' : key.slice(0, slash);
}
