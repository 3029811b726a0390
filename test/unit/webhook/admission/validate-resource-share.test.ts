// ResourceShares: a limit that cannot be read would be no limit.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject, ResourceList } from '../../../../api/objects/core.ts';
import { validateResourceShare } from '../../../../webhook/admission/validate-resource-share.ts';

const aShare = (limits?: ResourceList): KubernetesObject =>
  ({ metadata: { name: 's' }, spec: { source: '*', ...(limits && { limits }) } }) as KubernetesObject;

describe('validateResourceShare', () => {
  for (const [what, limits] of Object.entries({ 'no limits': undefined, quantities: { cpu: '4', pods: 10 } })) {
    it(`admits ${what}`, () => assert.deepEqual(validateResourceShare(aShare(limits)), { kind: 'pass' }));
  }

  for (const [what, limits] of Object.entries({ 'a word': { cpu: 'four' }, 'a negative number': { pods: -1 } })) {
    it(`denies ${what}, and says where it stands`, () => {
      const admission = validateResourceShare(aShare(limits));
      assert.ok(admission.kind === 'deny');
      assert.equal(admission.reason, 'BadQuantity');
      assert.match(admission.message, new RegExp(`^spec\\.limits gives .* of ${Object.keys(limits)[0]}, `));
    });
  }
});
