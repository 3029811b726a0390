// What is told of a target that cannot be used. A tenant chooses the address of a Target: what answers there is not
// theirs to read.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { ApiError } from '../../../kubernetes/flow/api-error.ts';
import { detailOf, explainFailure } from '../../../targets/availability.ts';

const CANARY = 'internal-canary';
const apiError = (status: number, reason: string, message = CANARY): ApiError => new ApiError(status, reason, message);
const administrators = { isTenantOwned: false, isApiServer: true };

/** The parts of an answer that people see. */
function told(error: unknown, context = administrators): readonly [reason: string, message: string] {
  const answer = explainFailure(error, context);
  assert.ok(answer.kind === 'unavailable');
  return [answer.reason, answer.message];
}

describe('an administrator is told', () => {
  const rows: readonly (readonly [error: unknown, reason: string, says: RegExp])[] = [
    [apiError(401, 'Unauthorized'), 'Unauthorized', /renew them in the Secret/],
    [apiError(403, 'Forbidden', 'pods is forbidden'), 'Forbidden', /pods is forbidden; run "isthmus peer" again/],
    [apiError(404, 'NotFound'), 'NotInstalled', /run "isthmus install" there/],
    [apiError(500, 'InternalError'), 'ApiServerError', /internal-canary/],
    [apiError(503, ''), 'ApiServerError', /answers with an error/],
    [new Error('connect ECONNREFUSED'), 'Unreachable', /cannot be reached: connect ECONNREFUSED/],
    ['no error at all', 'Unreachable', /cannot be reached/],
  ];
  for (const [error, reason, says] of rows) {
    it(`${reason} of ${String(error)}`, () => {
      const [given, message] = told(error);
      assert.equal(given, reason);
      assert.match(message, says);
    });
  }
});

describe('a tenant', () => {
  it('is told nothing of what is not known to be an API server, however it answers', () => {
    const errors = fc.oneof(
      fc.constant(new Error(CANARY)), fc.integer({ min: 400, max: 599 }).map((status) => apiError(status, '')),
    );
    fc.assert(fc.property(errors, (error) => {
      const [reason, message] = told(error, { isTenantOwned: true, isApiServer: false });
      assert.equal(reason, 'Unreachable');
      assert.equal(message.includes(CANARY), false);
    }));
  });
  it('is told the same of everything that cannot be reached: open ports cannot be told from closed ones', () => {
    const context = { isTenantOwned: true, isApiServer: false };
    const messages = [new Error('ECONNREFUSED'), new Error('ETIMEDOUT'), apiError(404, ''), apiError(200, '')]
      .map((error) => told(error, context).join());
    assert.equal(new Set(messages).size, 1);
  });
  it('is told of an error by an API server that has answered as one', () =>
    assert.equal(told(apiError(401, ''), { isTenantOwned: true, isApiServer: true })[0], 'Unauthorized'));
  it('is told of an error that only an API server writes', () =>
    assert.equal(told(apiError(403, 'Forbidden'), { isTenantOwned: true, isApiServer: false })[0], 'Forbidden'));
  it('is told nothing of a connection that broke later', () =>
    assert.equal(told(new Error(CANARY), { isTenantOwned: true, isApiServer: true })[1].includes(CANARY), false));
});

describe('the detail of an error', () => {
  it('is its cause, where its own message is generic', () => {
    assert.equal(detailOf(new Error('fetch failed', { cause: new Error('ECONNRESET') })), 'ECONNRESET');
    assert.equal(detailOf(new Error('as it is')), 'as it is');
  });
});
