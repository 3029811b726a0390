import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { requireLabel } from '../../../../cli/output/object-names.ts';

describe('requireLabel', () => {
  it('takes every DNS-1123 label', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/), (label) => requireLabel('--name', label)),
    );
  });

  for (const wrong of ['', '-a', 'a-', 'A', 'a.b', 'a_b', 'a b', 'ä', 'a\n', 'a'.repeat(64)]) {
    it(`refuses ${JSON.stringify(wrong)} and names the flag`, () => assert.throws(
      () => requireLabel('--name', wrong), /^AppError: --name must be/,
    ));
  }
});
