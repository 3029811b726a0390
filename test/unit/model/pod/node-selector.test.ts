import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { PodSpec, StringMap } from '../../../../api/objects/core.ts';
import type { NodeSelectorRequirement, NodeSelectorTerm } from '../../../../api/objects/selectors.ts';
import { matchesNodeSelector, namedNodes } from '../../../../model/pod/node-selector.ts';

type Constraints = Pick<PodSpec, 'nodeSelector' | 'affinity'>;

const labels: StringMap = { zone: 'a', disk: 'ssd', cores: '8', empty: '', word: 'many' };

function affinity(...nodeSelectorTerms: readonly NodeSelectorTerm[]): Constraints {
  return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } };
}

function requirement(key: string, operator: string, ...values: readonly string[]): NodeSelectorRequirement {
  return { key, operator, values };
}

function matches(of: StringMap, ...expressions: readonly NodeSelectorRequirement[]): boolean {
  return matchesNodeSelector(affinity({ matchExpressions: expressions }), of);
}

describe('matchesNodeSelector', () => {
  const simple: Record<string, readonly [Constraints, boolean]> = {
    'a pod without constraints goes anywhere': [{}, true],
    'affinity without a required part goes anywhere': [{ affinity: { nodeAffinity: {} } }, true],
    'an empty nodeSelector goes anywhere': [{ nodeSelector: {} }, true],
    'all labels of nodeSelector must be there': [{ nodeSelector: { zone: 'a', disk: 'ssd' } }, true],
    'one wrong value is enough to reject': [{ nodeSelector: { zone: 'a', disk: 'hdd' } }, false],
    'an absent label is rejected': [{ nodeSelector: { gpu: 'yes' } }, false],
    'an empty value is not an absent label': [{ nodeSelector: { gpu: '' } }, false],
    'an empty value can be asked for': [{ nodeSelector: { empty: '' } }, true],
    'nodeSelector and affinity must both hold':
      [{ nodeSelector: { zone: 'b' }, ...affinity({ matchExpressions: [requirement('zone', 'Exists')] }) }, false],
    'a required affinity without terms matches nothing': [affinity(), false],
    'so does one in which nobody wrote any': [
      { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: {} } } } as unknown as Constraints,
      false,
    ],
    'an empty term matches nothing': [affinity({}), false],
    'a term with empty lists matches nothing': [affinity({ matchExpressions: [], matchFields: [] }), false],
    'terms are alternatives': [
      affinity({ matchExpressions: [requirement('zone', 'In', 'b')] }, {
        matchExpressions: [requirement('disk', 'In', 'ssd')],
      }),
      true,
    ],
    'an empty term does not spoil the others':
      [affinity({}, { matchExpressions: [requirement('zone', 'In', 'a')] }), true],
    'requirements of one term must all hold':
      [affinity({ matchExpressions: [requirement('zone', 'In', 'a'), requirement('disk', 'In', 'hdd')] }), false],
  };
  for (const [sentence, [constraints, matches]] of Object.entries(simple)) {
    it(sentence, () => assert.equal(matchesNodeSelector(constraints, labels), matches));
  }

  const expressions: Record<string, readonly [NodeSelectorRequirement, boolean]> = {
    'In accepts a listed value': [requirement('zone', 'In', 'b', 'a'), true],
    'In rejects another value': [requirement('zone', 'In', 'b'), false],
    'In rejects an absent label': [requirement('gpu', 'In', ''), false],
    'In without values cannot be parsed': [requirement('zone', 'In'), false],
    'NotIn accepts another value': [requirement('zone', 'NotIn', 'b'), true],
    'NotIn rejects a listed value': [requirement('zone', 'NotIn', 'b', 'a'), false],
    'NotIn accepts an absent label': [requirement('gpu', 'NotIn', 'yes'), true],
    'NotIn without values cannot be parsed': [requirement('zone', 'NotIn'), false],
    'Exists accepts any value': [requirement('empty', 'Exists'), true],
    'Exists rejects an absent label': [requirement('gpu', 'Exists'), false],
    'Exists with values cannot be parsed': [requirement('zone', 'Exists', 'a'), false],
    'DoesNotExist accepts an absent label': [requirement('gpu', 'DoesNotExist'), true],
    'DoesNotExist rejects any value': [requirement('empty', 'DoesNotExist'), false],
    'DoesNotExist with values cannot be parsed': [requirement('gpu', 'DoesNotExist', 'a'), false],
    'Gt accepts a greater number': [requirement('cores', 'Gt', '7'), true],
    'Gt rejects an equal number': [requirement('cores', 'Gt', '8'), false],
    'Gt compares numbers, not texts': [requirement('cores', 'Gt', '16'), false],
    'Gt accepts a greater number than a negative one': [requirement('cores', 'Gt', '-9'), true],
    'Gt rejects a label that is no number': [requirement('word', 'Gt', '1'), false],
    'Gt rejects an absent label': [requirement('gpu', 'Gt', '1'), false],
    'Gt rejects a fraction': [requirement('cores', 'Gt', '1.5'), false],
    'Gt rejects a bound beyond 64 bits': [requirement('cores', 'Gt', '-9223372036854775809'), false],
    'Gt with two values cannot be parsed': [requirement('cores', 'Gt', '1', '2'), false],
    'Gt without values cannot be parsed': [requirement('cores', 'Gt'), false],
    'Lt accepts a smaller number': [requirement('cores', 'Lt', '16'), true],
    'Lt rejects an equal number': [requirement('cores', 'Lt', '8'), false],
    'Lt knows the largest 64-bit number': [requirement('cores', 'Lt', '9223372036854775807'), true],
    'an unknown operator cannot be parsed': [requirement('zone', 'Like', 'a'), false],
    'an unknown operator without values cannot be parsed': [requirement('zone', 'Like'), false],
  };
  for (const [sentence, [expression, matches]] of Object.entries(expressions)) {
    it(
      sentence, () => assert.equal(matchesNodeSelector(affinity({ matchExpressions: [expression] }), labels), matches),
    );
  }

  it('reads absent values as none', () => {
    assert.equal(
      matchesNodeSelector(affinity({ matchExpressions: [{ key: 'zone', operator: 'Exists' }] }), labels), true,
    );
  });

  const fields: Record<string, readonly [NodeSelectorRequirement, nodeName: string | undefined, boolean]> = {
    'the name of the node can be asked for': [requirement('metadata.name', 'In', 'n1'), 'n1', true],
    'another name is rejected': [requirement('metadata.name', 'In', 'n1'), 'n2', false],
    'a name can be excluded': [requirement('metadata.name', 'NotIn', 'n1'), 'n1', false],
    'excluding one name leaves the others': [requirement('metadata.name', 'NotIn', 'n1'), 'n2', true],
    'two names cannot be parsed': [requirement('metadata.name', 'In', 'n1', 'n2'), 'n1', false],
    'other operators cannot be parsed': [requirement('metadata.name', 'Exists'), 'n1', false],
    'an operator that needs one value cannot be parsed with it':
      [requirement('metadata.name', 'Gt', 'n1'), 'n1', false],
    'an unknown field is empty': [requirement('spec.x', 'In', 'n1'), 'n1', false],
    'fields are not asked when the node is not known': [requirement('metadata.name', 'In', 'n1'), undefined, true],
  };
  for (const [sentence, [field, nodeName, matches]] of Object.entries(fields)) {
    it(`fields: ${sentence}`, () => assert.equal(
      matchesNodeSelector(affinity({ matchFields: [field] }), labels, nodeName), matches,
    ));
  }

  it('asks for fields and labels of one term together', () => {
    const both = affinity(
      { matchExpressions: [requirement('zone', 'In', 'b')], matchFields: [requirement('metadata.name', 'In', 'n1')] },
    );
    assert.equal(matchesNodeSelector(both, labels, 'n1'), false);
    assert.equal(matchesNodeSelector(both, { zone: 'b' }, 'n1'), true);
  });

  for (const key of ['__proto__', 'constructor', 'toString']) {
    it(`takes ${key} for a label key like any other`, () => {
      const has = JSON.parse(`{"${key}": "x"}`) as StringMap;
      assert.equal(matchesNodeSelector(affinity({ matchExpressions: [requirement(key, 'Exists')] }), {}), false);
      assert.equal(matchesNodeSelector(affinity({ matchExpressions: [requirement(key, 'Exists')] }), has), true);
      assert.equal(matchesNodeSelector({ nodeSelector: has }, {}), false);
      assert.equal(matchesNodeSelector({ nodeSelector: has }, has), true);
    });
  }
});

