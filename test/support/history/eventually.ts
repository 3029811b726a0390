// Waiting in soak scripts for what no watch of theirs tells.
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../../process/errors.ts';

/**
 * Tries until it gives something else than undefined or false, and gives that; rejects after `ms` with what went wrong
 * last.
 */
export async function eventually<T>(
  what: string, attempt: () => Promise<T | undefined | false>, ms = 60_000,
): Promise<T> {
  const deadline = performance.now() + ms;
  let last = 'not yet';
  for (;;) {
    const got = await attempt().catch((error: unknown) => void (last = messageOf(error)));
    if (got !== undefined && got !== false) return got;
    if (performance.now() > deadline) throw new Error(`not within ${ms} ms: ${what}: ${last}`);
    await sleep(100);
  }
}
