import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { explanationText } from '../../../../cli/placement/explanation-text.ts';
import type { Deciding, ExplainedTarget, Explanation } from '../../../../scheduler/explain/explain.ts';

const EAST: ExplainedTarget = {
  target: 'east', checks: [{ filter: 'Ready', answer: 'passes' }, { filter: 'Group', answer: 'not-asked' }],
  tier: 0, afterScaleUp: false, score: 0.75, scores: [{ name: 'cost', weight: 2, score: 0.5 }],
};
const WEST: ExplainedTarget = { ...EAST, target: 'west', tier: 1, afterScaleUp: true, score: 0.5 };
const FULL: ExplainedTarget = {
  target: 'full',
  checks: [
    { filter: 'Ready', answer: 'passes' },
    { filter: 'Fit', answer: 'no', reason: 'InsufficientResources', message: 'no node has 4 cpu free' },
  ],
};
const both = (by: Deciding): Explanation =>
  ({ chosen: 'east', targets: [EAST, WEST, FULL], margin: { over: 'west', by, score: 0.25 } });
const first = (explanation: Explanation) => explanationText(explanation, false).split('\n')[0];

describe('the outcome of an explanation', () => {
  const leads: Record<Deciding, RegExp> = {
    'score': /^east leads west by 0\.250\.$/,
    'tier': /^east leads west: its tier comes first\.$/,
    'capacity-now': /^east leads west: it has free capacity now, the other only after a scale-up\.$/,
    'share': /^east leads west: its replica share is further behind\.$/,
    'name': /^east leads west: both are equal, and its name sorts first\.$/,
  };
  for (const [by, line] of Object.entries(leads)) {
    it(`says what decided: ${by}`, () => assert.match(first(both(by as Deciding)) ?? '', line));
  }

  const outcomes: readonly (readonly [what: string, explanation: Explanation, line: string])[] = [
    ['a single target', { chosen: 'east', targets: [EAST, FULL] }, 'east is the only target that can take the pod.'],
    ['no target at all', { targets: [] }, 'There is no target for this namespace.'],
    ['none that fits', { targets: [FULL] }, 'None of 1 targets can take the pod.'],
  ];
  for (const [what, explanation, line] of outcomes) it(what, () => assert.equal(first(explanation), line));

  it('names the smallest change where no target fits', () => {
    const smallestChange = { target: 'full', changes: ['lower the request to 2 cpu', 'add a node'] };
    const lines = explanationText({ targets: [FULL], smallestChange }, false).split('\n');
    assert.match(lines[1] ?? '', /full/);
    assert.deepEqual(lines.slice(2, 4), ['  - lower the request to 2 cpu', '  - add a node']);
  });
});

describe('the targets of an explanation', () => {
  it('show scores, and only the checks that fail', () => assert.deepEqual(
    explanationText(both('score'), false).split('\n').slice(2),
    [
      '→ east  score 0.750', 'west  score 0.500, tier 2, after scale-up',
      'full', '  ✗ Fit: InsufficientResources: no node has 4 cpu free',
    ],
  ));

  it('show each check and score when asked for more', () => assert.deepEqual(
    explanationText({ chosen: 'east', targets: [EAST, FULL] }, true).split('\n').slice(2),
    [
      '→ east  score 0.750', '  ✓ Ready', '  cost 0.500 × 2',
      'full', '  ✓ Ready', '  ✗ Fit: InsufficientResources: no node has 4 cpu free',
    ],
  ));
});
