import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StringMap } from '../../../../api/objects/core.ts';
import type { LabelSelector } from '../../../../api/objects/selectors.ts';
import {
  formatSelector, matchesLabelSelector, selectorProblem, withLabelKeys,
} from '../../../../model/objects/label-selector.ts';

const expression = (key: string, operator: string, ...values: string[]): LabelSelector =>
  ({ matchExpressions: [{ key, operator, ...(values.length > 0 && { values }) }] });

describe('matchesLabelSelector', () => {
  const labels = { app: 'web', tier: 'front' };
  const cases: Record<string, readonly [selector: LabelSelector | undefined, labels: StringMap, matches: boolean]> = {
    'an absent selector selects nothing': [undefined, labels, false],
    'an empty selector selects everything': [{}, labels, true],
    'an empty selector selects what has no labels': [{}, {}, true],
    'all of matchLabels must hold': [{ matchLabels: { app: 'web', tier: 'back' } }, labels, false],
    'matchLabels that hold select': [{ matchLabels: { app: 'web', tier: 'front' } }, labels, true],
    'a label that is missing does not match': [{ matchLabels: { zone: 'a' } }, labels, false],
    'In takes one of its values': [expression('app', 'In', 'db', 'web'), labels, true],
    'In does not take a missing label': [expression('zone', 'In', 'a'), labels, false],
    'NotIn takes other values': [expression('app', 'NotIn', 'db'), labels, true],
    'NotIn takes a missing label': [expression('zone', 'NotIn', 'a'), labels, true],
    'NotIn does not take its values': [expression('app', 'NotIn', 'web'), labels, false],
    'Exists takes any value': [expression('app', 'Exists'), labels, true],
    'Exists does not take a missing label': [expression('zone', 'Exists'), labels, false],
    'DoesNotExist takes a missing label': [expression('zone', 'DoesNotExist'), labels, true],
    'DoesNotExist does not take a label that is there': [expression('app', 'DoesNotExist'), labels, false],
    'an operator that there is not selects nothing': [expression('app', 'Gt', '1'), labels, false],
    'labels and expressions must both hold':
      [{ matchLabels: { app: 'web' }, ...expression('tier', 'In', 'back') }, labels, false],
    'a key of Object itself is a key like any other': [{ matchLabels: { constructor: 'x' } }, labels, false],
    'an expression on such a key sees no label': [expression('toString', 'Exists'), labels, false],
  };
  for (const [sentence, [selector, given, matches]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(matchesLabelSelector(selector, given), matches));
  }
});

describe('selectorProblem', () => {
  const cases: Record<string, readonly [selector: unknown, problem: RegExp | undefined]> = {
    'an empty selector is fine': [{}, undefined],
    'labels and expressions are fine': [
      {
        matchLabels: { a: 'b' },
        matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }, { key: 'c', operator: 'Exists' }],
      },
      undefined,
    ],
    'a text is none': ['app=web', /is not a label selector/],
    'a list is none': [[], /is not a label selector/],
    'labels that are numbers are rejected': [{ matchLabels: { a: 1 } }, /not strings/],
    'labels that are a list are rejected': [{ matchLabels: ['a'] }, /not strings/],
    'expressions must be a list': [{ matchExpressions: {} }, /not a list/],
    'an expression needs a key': [{ matchExpressions: [{ operator: 'In' }] }, /without a key/],
    'In needs values': [{ matchExpressions: [{ key: 'a', operator: 'In' }] }, /needs values for a In/],
    'Exists takes no values':
      [{ matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] }, /takes no values for a Exists/],
    'values must be text':
      [{ matchExpressions: [{ key: 'a', operator: 'In', values: [1] }] }, /values of a that are not strings/],
    'an unknown operator is named':
      [{ matchExpressions: [{ key: 'a', operator: 'Gt', values: ['1'] }] }, /no operator "Gt"/],
  };
  for (const [sentence, [selector, problem]] of Object.entries(cases)) {
    it(sentence, () => (
      problem === undefined ? assert.equal(selectorProblem(selector), undefined) : assert
        .match(selectorProblem(selector) ?? '', problem)
    ));
  }
});

describe('formatSelector', () => {
  it('writes as kubectl reads', () => {
    const selector: LabelSelector = {
      matchLabels: { region: 'eu' },
      matchExpressions: [
        { key: 'tier', operator: 'In', values: ['a', 'b'] }, { key: 'zone', operator: 'NotIn', values: ['z'] },
        { key: 'gpu', operator: 'Exists' }, { key: 'spot', operator: 'DoesNotExist' },
      ],
    };
    assert.equal(formatSelector(selector), 'region=eu,tier in (a,b),zone notin (z),gpu,!spot');
  });
  it('has a word for the one that is empty', () => assert.equal(formatSelector({}), 'everything'));
});

describe('withLabelKeys', () => {
  it('asks for the pod’s own values of the keys that it has', () => {
    const selector = withLabelKeys({ matchLabels: { app: 'web' } }, ['hash', 'other'], { hash: 'x' });
    assert.equal(matchesLabelSelector(selector, { app: 'web', hash: 'x' }), true);
    assert.equal(matchesLabelSelector(selector, { app: 'web', hash: 'y' }), false);
  });
  it('asks for other values where they must differ', () => {
    const selector = withLabelKeys({}, ['hash'], { hash: 'x' }, 'NotIn');
    assert.deepEqual(
      [{ hash: 'x' }, { hash: 'y' }, {}].map((labels) => matchesLabelSelector(selector, labels)), [false, true, true],
    );
  });
  it('leaves an absent selector absent, and one without keys alone', () => {
    assert.equal(withLabelKeys(undefined, ['hash'], { hash: 'x' }), undefined);
    const selector = { matchLabels: { app: 'web' } };
    assert.equal(withLabelKeys(selector, undefined, { hash: 'x' }), selector);
  });
});
