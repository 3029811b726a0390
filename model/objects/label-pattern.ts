// Users' regular expressions for labels: Go's RE2 syntax, as in Admiralty, matched unanchored against `key=value`.
// Matching is linear in the text but not in the expression: `(a{0,1000}|b{0,1000})` 48 times takes 1.5 s to compile. So
// length and repetition counts are limited, and no expression blocks the process for more than some 10 ms.
import { RE2JS } from 're2js';

/** Maximum length in characters. */
export const MAX_PATTERN_LENGTH = 512;
/** Maximum sum of the repetition counts of an expression (`{n}`, `{n,m}`). */
const MAX_PATTERN_REPETITIONS = 100;

/** A compiled expression, or what is wrong with it. */
export type LabelPattern = { readonly kind: 'pattern'; readonly matches: (key: string, value: string) => boolean }
  | { readonly kind: 'invalid'; readonly message: string };

/** Compiles an expression. */
export function compileLabelPattern(expression: string): LabelPattern {
  if (expression.length > MAX_PATTERN_LENGTH) {
    return {
      kind: 'invalid', message: `has ${expression.length} characters; at most ${MAX_PATTERN_LENGTH} are allowed`,
    };
  }
  const repetitions = countRepetitions(expression);
  if (repetitions > MAX_PATTERN_REPETITIONS) {
    return {
      kind: 'invalid',
      message:
        `asks for ${repetitions} counted repetitions; at most ${MAX_PATTERN_REPETITIONS} are allowed, write + or * ` +
          'instead',
    };
  }
  try {
    const compiled = RE2JS.compile(expression);
    return { kind: 'pattern', matches: (key, value) => compiled.matcher(`${key}=${value}`).find() };
  } catch (error) {
    return {
      kind: 'invalid',
      message: `is not a valid RE2 expression: ${error instanceof Error ? error.message : 'it cannot be read'}`,
    };
  }
}

function countRepetitions(expression: string): number {
  let sum = 0;
  for (const [, least = '', most = ''] of expression.matchAll(/\{(\d+)(?:,(\d*))?\}/g)) {
    sum += Math.max(Number(least), Number(most));
  }
  return sum;
}
