// Selectors of targets: several of them together select what each selects, by Kubernetes' own matching.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { LabelSelector } from '../../../../api/objects/selectors.ts';
import { CLUSTER_TARGET_NAME_LABEL } from '../../../../api/objects/keys.ts';
import { Report } from '../../../../cli/translation/report.ts';
import {
  allOf, clusterNames, isEmpty, named, notNamed, reportLabels,
} from '../../../../cli/translation/target-selectors.ts';
import { matchesLabelSelector, selectorProblem } from '../../../../model/objects/label-selector.ts';
import { MAX_LABEL_LENGTH } from '../../../../model/naming/names.ts';

const key = fc.constantFrom('zone', 'tier', CLUSTER_TARGET_NAME_LABEL);
const value: fc.Arbitrary<string> = fc.constantFrom('a', 'b', 'c');
const labels = fc.dictionary(key, value, { noNullPrototype: true });
const requirement = fc.oneof(
  fc.record({ key, operator: fc.constantFrom('In', 'NotIn'), values: fc.uniqueArray(value, { minLength: 1 }) }),
  fc.record({ key, operator: fc.constantFrom('Exists', 'DoesNotExist') }),
);
const selector = fc.record(
  { matchLabels: labels, matchExpressions: fc.array(requirement, { maxLength: 2 }) },
    { requiredKeys: [], noNullPrototype: true },
) as fc.Arbitrary<LabelSelector>;

describe('selectors together', () => {
  const some = fc.array(fc.option(selector, { nil: undefined }), { maxLength: 4 });

  it('select a target exactly when each of them does', () => {
    fc.assert(fc.property(some, labels, (given, target) => {
      const wanted = given.every((one) => one === undefined || matchesLabelSelector(one, target));
      const together = allOf(given);
      assert.equal(together === undefined || matchesLabelSelector(together, target), wanted);
    }), { numRuns: 500 });
  });
  it('are a selector that Kubernetes accepts', () => {
    fc.assert(fc.property(some, (given) => {
      const together = allOf(given);
      if (together !== undefined) assert.equal(selectorProblem(together), undefined);
    }));
  });
  it('do not depend on their order in what they select', () => {
    fc.assert(fc.property(some, labels, (given, target) => {
      const [one, other] = [allOf(given), allOf(given.toReversed())].map((each) =>
        each === undefined || matchesLabelSelector(each, target));
      assert.equal(one, other);
    }));
  });
  it('are nothing where nothing is required', () =>
    assert.deepEqual([allOf([]), allOf([undefined, {}, { matchLabels: {} }])], [undefined, undefined]));
});

describe('selectors by name', () => {
  it('select those ClusterTargets and no other, or all but those', () => {
    fc.assert(fc.property(fc.uniqueArray(value, { minLength: 1 }), labels, (names, target) => {
      const isOne = names.includes(target[CLUSTER_TARGET_NAME_LABEL] ?? '');
      assert.equal(matchesLabelSelector(named(names), target), isOne);
      assert.equal(matchesLabelSelector(notNamed(names), target), !isOne);
    }));
  });
  it('are never empty, which would select all targets', () => {
    assert.equal(isEmpty(named(['a'])), false);
    assert.notEqual(selectorProblem(named([])), undefined, 'no name at all is an error, not everything');
  });
});

describe('names of clusters', () => {
  const read = (names: readonly string[]) => {
    const report = new Report('x');
    return { names: clusterNames(names, 'spec.names', report), report };
  };
  it('are kept in their order, each once', () => assert.deepEqual(read(['b', 'a', 'b']).names, ['b', 'a']));
  for (const wrong of ['', 'A', 'a b', '-a', 'a-', 'a_b', 'ä', 'a'.repeat(MAX_LABEL_LENGTH + 1), 'a/b']) {
    it(`are none with ${JSON.stringify(wrong.slice(0, 20))}, and nothing is converted: a restriction would be lost`,
      () => {
      const { names, report } = read(['good', wrong]);
      assert.deepEqual([names, report.isUnreadable], [undefined, true]);
    });
  }
});

describe('labels that another system puts on its clusters', () => {
  const findings = (given: LabelSelector) => {
    const report = new Report('x');
    reportLabels(given, 'clusters', { field: 'spec.selector', report });
    return report.findings.map(({ kind }) => kind);
  };
  it('are to be set on ClusterTargets', () => assert.deepEqual(findings({ matchLabels: { zone: 'a' } }), ['note']));
  it('are lost where a target without them would be admitted', () => {
    for (const operator of ['NotIn', 'DoesNotExist']) {
      assert.deepEqual(findings({ matchExpressions: [{ key: 'zone', operator, values: ['a'] }] }), ['lost']);
    }
  });
  it('are both where a selector has both', () => assert.deepEqual(
    findings({ matchLabels: { a: 'b' }, matchExpressions: [{ key: 'zone', operator: 'NotIn', values: ['a'] }] }),
    ['note', 'lost'],
  ));
  it('are nothing to speak of where there are none', () => assert.deepEqual(findings({}), []));
});
