// One HTTP call to an API server, as its sender describes it.
import type { Fence } from '../flow/fence.ts';
import type { UnsentBounds } from './pending-call.ts';

/** One HTTP call. `path` starts with `/api`; undefined `query` values are omitted. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  /** Of the body; `application/json` when missing. Patches set theirs. */
  readonly contentType?: string;
  /** Checked right before the call is written; {@link NotLeaderError} when it does not hold. */
  readonly fence?: Fence | undefined;
  /** Bypasses the rate limit and the slots: Leases must be renewed while other calls are throttled. */
  readonly urgent?: boolean;
  /** Parses the response; JSON.parse when missing. */
  readonly read?: (answer: Buffer) => unknown;
  /**
   * Deadline of this call in ms, from when it has a slot; the transport's when missing. A call is also abandoned when
   * its fence ends.
   */
  readonly timeoutMs?: number;
  /** Cancels the call, as unsent, while it waits for the rate limit, a slot or a connection. */
  readonly unsent?: UnsentBounds;
}
