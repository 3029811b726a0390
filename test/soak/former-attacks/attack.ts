// What an attack is, and what becomes of it.
import type { Attacked } from './attacked.ts';

/** What came of an attack: whether it got through, and what shows that. */
export interface Outcome {
  readonly isThrough: boolean;
  /** For the table; one line. */
  readonly got: string;
}

/** One way of one of the twelve findings. */
export interface Attack {
  /** 1 to 12. */
  readonly finding: number;
  /** What is tried, by whom. */
  readonly what: string;
  /**
   * Makes it, and takes away what would be in the way of others. Throws when it cannot be made at all, which tells
   * nothing.
   */
  readonly make: (attacked: Attacked) => Promise<Outcome>;
}

/** It got through. */
export function through(got: string): Outcome {
  return { isThrough: true, got };
}

/** It was stopped. */
export function stopped(got: string): Outcome {
  return { isThrough: false, got };
}
