// Which code of ours has run, from V8's own block counters (Chrome DevTools Protocol, domain Profiler): the guide of
// the fuzzer. Reading the counters takes milliseconds, so a campaign reads them once for many inputs.
import { Session, type Profiler } from 'node:inspector';

const ROOT = new URL('../../', import.meta.url).href;
const OURS =
  /^(?:api|model|webhook|scheduler|delegate-controller|virtual-node|peering|gateway|service-discovery|kubernetes|process)\//;

/** Counts the characters of our compiled code that have run since {@link BlockCoverage.start}. */
export class BlockCoverage {
  readonly #session = new Session();
  /** By function: one byte for each character of it, 1 where it has run. */
  readonly #seen = new Map<string, Uint8Array>();
  #pending = new Map<string, Uint8Array>();

  /** Begins to count; functions that are compiled already count as well. */
  start(): void {
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** Ends counting. */
  stop(): void {
    this.#session.post('Profiler.stopPreciseCoverage');
    this.#session.disconnect();
  }

  /**
   * Characters that have run since the last look and never before; they are known from now on, and the counters begin
   * anew.
   */
  takeNew(): number {
    this.#look();
    return this.learn(this.#pending);
  }

  /** Whether something has run since the last look that never ran before; it stays unknown. */
  hasNew(): boolean {
    this.#look();
    return [...this.#pending].some(([key, ran]) => this.#news(key, ran, false) > 0);
  }

  /** What the last look saw, by function. */
  get pending(): ReadonlyMap<string, Uint8Array> {
    return this.#pending;
  }

  /** Takes what a look saw for known; gives how many characters were not. */
  learn(seen: ReadonlyMap<string, Uint8Array>): number {
    let found = 0;
    for (const [key, ran] of seen) found += this.#news(key, ran, true);
    return found;
  }

  /** Characters that have run, in all. */
  get total(): number {
    return [...this.#seen.values()].reduce((sum, marks) => sum + marks.reduce((ran, mark) => ran + mark, 0), 0);
  }

  #take(): readonly Profiler.ScriptCoverage[] {
    let taken: readonly Profiler.ScriptCoverage[] = [];
    this.#session.post('Profiler.takePreciseCoverage', (error, { result }) => {
      if (error !== null) throw error;
      taken = result;
    });
    return taken;
  }

  #look(): void {
    this.#pending = new Map();
    for (const { url, functions } of this.#take()) {
      if (!url.startsWith(ROOT) || !OURS.test(url.slice(ROOT.length))) continue;
      for (const { ranges } of functions) this.#add(url, ranges);
    }
  }

  /** The first range is the function, the others lie in it and in one another; the innermost counts. */
  #add(url: string, ranges: readonly Profiler.CoverageRange[]): void {
    const [whole] = ranges;
    if (whole === undefined || whole.count === 0) return;
    const { startOffset: base, endOffset } = whole;
    const ran = new Uint8Array(endOffset - base);
    for (const { startOffset, endOffset: end, count } of ranges) {
      ran.fill(count > 0 ? 1 : 0, startOffset - base, end - base);
    }
    this.#pending.set(`${url}:${base}:${endOffset}`, ran);
  }

  #news(key: string, ran: Uint8Array, isLearnt: boolean): number {
    const before = this.#seen.get(key) ?? new Uint8Array(ran.length);
    let found = 0;
    for (let at = 0; at < ran.length; at += 1) {
      if (ran[at] === 0 || before[at] === 1) continue;
      if (isLearnt) before[at] = 1;
      found += 1;
    }
    if (isLearnt) this.#seen.set(key, before);
    return found;
  }
}
