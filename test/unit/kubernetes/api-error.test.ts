import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ignoreStale } from '../../../kubernetes/api-error.ts';

describe('ignoreStale', () => {
  it('throws what is no answer of an API server, as it came', () => {
    const thrown = new Error('the socket broke');
    assert.throws(() => ignoreStale(thrown), (error) => error === thrown);
  });
});
