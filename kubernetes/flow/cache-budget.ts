// Limits how much is cached from one API server in total, and reports when the limit is exceeded. All caches of that
// server share one budget.
import { LimitError, type ConnectionLimits } from '../connect/connection-limits.ts';

/** Overhead of an entry in addition to its record: its key and index entries. */
const ENTRY_BYTES = 256;
/** Overhead of a value in addition to its content. */
const VALUE_BYTES = 16;
const CHARACTER_BYTES = 2;

/** Counts the cached bytes. */
export class CacheBudget {
  readonly #limits: Pick<ConnectionLimits, 'maxObjects' | 'maxCachedBytes'>;
  #listener: (what: LimitError) => void = () => undefined;
  #objects = 0;
  #bytes = 0;

  constructor(limits: Pick<ConnectionLimits, 'maxObjects' | 'maxCachedBytes'>) {
    this.#limits = limits;
  }

  /** Called when any limit is exceeded, of the cache or elsewhere. */
  onExceeded(listener: (what: LimitError) => void): void {
    this.#listener = listener;
  }

  /**
   * Counts a record that replaces one of `before` bytes and returns its own bytes. Call {@link free} when it is
   * removed.
   * @throws LimitError when the limits are exceeded; the record must not be cached then.
   */
  take(record: unknown, before: number): number {
    const bytes = ENTRY_BYTES + approximateBytes(record);
    const objects = before === 0 ? 1 : 0;
    if (this.#objects + objects > this.#limits.maxObjects) {
      throw this.exceeded(`it has more than ${this.#limits.maxObjects} objects for this source`);
    }
    if (this.#bytes + bytes - before > this.#limits.maxCachedBytes) {
      throw this.exceeded(`its objects take more than ${this.#limits.maxCachedBytes >> 20} MiB`);
    }
    this.#objects += objects;
    this.#bytes += bytes - before;
    return bytes;
  }

  /** Returns bytes that {@link take} has counted. */
  free(bytes: number): void {
    if (bytes === 0) return;
    this.#objects -= 1;
    this.#bytes -= bytes;
  }

  /** Notifies the listener and returns the error to throw. */
  exceeded(what: string | LimitError): LimitError {
    const error = typeof what === 'string' ? new LimitError(what) : what;
    this.#listener(error);
    return error;
  }
}

/** Approximate memory of a JSON value. Uses its own stack: deep nesting must not crash the process. */
export function approximateBytes(value: unknown): number {
  let bytes = 0;
  const open: unknown[] = [value];
  for (let next = open.pop(); next !== undefined || open.length > 0; next = open.pop()) {
    bytes += VALUE_BYTES;
    if (typeof next === 'string') bytes += next.length * CHARACTER_BYTES;
    if (typeof next !== 'object' || next === null) continue;
    for (const [key, inner] of Object.entries(next)) {
      bytes += VALUE_BYTES + (Array.isArray(next) ? 0 : key.length * CHARACTER_BYTES);
      open.push(inner);
    }
  }
  return bytes;
}
