// Waits for what a starting program does: it tells nobody when it is ready.
import { pollUntil } from '../../cli/clusters/poll-until.ts';
import { AppError } from '../../process/errors.ts';

/** Polling interval of a starting program, in ms. */
const pollMs = 50;

/**
 * Waits until `look` answers true; what it throws counts as not yet. Throws the signal's reason when aborted, and
 * AppError `StartFailed` after `timeoutMs`.
 */
export async function waitUntil(
  what: string, look: () => Promise<boolean>, timeoutMs: number, signal: AbortSignal,
): Promise<void> {
  const ask = async () => (await look().catch(() => false) ? true : undefined);
  if (await pollUntil(ask, { forMs: timeoutMs, everyMs: pollMs }, signal) === true) return;
  throw new AppError('StartFailed', `${what} is not there after ${timeoutMs / 1_000} s.`);
}
