// Keys whose reconcile failed because a server did not answer. They are retried when it answers again rather than when
// their backoff ends: after an outage of minutes that would be half a minute later.
import type { UnreachableError } from '../flow/api-error.ts';

/** The keys of one controller that wait for a server. */
export class UnreachableKeys {
  readonly #again: (key: string) => void;
  readonly #forgets = new Map<string, () => void>();

  /** `again` is called with each key once its server answers. */
  constructor(again: (key: string) => void) {
    this.#again = again;
  }

  /** Adds a key that failed with this error. */
  add(key: string, { onceReachable }: UnreachableError): void {
    this.remove(key);
    const forget = onceReachable?.(() => {
      this.#forgets.delete(key);
      this.#again(key);
    });
    if (forget !== undefined) this.#forgets.set(key, forget);
  }

  /** The key is reconciled anyway. */
  remove(key: string): void {
    this.#forgets.get(key)?.();
    this.#forgets.delete(key);
  }
}
