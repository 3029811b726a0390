// Running statistics of round trips (Welford), in the form of Submariner's `latencyRTT`: Go duration strings.
import type { RoundTripStatistics } from '../../api/kinds/gateway.ts';

/** Accumulated measurements, in ms. */
export interface RoundTrips {
  readonly count: number;
  readonly last: number;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  /** Sum of squared distances from the mean. */
  readonly squares: number;
}

/** Before the first measurement. */
export const NO_ROUND_TRIPS: RoundTrips = { count: 0, last: 0, min: Infinity, max: 0, mean: 0, squares: 0 };

/** Beyond this count, old measurements lose weight: a month-old connection must still show that it became slow. */
const MEMORY = 1_000;

/** Adds a measurement in ms. */
export function addRoundTrip(trips: RoundTrips, ms: number): RoundTrips {
  const count = Math.min(trips.count + 1, MEMORY);
  const mean = trips.mean + (ms - trips.mean) / count;
  const kept = trips.count < MEMORY ? trips.squares : trips.squares * (1 - 1 / MEMORY);
  return {
    count, last: ms, min: Math.min(trips.min, ms), max: Math.max(trips.max, ms), mean,
    squares: kept + (ms - trips.mean) * (ms - mean),
  };
}

/** The form of the status; undefined before the first measurement. */
export function toStatistics(trips: RoundTrips): RoundTripStatistics | undefined {
  if (trips.count === 0) return undefined;
  const stdDev = Math.sqrt(trips.squares / trips.count);
  return {
    last: toDuration(trips.last), min: toDuration(trips.min), average: toDuration(trips.mean),
    max: toDuration(trips.max), stdDev: toDuration(stdDev),
  };
}

/** A duration as Go prints it, to the microsecond: `350µs`, `12.5ms`, `1.25s`. */
export function toDuration(ms: number): string {
  const micros = Math.round(ms * 1_000);
  if (micros < 1_000) return micros === 0 ? '0s' : `${micros}µs`;
  return micros < 1_000_000 ? `${micros / 1_000}ms` : `${micros / 1_000_000}s`;
}
