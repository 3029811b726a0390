// Whether the delegate controller of a target lives, by the ClusterSummary that it renews every minute (design D7). Only what is heard while the
// watch is open counts, by this process's own clock: the time in the summary is another cluster's, and merely has to change.
import type { ClusterSummary } from '../api/kinds/cluster-summary.ts';
import type { ControllerLife } from '../model/delegate/delegation.ts';

/** A summary is renewed every 60 s; two that do not come and half a minute for what is slow, in ms. */
export const HEARTBEAT_TIMEOUT_MS = 150_000;

/** The heartbeat of one target. */
export class Heartbeat {
  readonly #changed: () => void;
  #life: ControllerLife = 'unknown';
  #time: string | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** `changed` hears that {@link life} is another one. */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** What is known of the controller now. */
  get life(): ControllerLife {
    return this.#life;
  }

  /** The watch is open: from now on silence tells something. */
  listen(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#become('silent'), HEARTBEAT_TIMEOUT_MS);
  }

  /** The watch broke, or the session ended: silence tells nothing. */
  pause(): void {
    clearTimeout(this.#timer);
  }

  /** A summary as it is now; `now` in ms since the epoch. The first one may be old: it tells of life only when its time is near ours. */
  hear({ observed }: ClusterSummary, now: number): void {
    const time = observed?.time;
    if (time === undefined) { // Admiralty's controller tells no time
      this.pause();
      this.#time = undefined;
      return this.#become('foreign');
    }
    const isOld = this.#time === undefined && Math.abs(now - Date.parse(time)) > HEARTBEAT_TIMEOUT_MS;
    const isSame = time === this.#time;
    this.#time = time;
    if (isOld || isSame) return;
    this.listen();
    this.#become('alive');
  }

  #become(life: ControllerLife): void {
    if (life === this.#life) return;
    this.#life = life;
    this.#changed();
  }
}
