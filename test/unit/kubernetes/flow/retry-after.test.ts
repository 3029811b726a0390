import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pauseBeforeRetry, type RetryHint } from '../../../../kubernetes/flow/retry-after.ts';

const answer = (status: number, retryAfter?: string): RetryHint => ({ status, retryAfter });

describe('a call', () => {
  const rows: readonly (readonly [what: string, answer: RetryHint, retries: number, pause: number | undefined])[] = [
    ['is sent again after a second of overload', answer(429, '1'), 0, 1_000],
    ['is sent again a third time', answer(429, '2'), 2, 2_000],
    ['is not sent a fifth time', answer(429, '1'), 3, undefined],
    ['is left to its caller when the pause is long, as for an eviction', answer(429, '10'), 0, undefined],
    ['is left to its caller without a pause', answer(429), 0, undefined],
    ['is not sent again after another error', answer(503, '1'), 0, undefined],
  ];
  for (const [what, given, retries, pause] of rows) {
    it(what, () => assert.equal(pauseBeforeRetry(given, retries), pause));
  }
});
