// Finds the end of a JSON object or list, 64 bytes at a time: more than half of a pod lies in ones that no reader here
// needs. Method: Langdale and Lemire, "Parsing Gigabytes of JSON per Second" (2019), in WebAssembly, the engine's only
// vector instructions. Five times as fast as a loop over bytes (ADR 0013); where it cannot be compiled, that loop is
// used.
import { get, give, i32, i64, i8x16, loopWhile, moduleOf, set, TYPES, when, type Code } from './webassembly-code.ts';

/** The part of the WebAssembly API used here; TypeScript only declares it with the DOM types. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => {
    readonly exports: {
      readonly memory: { readonly buffer: ArrayBuffer }; readonly run: (at: number, end: number) => number
    }
  };
};

const [QUOTE, COMMA, BACKSLASH, OPEN_BRACE, CLOSE_BRACE] = [0x22, 0x2c, 0x5c, 0x7b, 0x7d];
/**
 * Set in the code of a brace and not in that of the bracket of the same direction, so that one comparison finds both.
 */
const BRACE_BIT = 0x20;

const PAGE_BYTES = 1 << 16;
const MEMORY_PAGES = 65;
const BLOCK = 64;
const LANES = [0, 1, 2, 3];

// Parameters: first byte, which opens, and the end of the bytes.
const [AT, LAST] = [0, 1];
// One bit for each byte of the block, the first byte in the lowest bit.
const [QUOTES, BACKSLASHES, OPENS, CLOSES, ESCAPED, IN_TEXT] = [2, 3, 4, 5, 6, 7];
// State carried over to the next block: all ones inside a string, one after a backslash that escapes the next byte,
// open depth.
const [TEXT_GOES_ON, ESCAPE_GOES_ON, DEPTH] = [8, 9, 10];
const [LOWEST, REST, CLOSED] = [11, 12, 13];
const FIRST_LANE = 14;
const LOCALS = [...Array.from({ length: FIRST_LANE - QUOTES }, () => TYPES.i64), ...LANES.map(() => TYPES.v128)];

/** The bits of the bytes that equal `byte`, once the bits of `mask` are set in them. */
function bitsOf(byte: number, mask = 0): Code {
  const lane = (index: number): Code =>
    (mask === 0 ? get(FIRST_LANE + index) : i8x16.or(get(FIRST_LANE + index), i8x16.all(mask)));
  const bits = (index: number): Code =>
    i64.shiftLeft(i64.of(i8x16.toBits(i8x16.isEqual(lane(index), i8x16.all(byte)))), i64.constant(16 * index));
  return LANES.map(bits).reduce((all, more) => i64.or(all, more));
}

const lowestOf = (bits: number): Code => i64.and(get(bits), i64.subtract(i64.constant(0), get(bits)));

/** Which bytes a backslash escapes, one backslash at a time: they are rare. */
const ESCAPES: Code = when(
  i64.isNotZero(i64.or(get(BACKSLASHES), get(ESCAPE_GOES_ON))),
  set(ESCAPED, get(ESCAPE_GOES_ON)),
  set(BACKSLASHES, i64.and(get(BACKSLASHES), i64.not(get(ESCAPED)))),
  set(ESCAPE_GOES_ON, i64.constant(0)),
  loopWhile(
    i64.isNotZero(get(BACKSLASHES)),
    set(LOWEST, lowestOf(BACKSLASHES)),
    set(REST, i64.shiftLeft(get(LOWEST), i64.constant(1))),
    when(i64.isZero(get(REST)), set(ESCAPE_GOES_ON, i64.constant(1))),
    set(ESCAPED, i64.or(get(ESCAPED), get(REST))),
    set(BACKSLASHES, i64.and(get(BACKSLASHES), i64.not(i64.or(get(LOWEST), get(REST))))),
  ),
  set(QUOTES, i64.and(get(QUOTES), i64.not(get(ESCAPED)))),
);

