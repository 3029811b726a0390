// Kubernetes quantities (`500m`, `1.5Gi`, `12e6`), parsed exactly and converted to numbers of a known unit. Internally
// a quantity is a bigint count of 10^-9, the finest step that Kubernetes supports; there is no floating point. The
// rules follow `k8s.io/apimachinery/pkg/api/resource`, Quantity. All returned numbers are safe integers.

declare const unit: unique symbol;

/** CPU time in thousandths of a core. */
export type MilliCpu = number & { readonly [unit]: 'MilliCpu' };
/** Memory or storage in bytes. */
export type Bytes = number & { readonly [unit]: 'Bytes' };
/** Whole units of anything else: pods, GPUs, other extended resources. */
export type Amount = number & { readonly [unit]: 'Amount' };

/** A well-formed quantity. `nanos` counts 10^-9 and lies within ±(2^63 - 1) whole units. */
export interface Quantity {
  readonly kind: 'quantity';
  readonly nanos: bigint;
}

/** A text that is not a valid quantity; `message` shows the format. */
export interface InvalidQuantity {
  readonly kind: 'invalid';
  readonly message: string;
}

/** The result of {@link parseQuantity}. */
export type ParsedQuantity = Quantity | InvalidQuantity;

const NANOS_PER_UNIT = 10n ** 9n;
const NANOS_PER_MILLI = 10n ** 6n;
const MAX_NANOS = (2n ** 63n - 1n) * NANOS_PER_UNIT;
const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER);

// Limits the work for hostile texts. At this length an exponent already saturates, or rounds to 10^-9.
const MAX_TEXT_LENGTH = 256;
const MAX_EXPONENT = 400;

const GRAMMAR = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?\d+))?$/;
const DECIMAL_EXPONENTS: ReadonlyMap<string, number> = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]);
const DECIMAL_SUFFIXES = ['', 'k', 'M', 'G', 'T', 'P', 'E'];
const BINARY_SUFFIXES = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/**
 * Parses one quantity; JSON numbers are allowed, and so is whitespace around a text. Finer than 10^-9 rounds away from
 * zero, beyond 2^63 - 1 saturates. Follows Quantity's documented grammar: a text without digits (`.`, `m`), which
 * Kubernetes' scanner happens to read as 0, is invalid, and so is one above 256 characters.
 */
export function parseQuantity(value: string | number): ParsedQuantity {
  // Objects without a schema (a PodChaperon's spec) can have any value here, whatever the type says.
  if (typeof value !== 'string' && typeof value !== 'number') return invalid('a quantity is a string or a number');
  const text = String(value).trim();
  if (text.length > MAX_TEXT_LENGTH) return invalid(`a quantity has at most ${MAX_TEXT_LENGTH} characters`);
  const match = GRAMMAR.exec(text);
  if (match === null) return invalid(
    `"${text}" is not a valid quantity: write a number with an optional suffix, as in 500m, 2, 1.5Gi or 12e6`,
  );
  return toQuantity(match);
}

function toQuantity(
  [, sign, number = '', binarySuffix = '', decimalSuffix = '', exponent = '0']: RegExpExecArray,
): Quantity {
  const [whole = '', fraction = ''] = number.split('.');
  const tens = DECIMAL_EXPONENTS.get(decimalSuffix) ?? clamp(Number(exponent), MAX_EXPONENT);
  const magnitude = scaleToNanos(whole + fraction, tens - fraction.length, binarySuffix);
  return { kind: 'quantity', nanos: sign === '-' ? -magnitude : magnitude };
}

function invalid(message: string): InvalidQuantity {
  return { kind: 'invalid', message };
}

function scaleToNanos(digits: string, tens: number, binarySuffix: string): bigint {
  const units = BigInt(digits) * 1024n ** BigInt(BINARY_SUFFIXES.indexOf(binarySuffix));
  const shift = tens + 9;
  const nanos = shift >= 0 ? units * 10n ** BigInt(shift) : divideAwayFromZero(units, 10n ** BigInt(-shift));
  return nanos > MAX_NANOS ? MAX_NANOS : nanos;
}

function divideAwayFromZero(dividend: bigint, divisor: bigint): bigint {
  const remainder = dividend % divisor;
  if (remainder === 0n) return dividend / divisor;
  return dividend / divisor + (dividend < 0n ? -1n : 1n);
}

function clamp(value: number, limit: number): number {
  return Math.min(Math.max(value, -limit), limit);
}

function toSafeNumber(value: bigint): number {
  if (value > MAX_SAFE) return Number.MAX_SAFE_INTEGER;
  if (value < -MAX_SAFE) return -Number.MAX_SAFE_INTEGER;
  return Number(value);
}

/**
 * Thousandths of a unit, rounded away from zero as documented for Kubernetes' MilliValue (for negative fractions, which
 * no valid object has, its two code paths disagree). Saturates at Number.MAX_SAFE_INTEGER, where Kubernetes overflows.
 */
export function toMilli(quantity: Quantity): MilliCpu {
  return toSafeNumber(divideAwayFromZero(quantity.nanos, NANOS_PER_MILLI)) as MilliCpu;
}

/** Whole units, rounded away from zero as Kubernetes' Value; saturates at Number.MAX_SAFE_INTEGER. */
export function toWhole(quantity: Quantity): Amount {
  return toSafeNumber(divideAwayFromZero(quantity.nanos, NANOS_PER_UNIT)) as Amount;
}

/** As {@link toWhole}, for memory and storage. */
export function toBytes(quantity: Quantity): Bytes {
  return toSafeNumber(divideAwayFromZero(quantity.nanos, NANOS_PER_UNIT)) as Bytes;
}

/** Canonical text (DecimalSI): `1500m`, `2`, `1k`. */
export function formatMilliCpu(milli: MilliCpu): string {
  return milli % 1000 === 0 ? formatAmount((milli / 1000) as Amount) : `${milli}m`;
}

/** Canonical text (DecimalSI), with the largest suffix that loses nothing: `3`, `110`, `2k`. */
export function formatAmount(amount: Amount): string {
  return withLargestSuffix(amount, 1000, DECIMAL_SUFFIXES);
}

/**
 * Canonical text (BinarySI), with the largest suffix that loses nothing: `1536Mi`, `1Gi`. Below 1024 Kubernetes prints
 * decimals, so 1000 is `1k`.
 */
export function formatBytes(bytes: Bytes): string {
  return Math.abs(bytes) < 1024
    ? withLargestSuffix(bytes, 1000, DECIMAL_SUFFIXES)
    : withLargestSuffix(bytes, 1024, BINARY_SUFFIXES);
}

function withLargestSuffix(value: number, base: number, suffixes: readonly string[]): string {
  let mantissa = value;
  let step = 0;
  while (mantissa !== 0 && mantissa % base === 0 && step < suffixes.length - 1) {
    mantissa /= base;
    step += 1;
  }
  return `${mantissa}${suffixes[step] ?? ''}`;
}
