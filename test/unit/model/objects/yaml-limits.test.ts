// Limits of YAML that strangers wrote, looked at before the recursive parser sees it.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { stringify } from 'yaml';
import { exceedsYamlLimits } from '../../../../model/objects/yaml-limits.ts';

const LIMITS = { depth: 64, lexemes: 2_000 };
const nested = (open: string, close: string, depth: number): string => open.repeat(depth) + close.repeat(depth);

describe('YAML', () => {
  const rejected: Readonly<Record<string, string>> = {
    'of nested lists': nested('[', ']', 100), 'of nested mappings': `${'{a: '.repeat(100)}x${'}'.repeat(100)}`,
    'of nested lists that never end': '['.repeat(100_000), 'of nested blocks': Array.from({ length: 100 },
      (_, depth) => `${' '.repeat(depth)}a:`).join('\n'),
    'of nested sequences in blocks': '- '.repeat(100),
    'of many words': 'a: b\n'.repeat(1_000), 'of many anchors': '- &a b\n'.repeat(1_000),
    'of many documents': '---\n'.repeat(2_000), 'of many comments': '# x\n'.repeat(2_000),
    'of many empty lines': '\n'.repeat(5_000),
  };
  for (const [what, text] of Object.entries(rejected)) {
    it(`${what} exceeds them`, () => assert.equal(exceedsYamlLimits(text, LIMITS), true));
  }
  const read: Readonly<Record<string, string>> = {
    'that is empty': '', 'of one long text': `a: ${'x'.repeat(1_000_000)}`,
    'of one long text in quotes': `a: "${'\\n'.repeat(100_000)}"`, 'of moderate nesting': nested('[', ']', 20),
    'that is not valid': '{a: [b',
  };
  for (const [what, text] of Object.entries(read)) {
    it(`${what} does not`, () => assert.equal(exceedsYamlLimits(text, LIMITS), false));
  }
  it('is judged the same with more room: what fits into limits fits into larger ones', () => {
    fc.assert(fc.property(fc.jsonValue(), fc.nat({ max: 30 }), fc.nat({ max: 300 }), (value, depth, lexemes) => {
      const text = stringify(value);
      if (!exceedsYamlLimits(text, { depth, lexemes })) {
        assert.equal(exceedsYamlLimits(text, { depth: depth + 1, lexemes: lexemes + 1 }), false);
      }
    }), { numRuns: 80 });
  });
});
