// How long faults last in the tests: seconds where every commit is tested, and as docs/results/faults.md has them, with
// the client's production intervals, in `npm run soak -- random-faults`. Both are the same tests.
import { TRANSPORT_TIMINGS, type TransportTimings } from '../../../kubernetes/http/cluster-access.ts';

/** Durations in ms unless the name says another unit. */
export interface FaultScale {
  readonly timings: Partial<TransportTimings>;
  /** A dead connection is noticed within this. */
  readonly noticed: number;
  /** How long a watch is quiet without being opened anew. */
  readonly quiet: number;
  /** A watch that brings nothing while its connection lives is given up within this. */
  readonly silenceNoticed: number;
  /** How long the server answers 429, how long it asks to wait (s), and how many requests may come nevertheless. */
  readonly throttled: { readonly for: number; readonly retryAfterSeconds: () => number; readonly requests: number };
  /** How late a slow answer is. */
  readonly slowAnswer: () => number;
  /** New credentials are used within this. */
  readonly rotated: number;
  /** How long 5,000 events a second come. */
  readonly flood: number;
  /** How long a test may take. */
  readonly patience: number;
}

const SHORT: FaultScale = {
  timings: {
    callTimeoutMs: 2_000, connectTimeoutMs: 1_000, credentialsMaxAgeMs: 300, pingAfterMs: 400, pingTimeoutMs: 600,
    silenceMs: 2_000, watchSilenceMs: 1_500,
  },
  noticed: 4_000,
  quiet: 2_500, // six times as long as until a ping
  silenceNoticed: 8_000,
  throttled: { for: 4_000, retryAfterSeconds: () => 1, requests: 14 },
  slowAnswer: () => 500,
  rotated: 3_000,
  flood: 4_000,
  patience: 60_000,
};

const FULL_LENGTH: FaultScale = {
  timings: TRANSPORT_TIMINGS,
  noticed: 45_000,
  quiet: 180_000,
  silenceNoticed: 90_000,
  throttled: { for: 300_000, retryAfterSeconds: () => 1 + Math.floor(Math.random() * 30), requests: 60 },
  slowAnswer: () => Math.random() * 20_000,
  rotated: 10_000,
  flood: 300_000,
  patience: 600_000,
};

/** Whether this run is the long one: the file was started with `--as-written`. */
export const IS_AS_WRITTEN = process.argv.includes('--as-written');
/** The scale of this run. */
export const SCALE = IS_AS_WRITTEN ? FULL_LENGTH : SHORT;
