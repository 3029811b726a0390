// Paths and addresses of RFC 3986 for laws, as fast-check's `webPath` and `webUrl`, without the table of a million
// characters that these make, a second for each process.
import * as fc from 'fast-check';
import { codePoint } from './code-points.ts';

const plain = fc.constantFrom(...Array.from("abcxyzABCXYZ0123456789-._~!$&'()*+,;=:@"));
const encoded = codePoint.map((character) => encodeURIComponent(character));
const segment = fc.string({ unit: fc.oneof({ weight: 4, arbitrary: plain }, encoded) });

/** A path: empty, or segments that each begin with a slash. */
export const webPath: fc.Arbitrary<string> =
  fc.array(segment).map((segments) => segments.map((each) => `/${each}`).join(''));

/** An address with a path, and without query, fragment and user. */
export function webAddress(schemes: readonly string[] = ['http', 'https']): fc.Arbitrary<string> {
  return fc.tuple(fc.constantFrom(...schemes), fc.webAuthority(), webPath).map(([scheme, host, path]) =>
    `${scheme}://${host}${path}`);
}
