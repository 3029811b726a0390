// What targets are asked now and then beside what is followed of them. An answer is somebody else's data: one that cannot be read is none.
import { isDeepStrictEqual } from 'node:util';
import type { TargetSession } from '../../targets/target-session.ts';

/** A question to targets. */
export interface TargetQuestion<T> {
  /** Not more often than this is a target asked, in ms. */
  readonly intervalMs: number;
  /** Gives the answer; undefined, or a rejection, when there is none now. `before` is the last one. */
  readonly ask: (session: TargetSession, before: T | undefined) => Promise<T | undefined>;
}

interface Known<T> {
  /** Of a monotonic clock, in ms. */
  readonly askedAt: number;
  readonly answer: T | undefined;
}

/** The last answers to one question. */
export class TargetAnswers<T> {
  readonly #question: TargetQuestion<T>;
  readonly #known = new WeakMap<TargetSession, Known<T>>();

  constructor(question: TargetQuestion<T>) {
    this.#question = question;
  }

  /** What a target said last; undefined while it has said nothing. */
  of(session: TargetSession): T | undefined {
    return this.#known.get(session)?.answer;
  }

  /** Asks, unless it was just done; `found` is called when the answer is another than before. Never rejects. */
  async look(session: TargetSession, found: () => void): Promise<void> {
    const { intervalMs, ask } = this.#question;
    const { askedAt = -Infinity, answer: before } = this.#known.get(session) ?? {};
    if (performance.now() - askedAt < intervalMs) return;
    this.#known.set(session, { askedAt: performance.now(), answer: before });
    const answer = await ask(session, before).catch(() => undefined);
    if (answer === undefined || isDeepStrictEqual(answer, before)) return;
    this.#known.set(session, { askedAt: performance.now(), answer });
    found();
  }
}
