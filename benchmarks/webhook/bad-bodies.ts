// Malicious request bodies for the webhook: random bytes, and reviews with shuffled pieces. Pure: a seed reproduces
// them.

/** Pieces that mislead parsers. */
const PIECES = [
  '"object":', '"oldObject":', '"__proto__":{"a":1},', '"constructor":', '\\ud800', '\u0000', '\ufeff', '[[[[', '}',
  '"', '1e309', '-1', 'null', '{"a":'.repeat(200),
];
const MOST_RANDOM_BYTES = 2_000;
const MOST_EDITS = 4;
const LONGEST_CUT = 12;

/** `count` bodies made from a good one: two in five random bytes, the others the good one with up to four edits. */
export function badBodies(good: string, count: number, seed: number): readonly Uint8Array[] {
  const random = randomFrom(seed);
  const below = (end: number): number => Math.floor(random() * end);
  const edit = (text: string): string => {
    const at = below(text.length);
    return text.slice(0, at) + (PIECES[below(PIECES.length)] ?? '') + text.slice(at + below(LONGEST_CUT));
  };
  return Array.from({ length: count }, () => {
    if (below(5) < 2) return Uint8Array.from({ length: below(MOST_RANDOM_BYTES) }, () => below(256));
    const edits = Array.from({ length: 1 + below(MOST_EDITS) }, () => edit);
    return Buffer.from(edits.reduce((text, change) => change(text), good));
  });
}

/**
 * Numbers from 0 to 1, 1 excluded: a linear congruential generator (constants of Numerical Recipes), good enough to
 * scatter edits.
 */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
