// ClusterTargets and Targets: what CEL in their schema cannot check.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { TargetSpec } from '../../../../api/kinds/cluster-target.ts';
import type { ResourceList } from '../../../../api/objects/core.ts';
import { MAX_PATTERN_LENGTH } from '../../../../model/objects/label-pattern.ts';
import type { Admission } from '../../../../webhook/review/admission-answer.ts';
import { validateTarget } from '../../../../webhook/admission/validate-target.ts';
import { frozen } from '../../../support/objects/builders.ts';

const validated = (spec: Readonly<Record<string, unknown>> & Partial<TargetSpec>): Admission =>
  validateTarget(frozen({ metadata: { name: 't' }, spec: { self: true, ...spec } }));

const withSecond = (allocatable: ResourceList): Admission =>
  validated({ headroom: [{ count: 1, allocatable: { cpu: 1 } }, { count: 1, allocatable }] });

describe('a target is admitted', () => {
  const specs: Readonly<Record<string, Partial<TargetSpec>>> = {
    'with neither an expression nor headroom': {},
    'with a valid expression': { excludedLabelsRegexp: '^a=' },
    'with an expression of the greatest length': { excludedLabelsRegexp: 'a'.repeat(MAX_PATTERN_LENGTH) },
    'with headroom that has no nodes': { headroom: [] },
  };
  for (const [what, spec] of Object.entries(specs)) {
    it(what, () => assert.deepEqual(validated(spec), { kind: 'pass' }));
  }

  for (const amount of ['500m', '1Gi', '0', 2, 0.5]) {
    it(`with headroom of ${amount}`, () => assert.deepEqual(withSecond({ cpu: amount }), { kind: 'pass' }));
  }

  it('with an expression of another type: its schema denies that', () =>
    assert.deepEqual(validated({ excludedLabelsRegexp: 5 as never }), { kind: 'pass' }));
});

describe('a target is denied', () => {
  const expressions = {
    'that does not end': '(', 'with a look-behind': '(?<=a)b', 'that is too long': 'a'.repeat(MAX_PATTERN_LENGTH + 1),
    'that repeats too much': '(a{0,90}|b{0,90})',
  };
  for (const [what, excludedLabelsRegexp] of Object.entries(expressions)) {
    it(`for an expression ${what}`, () => {
      const admission = validated({ excludedLabelsRegexp });
      assert.ok(admission.kind === 'deny');
      assert.equal(admission.reason, 'BadLabelPattern');
      assert.match(admission.message, /^spec\.excludedLabelsRegexp .*; correct or remove it$/s);
    });
  }

  for (const amount of ['ten', '', '-1', '1e', ' ', -2]) {
    it(`for headroom of ${JSON.stringify(amount)}, and says where it stands`, () => {
      const admission = withSecond({ memory: '1Gi', cpu: amount });
      assert.ok(admission.kind === 'deny');
      assert.equal(admission.reason, 'BadQuantity');
      assert.match(
        admission.message, /^spec\.headroom\[1\]\.allocatable gives .* of cpu, which is not a valid quantity/,
      );
    });
  }

  it('for the first problem when it has several', () => {
    const admission = validated({ excludedLabelsRegexp: '(', headroom: [{ count: 1, allocatable: { cpu: 'x' } }] });
    assert.equal(admission.kind === 'deny' && admission.reason, 'BadLabelPattern');
  });

  it('or admitted, whatever it contains: never an exception', () => {
    const amount = fc.oneof(fc.string(), fc.double(), fc.integer());
    const headroom = fc.array(fc.record({ count: fc.nat(), allocatable: fc.dictionary(fc.string(), amount) }));
    fc.assert(fc.property(fc.anything(), headroom, (excludedLabelsRegexp, nodes) => {
      const admission = validated({ excludedLabelsRegexp: excludedLabelsRegexp as never, headroom: nodes });
      assert.ok(admission.kind === 'pass' || (admission.kind === 'deny' && admission.message !== ''));
    }));
  });
});
