import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError, ignoreStale } from '../../../../kubernetes/flow/api-error.ts';

describe('ignoreStale', () => {
  for (const error of [new ApiError(404, 'NotFound', 'gone'), new ApiError(409, 'Conflict', 'changed')]) {
    it(`passes over ${error.reason}`, () => assert.doesNotThrow(() => ignoreStale(error)));
  }
  for (const error of [
    new ApiError(409, 'AlreadyExists', 'there'), new ApiError(403, 'Forbidden', 'no'), new Error('the socket broke'),
  ]) {
    it(`throws "${error.message}" as it came`, () => assert.throws(
      () => ignoreStale(error), (thrown) => thrown === error,
    ));
  }
});