describe('laws of node selectors', () => {
  const key = fc.constantFrom('a', 'b', 'constructor');
  const value = fc.constantFrom('1', '2', 'x');
  const nodeLabels = fc.dictionary(key, value);
  const values = fc.array(value, { minLength: 1, maxLength: 3 });

  it('NotIn is the opposite of In, DoesNotExist of Exists', () => {
    fc.assert(
      fc.property(nodeLabels, key, values, (of, k, vs) => {
        assert.notEqual(matches(of, requirement(k, 'In', ...vs)), matches(of, requirement(k, 'NotIn', ...vs)));
        assert.notEqual(matches(of, requirement(k, 'Exists')), matches(of, requirement(k, 'DoesNotExist')));
      }),
    );
  });

  it('nodeSelector asks what In with one value asks', () => {
    fc.assert(
      fc.property(nodeLabels, key, value, (of, k, v) => {
        assert.equal(matchesNodeSelector({ nodeSelector: { [k]: v } }, of), matches(of, requirement(k, 'In', v)));
      }),
    );
  });

  it('requirements of one term commute', () => {
    const one = fc.tuple(key, fc.constantFrom('In', 'NotIn', 'Gt'), values)
      .map(([k, operator, vs]) => requirement(k, operator, ...vs));
    fc.assert(fc.property(nodeLabels, one, one, (of, p, q) => assert.equal(matches(of, p, q), matches(of, q, p))));
  });
});

