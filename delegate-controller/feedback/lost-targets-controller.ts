// Tracks which targets have been unusable long enough to report it on their proxies. A flapping target costs no write.
import type { Availability } from '../../targets/availability.ts';
import type { LostTarget } from './feedback-plan.ts';

/** A shorter loss is not reported, in ms. With the 20 s to detect a dead connection, a loss is reported within 45 s. */
const REPORT_AFTER_MS = 15_000;

interface Loss {
  readonly since: string;
  readonly timer: NodeJS.Timeout;
  availability: Availability;
  isTold: boolean;
}

/** Targets that are not ready, by key. */
export class LostTargets {
  readonly #losses = new Map<string, Loss>();

  /** Records whether a target is ready; `lost` is called when it has not been ready for a while. */
  note(key: string, availability: Availability, lost: () => void): void {
    if (availability.kind === 'ready') return this.forget(key);
    const before = this.#losses.get(key);
    if (before !== undefined) {
      before.availability = availability;
      return;
    }
    const tell = (): void => {
      loss.isTold = true;
      lost();
    };
    const loss: Loss =
      { since: new Date().toISOString(), timer: setTimeout(tell, REPORT_AFTER_MS), availability, isTold: false };
    this.#losses.set(key, loss);
  }

  /** The loss to report; undefined while the target is ready, or has been lost only briefly. */
  get(key: string): LostTarget | undefined {
    const loss = this.#losses.get(key);
    if (loss === undefined || !loss.isTold || loss.availability.kind === 'ready') return undefined;
    const { reason, message } = loss.availability;
    return { reason, message, since: loss.since.replace(/\.\d+Z$/, 'Z') };
  }

  /** The target is ready, or was removed. */
  forget(key: string): void {
    clearTimeout(this.#losses.get(key)?.timer);
    this.#losses.delete(key);
  }

  /** Forgets all targets and reports nothing any more. */
  stop(): void {
    for (const key of this.#losses.keys()) this.forget(key);
  }
}
