// Which targets have not been usable for long enough that their proxies say so. A target that flaps costs no write.
import type { Availability } from '../../targets/availability.ts';
import type { LostTarget } from './feedback-plan.ts';

/** A loss that lasts less is not told, in ms; with the 20 s in which a dead connection is found it is told within 45 s. */
const TOLD_AFTER_MS = 15_000;

interface Loss {
  readonly since: string;
  readonly timer: NodeJS.Timeout;
  availability: Availability;
  isTold: boolean;
}

/** Targets that are not ready now, by their key. */
export class LostTargets {
  readonly #losses = new Map<string, Loss>();

  /** Takes over whether a target is ready; `lost` is called when it has not been for a while. */
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
    const loss: Loss = { since: new Date().toISOString(), timer: setTimeout(tell, TOLD_AFTER_MS), availability, isTold: false };
    this.#losses.set(key, loss);
  }

  /** What is to be told of a target; undefined while it is ready, or has not been for a moment only. */
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

  /** Forgets all, and tells nothing any more. */
  stop(): void {
    for (const key of this.#losses.keys()) this.forget(key);
  }
}
