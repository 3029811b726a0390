// Tracks since when targets are not ready. Times are in ms of a monotonic clock.

/** Targets that are not ready. */
export class LostTargets {
  readonly #since = new Map<string, number>();

  /** Records whether a target is ready. */
  note(key: string, isReady: boolean, now: number): void {
    if (isReady) this.#since.delete(key);
    else if (!this.#since.has(key)) this.#since.set(key, now);
  }

  /** Removes a target. */
  remove(key: string): void {
    this.#since.delete(key);
  }

  /** How long a target has not been ready; undefined when it is ready. */
  lostForMs(key: string, now: number): number | undefined {
    const since = this.#since.get(key);
    return since === undefined ? undefined : now - since;
  }
}
