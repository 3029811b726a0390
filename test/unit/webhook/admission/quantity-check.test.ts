// Quantities in our own objects: what Kubernetes' parser would refuse, or would read as less than nothing, is denied.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { checkQuantities } from '../../../../webhook/admission/quantity-check.ts';

const PATH = 'spec.limits';

describe('a list of quantities', () => {
  it('may be missing or empty', () => {
    for (const list of [undefined, {}]) assert.equal(checkQuantities(list, PATH), undefined);
  });
  for (const amount of ['0', 0, 2, '500m', '4Gi', '1.5', '.5', '1e3', '12E6', '1E', '+1', ' 4Gi ', '-0', '100n',
    '0.1u']) {
    it(`may have ${JSON.stringify(amount)}`, () => assert.equal(checkQuantities({ cpu: amount }, PATH), undefined));
  }
  for (const amount of ['', ' ', '.', 'm', '1 Gi', '1gi', '1GiB', '1,5', '0x10', '1e', 'Infinity', 'two', '½']) {
    it(`may not have ${JSON.stringify(amount)}`, () =>
      assert.equal(checkQuantities({ cpu: amount }, PATH)?.kind, 'deny'));
  }
  for (const amount of ['-1', -1, '-1m', '-500Mi', ' -1', '\t-2Gi', '-0.1n']) {
    it(`may not have ${JSON.stringify(amount)}, which is negative`, () =>
      assert.equal(checkQuantities({ cpu: amount }, PATH)?.reason, 'BadQuantity'));
  }
});

describe('a denial', () => {
  it('names the field, the resource and what was written, and gives examples', () => {
    const { message = '' } = checkQuantities({ cpu: '1', 'nvidia.com/gpu': 'two' }, PATH) ?? {};
    assert.match(message, /^spec\.limits gives "two" of nvidia\.com\/gpu, which is not a valid quantity/);
    assert.match(message, /500m, 2 or 4Gi/);
  });
  it('is about the first invalid one in the order of the object', () =>
    assert.match(checkQuantities({ a: '1', b: 'x', c: 'y' }, PATH)?.message ?? '', /of b,/));
  it('does not depend on valid ones around it', () => {
    const valid = fc.dictionary(fc.stringMatching(/^[a-c]{1,3}$/), fc.nat().map(String), { noNullPrototype: true });
    fc.assert(fc.property(valid, valid, (before, after) => {
      assert.equal(checkQuantities({ ...before, ...after }, PATH), undefined);
      assert.match(checkQuantities({ ...before, bad: 'x', ...after }, PATH)?.message ?? '', /of bad,/);
    }), { numRuns: 50 });
  });
});
