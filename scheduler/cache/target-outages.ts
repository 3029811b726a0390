// Tracks since when targets are not ready, and which have just come back. Times are in ms of a monotonic clock.

/** What is seen of a target. */
export interface TargetActivity {
  readonly isReady: boolean;
  /** Its API server has refused or ended connections since it last answered: it was stopped, not only cut off. */
  readonly isGone: boolean;
}

interface Outage {
  readonly since: number;
  readonly wasReady: boolean;
  /** When its API server was first seen to be gone; undefined while it is only silent. */
  goneSince: number | undefined;
}

/**
 * A restarted target is avoided for as long as its API server was seen to be gone, and not longer than this, in ms:
 * client-go, with which its scheduler and controllers watch, backs off for so long at most. Silence before that does
 * not count: behind a network that was cut, connections may end the moment it works again, and the target worked on.
 */
const MAX_RESTART_MS = 30_000;

/** Targets that are not ready, and those that were restarted. */
export class TargetOutages {
  readonly #outages = new Map<string, Outage>();
  readonly #ready = new Set<string>();
  readonly #restartedUntil = new Map<string, number>();

  /** Records what is seen of a target. Returns for how long it is avoided when it has just come back from a restart. */
  note(key: string, { isReady, isGone }: TargetActivity, now: number): number | undefined {
    const outage = this.#outages.get(key);
    if (!isReady) {
      const noted = outage ?? { since: now, wasReady: this.#ready.delete(key), goneSince: undefined };
      if (isGone) noted.goneSince ??= now;
      this.#outages.set(key, noted);
      return undefined;
    }
    this.#outages.delete(key);
    this.#ready.add(key);
    if (outage?.goneSince === undefined || !outage.wasReady) return undefined;
    const ms = Math.min(MAX_RESTART_MS, now - outage.goneSince);
    this.#restartedUntil.set(key, now + ms);
    return ms;
  }

  /** Removes a target. */
  remove(key: string): void {
    this.#outages.delete(key);
    this.#ready.delete(key);
    this.#restartedUntil.delete(key);
  }

  /** How long a target has not been ready; undefined when it is ready. */
  outageMs(key: string, now: number): number | undefined {
    const since = this.#outages.get(key)?.since;
    return since === undefined ? undefined : now - since;
  }

  /** Targets that have come back so recently that their own schedulers may not be there yet. */
  restarted(now: number): readonly string[] {
    for (const [key, until] of this.#restartedUntil) if (until <= now) this.#restartedUntil.delete(key);
    return [...this.#restartedUntil.keys()];
  }

  /** Whether a target is one of them. */
  isRestarted(key: string, now: number): boolean {
    return now < (this.#restartedUntil.get(key) ?? 0);
  }
}
