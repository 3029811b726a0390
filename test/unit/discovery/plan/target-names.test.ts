import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { targetNameOf } from '../../../../discovery/plan/target-names.ts';

describe('the name of a target', () => {
  const name = (text: string, taken: readonly string[] = [], prefix = '') =>
    targetNameOf({ name: text, entry: 'Secret a/b' }, prefix, (one) => taken.includes(one));
  const rows: readonly (readonly [string, string])[] = [
    [name('eu-west'), 'eu-west'], [name('EU West'), 'eu-west'], [name('https://10.0.0.1:6443'), 'https-10-0-0-1-6443'],
    [name('eu', [], 'argo-'), 'argo-eu'], [name('a'.repeat(80)), 'a'.repeat(52)],
  ];
  for (const [actual, expected] of rows) it(`is ${expected}`, () => assert.equal(actual, expected));

  it('is marked when it is taken, or nothing is left of it', () => {
    assert.match(name('eu', ['eu']), /^eu-[0-9a-f]{8}$/);
    assert.match(name('ÄÖ'), /^cluster-[0-9a-f]{8}$/);
  });

  it('is always a DNS label that leaves room for the name of the virtual node', () => {
    fc.assert(fc.property(fc.string(), fc.string(), fc.boolean(), (text, entry, isTaken) => {
      assert.match(targetNameOf({ name: text, entry }, '', () => isTaken), /^[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?$/);
    }));
  });
});
