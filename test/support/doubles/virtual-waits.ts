// Time for code that polls: waits cost nothing, and the clocks of the process go on by as much as they ask for.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';

/** When a test begins. */
export const BEGIN = Date.parse('2026-01-01T00:00:00Z');

/** The waits so far, in ms. */
export interface VirtualWaits {
  readonly waits: readonly number[];
  /** Called when a wait begins, with the number of waits so far: what happens in the meantime. */
  during: (count: number) => void;
}

/** Until the test ends, each `delay` returns at once; `Date.now` begins at {@link BEGIN}, `performance.now` at 0. */
export function virtualWaits(t: TestContext): VirtualWaits {
  // a test that replaces clocks twice leaves them replaced for the tests after it
  assert.ok(!('mock' in globalThis.setTimeout), 'a test has virtual waits once');
  const waits: number[] = [];
  const virtual: VirtualWaits = { waits, during: () => undefined };
  let elapsed = 0;
  const original: (callback: () => void, ms: number, ...rest: unknown[]) => NodeJS.Timeout = globalThis.setTimeout;
  t.mock.method(performance, 'now', () => elapsed);
  t.mock.method(Date, 'now', () => BEGIN + elapsed);
  t.mock.method(globalThis, 'setTimeout', (callback: () => void, ms: number, ...rest: unknown[]) => {
    if (new Error('where').stack?.includes('kubernetes/flow/backoff.') !== true) return original(callback, ms, ...rest);
    elapsed += ms;
    const count = waits.push(ms);
    queueMicrotask(() => {
      virtual.during(count);
      callback();
    });
    return undefined;
  });
  return virtual;
}
