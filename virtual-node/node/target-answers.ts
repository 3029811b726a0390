// Periodic requests to targets for data that is not watched. A response is untrusted: an invalid one counts as missing.
import { isDeepStrictEqual } from 'node:util';
import type { TargetSession } from '../../targets/target-session.ts';

/** A periodic request. */
export interface TargetQuestion<T> {
  /** Minimum interval between requests to one target, in ms. */
  readonly intervalMs: number;
  /** Returns the value; undefined, or a rejection, when there is none now. `before` is the last one. */
  readonly ask: (session: TargetSession, before: T | undefined) => Promise<T | undefined>;
}

interface Known<T> {
  /** On a monotonic clock, in ms. */
  readonly requestedAt: number;
  readonly answer: T | undefined;
}

/** The last values of one request. */
export class TargetAnswers<T> {
  readonly #question: TargetQuestion<T>;
  readonly #known = new WeakMap<TargetSession, Known<T>>();

  constructor(question: TargetQuestion<T>) {
    this.#question = question;
  }

  /** The last value of a target; undefined before the first. */
  of(session: TargetSession): T | undefined {
    return this.#known.get(session)?.answer;
  }

  /** Requests the value unless it is fresh; `found` is called when it changes. Never rejects. */
  async refresh(session: TargetSession, found: () => void): Promise<void> {
    const { intervalMs, ask } = this.#question;
    const { requestedAt = -Infinity, answer: before } = this.#known.get(session) ?? {};
    if (performance.now() - requestedAt < intervalMs) return;
    this.#known.set(session, { requestedAt: performance.now(), answer: before });
    const answer = await ask(session, before).catch(() => undefined);
    if (answer === undefined || isDeepStrictEqual(answer, before)) return;
    this.#known.set(session, { requestedAt: performance.now(), answer });
    found();
  }
}
