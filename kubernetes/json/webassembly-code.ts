// Assembles a WebAssembly module with one function, whose body is written as nested expressions. Covers only what
// `json-nesting.ts` needs. The engine validates the result. Opcodes: WebAssembly 2.0, section 5.

/** A piece of a body: an expression leaves one value on the stack, a statement none. */
export type Code = readonly number[];

/** Type of a local variable. */
export const TYPES = { i32: 0x7f, i64: 0x7e, v128: 0x7b } as const;

const NO_RESULT = 0x40;
const END = 0x0b;
const SIMD = 0xfd;

const unary = (...opcode: readonly number[]) => (value: Code): Code => [...value, ...opcode];
const binary = (...opcode: readonly number[]) => (left: Code, right: Code): Code => [...left, ...right, ...opcode];

/** Arithmetic of 32 bits. */
export const i32 =
  { constant: (value: number): Code => [0x41, ...signed(value)], isNotBelow: binary(0x4f), add: binary(0x6a) } as const;

/** Arithmetic of 64 bits. */
export const i64 = {
  constant: (value: number): Code => [0x42, ...signed(value)],
  of: unary(0xad), toI32: unary(0xa7),
  isZero: unary(0x50), isNotZero: (value: Code): Code => i64.isDifferent(value, i64.constant(0)),
  isDifferent: binary(0x52), isNotBelow: binary(0x5a),
  trailingZeros: unary(0x7a), ones: unary(0x7b),
  add: binary(0x7c), subtract: binary(0x7d),
  and: binary(0x83), or: binary(0x84), xor: binary(0x85), shiftLeft: binary(0x86), shiftRightSigned: binary(0x87),
  not: (value: Code): Code => i64.xor(value, i64.constant(-1)),
} as const;

/** Arithmetic of 16 bytes at once. */
export const i8x16 = {
  /** The 16 bytes at an address and a constant offset. */
  load: (address: Code, offset: number): Code => [...address, SIMD, 0x00, 0x00, ...unsigned(offset)],
  /** The same byte 16 times. */
  all: (byte: number): Code => [...i32.constant(byte), SIMD, 0x0f],
  or: binary(SIMD, 0x50),
  isEqual: binary(SIMD, 0x23),
  /** One bit for each byte: its highest one. */
  toBits: unary(SIMD, 0x64),
} as const;

/** The value of a local variable; parameters come first. */
export const get = (local: number): Code => [0x20, ...unsigned(local)];
/** Gives a local variable its value. */
export const set = (local: number, value: Code): Code => [...value, 0x21, ...unsigned(local)];
/** Ends the function with this value. */
export const give = (value: Code): Code => [...value, 0x0f];
/** Repeats the statements while the condition (i32) holds. */
export const loopWhile = (condition: Code, ...statements: readonly Code[]): Code =>
  [0x03, NO_RESULT, ...when(condition, ...statements, [0x0c, 1]), END];
/** Runs the statements if the condition (i32) holds. */
export const when = (condition: Code, ...statements: readonly Code[]): Code =>
  [...condition, 0x04, NO_RESULT, ...statements.flat(), END];

/** A function that returns an i32. */
export interface FunctionSource {
  readonly parameters: number;
  /** Types of the local variables after the parameters. */
  readonly locals: readonly number[];
  readonly body: Code;
}

/** A module with a memory of a fixed size, exported as `memory`, and this function, exported as `run`. */
export function moduleOf({ parameters, locals, body }: FunctionSource, memoryPages: number): Uint8Array<ArrayBuffer> {
  const signature = [0x60, ...vector(Array.from({ length: parameters }, () => [TYPES.i32])), ...vector([[TYPES.i32]])];
  const code = [...vector(locals.map((type) => [1, type])), ...body, END];
  const limits = [0x01, ...unsigned(memoryPages), ...unsigned(memoryPages)];
  return Uint8Array.from([
    0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00,
    ...section(1, [signature]),
    ...section(3, [[0]]),
    ...section(5, [limits]),
    ...section(7, [[...name('memory'), 0x02, 0], [...name('run'), 0x00, 0]]),
    ...section(10, [[...unsigned(code.length), ...code]]),
  ]);
}

function section(id: number, entries: readonly Code[]): Code {
  const content = vector(entries);
  return [id, ...unsigned(content.length), ...content];
}

function vector(entries: readonly Code[]): Code {
  return [...unsigned(entries.length), ...entries.flat()];
}

function name(text: string): Code {
  return vector([...Buffer.from(text)].map((byte) => [byte]));
}

/** LEB128. */
function unsigned(value: number): Code {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

/** Signed LEB128. */
function signed(value: number): Code {
  const low = value & 0x7f;
  const rest = value >> 7;
  const isLast = (rest === 0 && (low & 0x40) === 0) || (rest === -1 && (low & 0x40) !== 0);
  return isLast ? [low] : [low | 0x80, ...signed(rest)];
}
