// Limits for API servers that a tenant has named: which addresses, how much data. All connection failures are reported
// to the tenant in one text: the exact cause would turn anybody who may write a Target into a port scanner.
import type { MayDial } from './guarded-dial.ts';

/** Limits of one connection and of the caches filled from it. Sizes are in bytes. */
export interface ConnectionLimits {
  readonly mayDial: MayDial;
  /** Of a response body. */
  readonly maxAnswerBytes: number;
  /** Of one watch event. */
  readonly maxLineBytes: number;
  /**
   * Least average size of a JSON value in a response or watch event: many small values take far more memory than their
   * text.
   */
  readonly minBytesPerValue: number;
  /** Number of cached objects. */
  readonly maxObjects: number;
  /** Approximate size of all cached objects. */
  readonly maxCachedBytes: number;
  /** Page size of lists. */
  readonly pageSize: number;
}

/** The one message that a tenant sees for every failure except an answer of the API server. */
export const CANNOT_BE_REACHED =
  'the API server of the target cannot be reached, or is not an API server; check server and ' +
    'certificate-authority-data of the kubeconfig, and ask the administrator whether Targets may use its address: ' +
    'the log of Isthmus says more';

const MiB = 1 << 20;

/** Default memory limit for caches of a tenant's target, in MiB. */
export const DEFAULT_CACHE_MIB = 32;

/** Limits of a tenant's target. An object takes at most 1.5 MB in etcd, somewhat more as JSON. */
export function tenantLimits(mayDial: MayDial, cacheMiB = DEFAULT_CACHE_MIB): ConnectionLimits {
  return {
    mayDial, maxAnswerBytes: 8 * MiB, maxLineBytes: 4 * MiB, minBytesPerValue: 6, maxObjects: 10_000,
    maxCachedBytes: cacheMiB * MiB, pageSize: 50,
  };
}

/** A limit was exceeded; the message says which. */
export class LimitError extends Error {
  override readonly name = 'LimitError';
}

const [OPENS_OBJECT, OPENS_LIST, COMMA] = [0x7b, 0x5b, 0x2c];
/** Shorter texts are not checked. */
const FREE_BYTES = 16_384;

/**
 * Throws {@link LimitError} when JSON has too many values for its length. Counts structural characters, including those
 * inside strings.
 */
export function checkValues(bytes: Uint8Array, { minBytesPerValue }: Pick<ConnectionLimits, 'minBytesPerValue'>): void {
  if (bytes.length <= FREE_BYTES) return;
  let values = 0;
  for (const byte of bytes) if (byte === COMMA || byte === OPENS_OBJECT || byte === OPENS_LIST) values += 1;
  if (values * minBytesPerValue > bytes.length) {
    throw new LimitError('it sends JSON with too many values for its length');
  }
}