/** A byte is inside a string when an odd number of quotes precede it: each bit becomes the parity of those below it. */
const TEXTS: Code = [
  set(IN_TEXT, get(QUOTES)),
  ...[1, 2, 4, 8, 16, 32].map(
    (by) => set(IN_TEXT, i64.xor(get(IN_TEXT), i64.shiftLeft(get(IN_TEXT), i64.constant(by)))),
  ),
  set(IN_TEXT, i64.xor(get(IN_TEXT), get(TEXT_GOES_ON))),
  set(TEXT_GOES_ON, i64.shiftRightSigned(get(IN_TEXT), i64.constant(63))),
  set(OPENS, i64.and(get(OPENS), i64.not(get(IN_TEXT)))),
  set(CLOSES, i64.and(get(CLOSES), i64.not(get(IN_TEXT)))),
].flat();

/** When a block closes at least as many as are open, the end may be in it: checks each close in turn. */
const SEARCH: Code = when(
  i64.isNotBelow(i64.ones(get(CLOSES)), get(DEPTH)),
  set(CLOSED, i64.constant(0)),
  set(REST, get(CLOSES)),
  loopWhile(
    i64.isNotZero(get(REST)),
    set(LOWEST, lowestOf(REST)),
    set(CLOSED, i64.add(get(CLOSED), i64.constant(1))),
    when(
      i64.isZero(i64.subtract(
        i64.add(get(DEPTH), i64.ones(i64.and(get(OPENS), i64.subtract(get(LOWEST), i64.constant(1))))), get(CLOSED),
      )),
      give(i32.add(i32.add(get(AT), i32.constant(1)), i64.toI32(i64.trailingZeros(get(LOWEST))))),
    ),
    set(REST, i64.xor(get(REST), get(LOWEST))),
  ),
);

const BODY: Code = [
  loopWhile(
    i32.isNotBelow(get(LAST), i32.add(get(AT), i32.constant(1))),
    ...LANES.map((index) => set(FIRST_LANE + index, i8x16.load(get(AT), 16 * index))),
    set(QUOTES, bitsOf(QUOTE)),
    set(BACKSLASHES, bitsOf(BACKSLASH)),
    set(OPENS, bitsOf(OPEN_BRACE, BRACE_BIT)),
    set(CLOSES, bitsOf(CLOSE_BRACE, BRACE_BIT)),
    ESCAPES,
    TEXTS,
    SEARCH,
    set(DEPTH, i64.subtract(i64.add(get(DEPTH), i64.ones(get(OPENS))), i64.ones(get(CLOSES)))),
    set(AT, i32.add(get(AT), i32.constant(BLOCK))),
  ),
  i32.constant(-1),
].flat();

/** Memory for one document at a time, in which the ends of objects and lists are found fast. */
export interface NestingScanner {
  /** The document lies here; see {@link placeForScan}. */
  readonly bytes: Buffer;
  /**
   * Index behind the bracket or brace that closes the one at `from`; kinds of brackets are not distinguished. -1 when
   * it is not before
   * `end`.
   */
  readonly endOfNesting: (from: number, end: number) => number;
}

/** Bytes after a document that the scanner may read. */
const PADDING = BLOCK;
/** Longest document that fits, in bytes: with its padding, and a quote behind that. */
const MAX_SCANNED_BYTES = MEMORY_PAGES * PAGE_BYTES - PADDING - 1;

/**
 * The scanner's memory with the document at its start: the copy costs a tenth of what it saves. Undefined where it does
 * not fit, or when there is no scanner.
 */
export function placeForScan(bytes: Buffer, start = 0, end = bytes.length): Buffer | undefined {
  const length = end - start;
  if (SCANNER === undefined || length > MAX_SCANNED_BYTES) return undefined;
  bytes.copy(SCANNER.bytes, 0, start, end);
  SCANNER.bytes.fill(COMMA, length, length + PADDING); // ends numbers and white space
  SCANNER.bytes[length + PADDING] = QUOTE; // ends a string that is cut: what lies behind is of other documents
  return SCANNER.bytes;
}

/** The scanner of this process; undefined where the engine rejects it. */
export const SCANNER: NestingScanner | undefined = openScanner();

function openScanner(): NestingScanner | undefined {
  try {
    const { memory, run } = new WebAssembly.Instance(
      new WebAssembly.Module(moduleOf({ parameters: 2, locals: LOCALS, body: BODY }, MEMORY_PAGES)),
    ).exports;
    return { bytes: Buffer.from(memory.buffer), endOfNesting: run };
  } catch {
    return undefined; // CPUs without SIMD, or engines with WebAssembly disabled
  }
}