describe('labels whose values are not known', () => {
  const unknown = new Set(['id']);
  const cases: Record<string, readonly [expression: NodeSelectorRequirement, may: boolean]> = {
    'may have a value that is asked for': [{ key: 'id', operator: 'In', values: ['a'] }, true],
    'may have another than one that is rejected': [{ key: 'id', operator: 'NotIn', values: ['a'] }, true],
    'exist': [{ key: 'id', operator: 'Exists' }, true],
    'are not missing': [{ key: 'id', operator: 'DoesNotExist' }, false],
    'may be greater': [{ key: 'id', operator: 'Gt', values: ['5'] }, true],
    'are not greater than what is no number': [{ key: 'id', operator: 'Gt', values: ['x'] }, false],
    'satisfy no operator that Kubernetes does not know': [{ key: 'id', operator: 'Like', values: ['x'] }, false],
    'say nothing of other labels': [{ key: 'zone', operator: 'Exists' }, false],
  };
  for (const [sentence, [expression, may]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(
      matchesNodeSelector(affinity({ matchExpressions: [expression] }), {}, undefined, unknown), may,
    ));
  }

  it('may be what a nodeSelector asks for', () => {
    assert.equal(matchesNodeSelector({ nodeSelector: { id: 'a' } }, {}, undefined, unknown), true);
    assert.equal(matchesNodeSelector({ nodeSelector: { id: 'a', zone: 'b' } }, {}, undefined, unknown), false);
  });
});

describe('namedNodes', () => {
  it('lists the names that a pod speaks of, wherever it does', () => {
    const term = {
      matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'NotIn', values: ['b'] }, {
        key: 'zone', operator: 'In', values: ['z'],
      }],
      matchFields: [{ key: 'metadata.name', operator: 'In', values: ['c'] }],
    };
    assert.deepEqual(
      namedNodes({ nodeSelector: { 'kubernetes.io/hostname': 'a', disk: 'ssd' }, ...affinity(term) }),
      new Set(['a', 'c', 'b']),
    );
    assert.deepEqual(namedNodes({}), new Set());
  });
});
