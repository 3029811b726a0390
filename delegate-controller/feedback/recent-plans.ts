// Remembers for a moment what was just written. Watches bring a write back a little later, and what is decided in between, on a cache that has
// not seen it, would be written again.
import type { Plan } from '../../model/objects/plan.ts';

/** How long a plan is remembered, in ms: a watch that is further behind than this has other troubles. */
const REMEMBERED_MS = 2_000;

/** Plans that were executed. Plans name the UIDs that they are about, so an equal one is about the same object. */
export class RecentPlans {
  readonly #doneAt = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** For how long yet an equal plan need not be executed, in ms; 0 when it is to be. */
  msToRest(plan: Plan): number {
    const doneAt = this.#doneAt.get(JSON.stringify(plan));
    return doneAt === undefined ? 0 : Math.max(0, doneAt + REMEMBERED_MS - this.#now());
  }

  /** Notes that a plan was executed; forgets those of before that no longer matter. */
  done(plan: Plan): void {
    const now = this.#now();
    for (const [text, at] of this.#doneAt) {
      if (at + REMEMBERED_MS > now) break; // the oldest come first
      this.#doneAt.delete(text);
    }
    const text = JSON.stringify(plan);
    this.#doneAt.delete(text);
    this.#doneAt.set(text, now);
  }
}
