// Which reason a user is told when a target's API server rejects a candidate.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { toRejection } from '../../../../scheduler/snapshot/rejection.ts';

describe('toRejection', () => {
  const rows: Record<string, readonly [error: ApiError, reason: string, message: RegExp]> = {
    'a namespace that is missing':
      [new ApiError(404, 'NotFound', 'namespaces "team-a" not found'), 'NamespaceMissing',
        /^namespace team-a does not/],
    'a kind that is not served': [
      new ApiError(404, 'NotFound', 'the server could not find the requested resource'), 'NotInstalled',
      /"isthmus install"/,
    ],
    'a namespace that does not allow this source': [
      new ApiError(403, 'Forbidden', 'User "x" cannot create resource "podchaperons" in API group "m"'),
      'NamespaceNotAllowed', /"isthmus allow namespace team-a"/,
    ],
    'a policy of the target that says so': [
      new ApiError(403, 'Forbidden', 'admission policy: NamespaceNotAllowed: team-a'), 'NamespaceNotAllowed',
        /run "isthmus/,
    ],
    'words of such a policy in another answer are not it':
      [new ApiError(422, 'Invalid', 'NamespaceNotAllowed: x'), 'Invalid', /^NamespaceNotAllowed: x$/],
    'a quota': [new ApiError(403, 'Forbidden', 'exceeded quota: q'), 'Forbidden', /^exceeded quota: q$/],
    'a permission for pods that is missing, in Pod mode':
      [new ApiError(403, 'Forbidden', 'cannot create resource "pods"'), 'Forbidden', /"pods"/],
    'a body that is no Status': [new ApiError(403, '', 'denied'), 'Refused', /^denied$/],
    'a spec that it does not accept': [new ApiError(422, 'Invalid', 'spec.x'), 'Invalid', /^spec\.x$/],
    'credentials': [new ApiError(401, 'Unauthorized', 'secret words'), 'Unauthorized', /renew them in the Secret$/],
    'a webhook that failed': [new ApiError(500, 'InternalError', 'failed calling webhook'), 'AdmissionFailed',
      /webhook/],
    'a conflict': [new ApiError(409, 'Conflict', 'quota changed'), 'Conflict', /^quota changed$/],
    'a server that is full': [new ApiError(503, '', 'starting'), 'Overloaded', /^starting$/],
  };
  for (const [what, [error, reason, message]] of Object.entries(rows)) {
    it(`explains ${what}`, () => {
      const rejection = toRejection(error, 'team-a');
      assert.equal(rejection.reason, reason);
      assert.match(rejection.message, message);
    });
  }
  it('does not repeat what a server says about credentials', () => {
    assert.ok(!toRejection(new ApiError(401, 'Unauthorized', 'token abc'), 'n').message.includes('abc'));
  });
});
