import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseWeights } from '../../../../model/proxy/score-weights.ts';

describe('parseWeights', () => {
  const read: Record<string, Record<string, number>> =
    { 'cost=2,leastAllocated=0': { cost: 2, leastAllocated: 0 }, ' rtt = 1.5 , ': { rtt: 1.5 }, '': {},
      'cost=100': { cost: 100 }, 'cost=007': { cost: 7 }, 'cost=1,cost=2': { cost: 2 } };
  for (const [text, weights] of Object.entries(read)) {
    it(`reads ${JSON.stringify(text)}`, () => assert.deepEqual(parseWeights(text), { kind: 'weights', weights }));
  }

  const rejected: Record<string, RegExp> = {
    'speed=1': /no score "speed"; there are leastAllocated/,
    'cost': /weight of cost must be a number from 0 to 100, as in cost=1/,
    'cost=-1': /weight of cost/,
    'cost=101': /weight of cost/,
    'cost=1e9': /weight of cost/,
    '__proto__=1': /no score "__proto__"/,
    'cost=1=2': /weight of cost must be a number from 0 to 100/,
    'cost==1': /weight of cost/,
    'cost=': /weight of cost/,
    '=1': /no score ""/,
    'Cost=1': /no score "Cost"/,
    'cost=1;rtt=2': /weight of cost/,
    'cost=0x10': /weight of cost/,
    'cost=.5': /weight of cost/,
    'cost=1,rtt': /weight of rtt/,
  };
  for (const [text, message] of Object.entries(rejected)) {
    it(`rejects ${JSON.stringify(text)}`, () => {
      const parsed = parseWeights(text);
      assert.match(parsed.kind === 'invalid' ? parsed.message : '', message);
    });
  }
});
