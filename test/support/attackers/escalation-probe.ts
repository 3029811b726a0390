// Makes all attempts of an identity and gathers the powers that they show, with one call as evidence for each.
import type { RawAnswer, RawApiClient } from './raw-api-client.ts';
import type { Attempt } from './escalation-attempts.ts';

/** A power, where it holds, and a call that shows it. */
export interface ShownPower {
  readonly power: string;
  readonly place: string;
  readonly evidence: string;
}

/** What is looked for in answers, by what it is. */
export type Canaries = ReadonlyMap<string, string>;

/** Tokens of ServiceAccounts are JWTs that begin so; in Secrets they are Base64 once more. */
const TOKEN_STARTS = ['"eyJhbGciOi', 'ZXlKaGJHY2lPaU'];
const AT_ONCE = 8;

/** Makes the attempts one after the other, some at once; `takeAway` undoes those that were made for good. */
export async function probe(client: RawApiClient, attempts: readonly Attempt[], { canaries, settle }: {
  readonly canaries: Canaries; readonly settle: (attempt: Attempt) => Promise<void>
}): Promise<readonly ShownPower[]> {
  const shown = new Map<string, ShownPower>();
  const waiting = [...attempts].toReversed();
  const note = (power: string, attempt: Attempt, status: number): void => {
    const key = `${power} in ${attempt.place}`;
    if (!shown.has(key)) {
      shown.set(key, { power, place: attempt.place, evidence: `${attempt.method} ${attempt.path}: ${status}` });
    }
  };
  const work = async (): Promise<void> => {
    for (let attempt = waiting.pop(); attempt !== undefined; attempt = waiting.pop()) {
      const answer = await client.call(attempt);
      if (isLetIn(answer)) {
        if (attempt.isForItsAnswer !== true) note(attempt.power, attempt, answer.status);
        if (attempt.leaves === true) await settle(attempt);
      }
      for (const learnt of whatIsLearnt(answer, attempt, canaries)) note(learnt, attempt, answer.status);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return [...shown.values()].toSorted(
    (one, other) => (`${one.power} ${one.place}` < `${other.power} ${other.place}` ? -1 : 1),
  );
}

/**
 * Not by RBAC, not by admission, and by a server that serves it: what else is wrong with the call is beside the point.
 */
function isLetIn({ status, text }: RawAnswer): boolean {
  if (status === 401 || status === 403 || status === 405) return false;
  if (status === 404) return !text.includes('the server could not find the requested resource') && !text
    .startsWith('404');
  return status !== 422 || !/denied request/.test(text);
}

function whatIsLearnt({ text }: RawAnswer, { path }: Attempt, canaries: Canaries): readonly string[] {
  const learnt = [...canaries]
    .filter(([, canary]) => text.includes(canary) || text.includes(Buffer.from(canary).toString('base64')))
    .map(([what]) => `learn ${what}`);
  const isTokenRequest = path.includes('/token');
  return !isTokenRequest
    && TOKEN_STARTS.some((start) => text.includes(start)) ? [...learnt, 'learn tokens of ServiceAccounts'] : learnt;
}
