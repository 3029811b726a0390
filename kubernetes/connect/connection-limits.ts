// What an API server is held to that a tenant has named: where it may be, and how much it may send. What goes wrong on the way to it is told in
// one text: which of many things it was would make a port scanner of whoever may write a Target.
import type { MayDial } from './guarded-dial.ts';

/** Limits of one connection, and of what is remembered from it. Sizes are in bytes. */
export interface ConnectionLimits {
  readonly mayDial: MayDial;
  /** Of the body of an answer. */
  readonly maxAnswerBytes: number;
  /** Of a line of a watch. */
  readonly maxLineBytes: number;
  /** JSON values in a line or an answer, by the bytes that each takes at least on average: many small ones take far more memory than their text. */
  readonly minBytesPerValue: number;
  /** Objects that are remembered. */
  readonly maxObjects: number;
  /** Of all that is remembered of them, about. */
  readonly maxCachedBytes: number;
  /** Objects asked for at once. */
  readonly pageSize: number;
}

/** What a tenant is told of all failures but the word of an API server. */
export const CANNOT_BE_REACHED =
  'the API server of the target cannot be reached, or is none; check server and certificate-authority-data of the kubeconfig, and ask the administrator whether Targets may be at its address: the log of Isthmus says more';

const MiB = 1 << 20;

/** What a tenant's target may hold in memory unless told otherwise, in MiB. */
export const DEFAULT_CACHE_MIB = 32;

/** Limits of a tenant's target. An object has at most 1.5 MB in etcd, in JSON somewhat more. */
export function tenantLimits(mayDial: MayDial, cacheMiB = DEFAULT_CACHE_MIB): ConnectionLimits {
  return { mayDial, maxAnswerBytes: 8 * MiB, maxLineBytes: 4 * MiB, minBytesPerValue: 6, maxObjects: 10_000, maxCachedBytes: cacheMiB * MiB, pageSize: 50 };
}

/** A limit was passed; the message says which. */
export class LimitError extends Error {
  override readonly name = 'LimitError';
}

const [OPENS_OBJECT, OPENS_LIST, COMMA] = [0x7b, 0x5b, 0x2c];
/** Shorter texts may have as many values as they like. */
const FREE_BYTES = 16_384;

/** Throws {@link LimitError} when JSON has more values than its length allows. Counts marks of structure, those in texts as well. */
export function checkValues(bytes: Uint8Array, { minBytesPerValue }: Pick<ConnectionLimits, 'minBytesPerValue'>): void {
  if (bytes.length <= FREE_BYTES) return;
  let values = 0;
  for (const byte of bytes) if (byte === COMMA || byte === OPENS_OBJECT || byte === OPENS_LIST) values += 1;
  if (values * minBytesPerValue > bytes.length) throw new LimitError('it sends JSON with too many values for its length');
}
