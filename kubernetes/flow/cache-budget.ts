// How much is remembered of one API server in all, and what to do when that would be more than it may. One budget is shared by all copies of its
// collections.
import { LimitError, type ConnectionLimits } from '../connect/connection-limits.ts';

/** What an entry costs besides its record: its key, its places in indexes. */
const ENTRY_BYTES = 256;
/** Of a value besides what it holds. */
const VALUE_BYTES = 16;
const CHARACTER_BYTES = 2;

/** Counts what is remembered. */
export class CacheBudget {
  readonly #limits: Pick<ConnectionLimits, 'maxObjects' | 'maxCachedBytes'>;
  #listener: (what: LimitError) => void = () => undefined;
  #objects = 0;
  #bytes = 0;

  constructor(limits: Pick<ConnectionLimits, 'maxObjects' | 'maxCachedBytes'>) {
    this.#limits = limits;
  }

  /** Who hears that a limit was passed, of what is remembered or of anything else. */
  onExceeded(listener: (what: LimitError) => void): void {
    this.#listener = listener;
  }

  /**
   * Counts a record that takes the place of one of `before` bytes; gives its own bytes. Call {@link free} when it goes.
   * @throws LimitError when that is more than the limits allow; the record must not be kept then.
   */
  take(record: unknown, before: number): number {
    const bytes = ENTRY_BYTES + approximateBytes(record);
    const objects = before === 0 ? 1 : 0;
    if (this.#objects + objects > this.#limits.maxObjects) throw this.exceeded(`it has more than ${this.#limits.maxObjects} objects for this source`);
    if (this.#bytes + bytes - before > this.#limits.maxCachedBytes) throw this.exceeded(`its objects take more than ${this.#limits.maxCachedBytes >> 20} MiB`);
    this.#objects += objects;
    this.#bytes += bytes - before;
    return bytes;
  }

  /** Gives back what {@link take} has counted. */
  free(bytes: number): void {
    if (bytes === 0) return;
    this.#objects -= 1;
    this.#bytes -= bytes;
  }

  /** Tells the listener, and gives the error to throw. */
  exceeded(what: string | LimitError): LimitError {
    const error = typeof what === 'string' ? new LimitError(what) : what;
    this.#listener(error);
    return error;
  }
}

/** About how much memory a value of JSON takes. Keeps its own stack: what is deeply nested must not end the process. */
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
