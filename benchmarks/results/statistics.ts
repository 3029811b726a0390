// Medians and spread of repeated measurements. Pure.

/** A figure that was measured several times. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  /** How often it was measured. */
  readonly count: number;
}

/** The middle value, or the mean of the two in the middle. Throws RangeError when there is none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  if (upper === undefined || lower === undefined) throw new RangeError('no values to take a median of');
  return lower + (upper - lower) / 2;
}

/** Median, least and greatest value. Throws RangeError when there is none. */
export function spreadOf(values: readonly number[]): Spread {
  const middle = median(values);
  const [least = middle] = values;
  const extremes = values.reduce(
    ({ min, max }, value) => ({ min: Math.min(min, value), max: Math.max(max, value) }), { min: least, max: least },
  );
  return { median: middle, ...extremes, count: values.length };
}

/**
 * The value that at least this fraction (0 to 1) of all values does not exceed (nearest rank). Throws RangeError when
 * there is none.
 */
export function percentile(values: readonly number[], fraction: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(fraction * sorted.length) - 1)];
  if (value === undefined) throw new RangeError('no values to take a percentile of');
  return value;
}

/**
 * Slope of the straight line that fits points `[x, y]` best (least squares). Throws RangeError where all have one x.
 */
export function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(points.map(([each]) => each)), mean(points.map(([, each]) => each))];
  const spread = points.reduce((sum, [each]) => sum + (each - x) ** 2, 0);
  if (!(spread > 0)) throw new RangeError('points of one x have no slope');
  return points.reduce((sum, [eachX, eachY]) => sum + (eachX - x) * (eachY - y), 0) / spread;
}

/** Rounds to so many significant digits, for output. */
export function significant(value: number, digits: number): number {
  return Number(value.toPrecision(digits));
}
