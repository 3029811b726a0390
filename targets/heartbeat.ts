// Heartbeat of a target's delegate controller: the ClusterSummary that it renews every minute. Only updates received
// while the watch is open count, by the local clock: the summary's own timestamp comes from another cluster's clock and
// merely has to change.
import type { ClusterSummary } from '../api/kinds/cluster-summary.ts';
import type { ControllerState } from '../model/delegate/delegation.ts';

/** Two missed renewals of 60 s plus half a minute for slow ones, in ms. */
export const HEARTBEAT_TIMEOUT_MS = 150_000;

/** The heartbeat of one target. */
export class Heartbeat {
  readonly #changed: () => void;
  #state: ControllerState = 'unknown';
  #time: string | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** `changed` is called when {@link state} changes. */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** The controller's state now. */
  get state(): ControllerState {
    return this.#state;
  }

  /** The watch opened: from now on a missing update counts. */
  listen(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#become('silent'), HEARTBEAT_TIMEOUT_MS);
  }

  /** The watch broke, or the session ended: a missing update means nothing. */
  pause(): void {
    clearTimeout(this.#timer);
  }

  /**
   * Records a summary; `now` in ms since the epoch. The first one may be stale: it counts as a heartbeat only when its
   * time is close to that of this process.
   */
  observe({ observed }: ClusterSummary, now: number): void {
    const time = observed?.time;
    if (time === undefined) { // Admiralty's controller sets no time
      this.pause();
      this.#time = undefined;
      return this.#become('admiralty');
    }
    const isOld = this.#time === undefined && Math.abs(now - Date.parse(time)) > HEARTBEAT_TIMEOUT_MS;
    const isSame = time === this.#time;
    this.#time = time;
    if (isOld || isSame) return;
    this.listen();
    this.#become('alive');
  }

  #become(state: ControllerState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#changed();
  }
}
