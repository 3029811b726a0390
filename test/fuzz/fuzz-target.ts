// What is fuzzed: a reader of foreign bytes, and what must hold whatever it is given.
import type { InputShape } from './mutate.ts';

/** A reader of foreign bytes. */
export interface FuzzTarget {
  /** Also the name of its corpus. */
  readonly name: string;
  /** What it reads and from whom, for people. */
  readonly reads: string;
  readonly shape: InputShape;
  /** Longest input in bytes that is tried. */
  readonly maxBytes: number;
  /** Pieces that its format knows. */
  readonly tokens: readonly string[];
  /** Inputs as they are in good times; the corpus begins with them. */
  readonly seeds: readonly (string | Uint8Array)[];
  /** Reads one input. Whatever it throws or rejects with is a bug: documented refusals are caught within. */
  readonly run: (input: Buffer) => void | Promise<void>;
}

/** Throws an error that says which promise was broken. */
export function hold(condition: boolean, promise: string): asserts condition {
  if (!condition) throw new Error(`broken promise: ${promise}`);
}

/** JSON of an input; undefined for what is none. */
export function jsonOf(input: Buffer): unknown {
  try {
    return JSON.parse(input.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}
