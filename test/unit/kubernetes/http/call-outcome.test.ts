import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError, UnreachableError } from '../../../../kubernetes/flow/api-error.ts';
import { outcomeOf, type CallOutcome } from '../../../../kubernetes/http/call-outcome.ts';
import { NotLeaderError } from '../../../../kubernetes/flow/fence.ts';

const answer = (status: number, message = '') => new ApiError(status, '', message);

const ROWS: readonly (readonly [what: string, thrown: unknown, outcome: CallOutcome])[] = [
  ['a connection that was refused', new UnreachableError('ECONNREFUSED', { isUnsent: true }), 'not-sent'],
  ['this process no longer leads', new NotLeaderError({ holds: () => false, msLeft: () => 0 }), 'not-sent'],
  ['a connection that broke after the request was written', new UnreachableError('ECONNRESET'), 'unknown'],
  ['anything that is no answer', new Error('aborted'), 'unknown'],
  ['a redirect, which is not followed', answer(302), 'not-done'],
  ['a malformed object', answer(400), 'not-done'],
  ['credentials that are not known', answer(401), 'not-done'],
  ['a quota that is used up', answer(403, 'exceeded quota'), 'not-done'],
  ['a namespace that is not there', answer(404), 'not-done'],
  ['a proxy that has waited for the rest of the request', answer(408), 'unknown'],
  ['a quota that was written meanwhile', answer(409), 'not-done'],
  ['an object that is not valid', answer(422), 'not-done'],
  ['too many requests', answer(429), 'not-done'],
  [
    'a webhook that cannot be reached', answer(500, 'Internal error occurred: failed calling webhook "v.example.com"'),
    'not-done',
  ],
  ['etcd that has not answered in time', answer(500, 'etcdserver: request timed out'), 'unknown'],
  ['etcd that has changed its leader', answer(500, 'etcdserver: leader changed'), 'unknown'],
  ['a method that is not known', answer(501), 'not-done'],
  ['a load balancer whose server has broken off', answer(502), 'unknown'],
  ['an API server that is starting, or overloaded', answer(503), 'not-done'],
  ['an API server that has not come to an end', answer(504), 'unknown'],
];

describe('what a failed write proves', () => {
  for (const [what, thrown, outcome] of ROWS) it(`${what}: ${outcome}`, () => assert.equal(outcomeOf(thrown), outcome));
});
