// Remembers recent writes for a moment. A watch delivers a write a little later; a decision in between, on the stale
// cache, would write it again.
import type { Plan } from '../../model/objects/plan.ts';

/** How long a plan is remembered, in ms; a watch that is further behind has other problems. */
const REMEMBERED_MS = 2_000;

/** Executed plans. Plans contain UIDs, so an equal plan is about the same object. */
export class RecentPlans {
  readonly #doneAt = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** How much longer an equal plan need not be executed, in ms; 0 when it must be. */
  remainingMs(plan: Plan): number {
    const doneAt = this.#doneAt.get(JSON.stringify(plan));
    return doneAt === undefined ? 0 : Math.max(0, doneAt + REMEMBERED_MS - this.#now());
  }

  /** Records an executed plan, and removes expired ones. */
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
