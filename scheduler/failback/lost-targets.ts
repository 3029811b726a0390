// Since when targets have not been ready, by what the scheduler was told. Times are in ms of a monotonic clock.

/** Targets that are not ready now. */
export class LostTargets {
  readonly #since = new Map<string, number>();

  /** Takes over whether a target is ready. */
  note(key: string, isReady: boolean, now: number): void {
    if (isReady) this.#since.delete(key);
    else if (!this.#since.has(key)) this.#since.set(key, now);
  }

  /** Forgets a target that was removed. */
  remove(key: string): void {
    this.#since.delete(key);
  }

  /** How long a target has not been ready; undefined when it is. */
  lostForMs(key: string, now: number): number | undefined {
    const since = this.#since.get(key);
    return since === undefined ? undefined : now - since;
  }
}
