// Tracks which targets have been unusable long enough to report it on their proxies. A flapping target costs no write.
import type { Availability } from '../../targets/availability.ts';
import type { ReportedOutage } from './feedback-plan.ts';

/** A shorter outage is not reported, in ms. With the 20 s to detect a dead connection, one is reported within 45 s. */
const REPORT_AFTER_MS = 15_000;

interface Outage {
  readonly since: string;
  readonly timer: NodeJS.Timeout;
  availability: Availability;
  isReported: boolean;
}

/** Targets that are not ready, by key. */
export class ReportedOutages {
  readonly #outages = new Map<string, Outage>();

  /** Records whether a target is ready; `report` is called when it has not been ready for a while. */
  note(key: string, availability: Availability, report: () => void): void {
    if (availability.kind === 'ready') return this.forget(key);
    const before = this.#outages.get(key);
    if (before !== undefined) {
      before.availability = availability;
      return;
    }
    const tell = (): void => {
      outage.isReported = true;
      report();
    };
    const outage: Outage =
      { since: new Date().toISOString(), timer: setTimeout(tell, REPORT_AFTER_MS), availability, isReported: false };
    this.#outages.set(key, outage);
  }

  /** The outage to report; undefined while the target is ready, or not ready for a moment only. */
  get(key: string): ReportedOutage | undefined {
    const outage = this.#outages.get(key);
    if (outage === undefined || !outage.isReported || outage.availability.kind === 'ready') return undefined;
    const { reason, message } = outage.availability;
    return { reason, message, since: outage.since.replace(/\.\d+Z$/, 'Z') };
  }

  /** The target is ready, or was removed. */
  forget(key: string): void {
    clearTimeout(this.#outages.get(key)?.timer);
    this.#outages.delete(key);
  }

  /** Forgets all targets and reports nothing any more. */
  stop(): void {
    for (const key of this.#outages.keys()) this.forget(key);
  }
}
