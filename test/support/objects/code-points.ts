// Any character but a lone surrogate, as the unit of texts for laws. It is fast-check's unit `binary`, without the
// table of a million characters that fast-check makes of it, a second for each process.
import * as fc from 'fast-check';

const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;
const LAST = 0x10ffff;

function toCharacter(index: number): string {
  return String.fromCodePoint(index < FIRST_SURROGATE ? index : index + SURROGATES);
}

/** Throws for what is not one character, as fast-check asks of the inverse of a mapping. */
function toIndex(character: unknown): number {
  const point = typeof character === 'string' ? character.codePointAt(0) : undefined;
  const index = point === undefined || point < FIRST_SURROGATE ? point : point - SURROGATES;
  if (index === undefined || toCharacter(index) !== character) throw new Error('it is not one character');
  return index;
}

/** One character. */
export const codePoint: fc.Arbitrary<string> = fc.nat({ max: LAST - SURROGATES }).map(toCharacter, toIndex);
