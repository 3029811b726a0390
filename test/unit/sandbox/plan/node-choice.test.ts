// What `--nodes` may say.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { nodeChoiceText, parseNodeChoice } from '../../../../sandbox/plan/node-choice.ts';

describe('parseNodeChoice', () => {
  const rows = [
    ['0', { kind: 'simulated', count: 0 }], ['3', { kind: 'simulated', count: 3 }],
    ['5000', { kind: 'simulated', count: 5_000 }], ['real', { kind: 'real', count: 1 }],
    ['real:2', { kind: 'real', count: 2 }], ['real:8', { kind: 'real', count: 8 }],
    ...['', ':', ':3', 'real:', 'real:0', 'real:9', 'real2', '5001', '-1', '1.5', 'Real', 'reallyreal', '99999'].map(
      (text) => [text, undefined] as const,
    ),
  ] as const;
  for (const [text, choice] of rows) {
    it(`reads ${JSON.stringify(text)} as ${JSON.stringify(choice)}`, () => {
      assert.deepEqual(parseNodeChoice(text), choice);
    });
  }

  it('reads what nodeChoiceText writes', () => {
    const simulated = fc.record({ kind: fc.constant('simulated' as const), count: fc.nat({ max: 5_000 }) });
    const real = fc.record({ kind: fc.constant('real' as const), count: fc.integer({ min: 1, max: 8 }) });
    fc.assert(fc.property(fc.oneof(simulated, real), (choice) => {
      assert.deepEqual(parseNodeChoice(nodeChoiceText(choice)), { ...choice });
    }));
  });
});
