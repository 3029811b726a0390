// Notices that the viewer's permissions have changed: an API server lets a watch go on for minutes after a permission
// was withdrawn. One review of all rules is one request; while it stays the same, nothing is read again.
import { SELF_SUBJECT_RULES_REVIEWS } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { ApiError, isUnauthorized } from '../../kubernetes/flow/api-error.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';

/** How often the rules are read, in ms: with two calls that time out, a withdrawn right is noticed within 30 s. */
export const REVIEW_MS = 25_000;
/** A call that takes longer says nothing, in ms. */
const CALL_MS = 2_000;
/** Every so many reviews all is read again: API servers of one cluster may disagree for a moment. */
const ROUNDS = 10;

/** Why something is checked: the rules are those of the round before, they are others, or they cannot be listed. */
export type Doubt = 'unchanged' | 'changed' | 'unlisted';

/** Looks whether something is still allowed. Resolves to whether the API server has answered that. */
export type Check = (doubt: Doubt, signal: AbortSignal) => Promise<boolean>;

/** One who is called back. */
export interface Doubter {
  /** It is checked in the next round, as after a refusal that may have been passing. */
  doubt(): void;
  forget(): void;
}

/** How permissions are reviewed. */
export interface Review {
  /** In ms; {@link REVIEW_MS} when missing. */
  readonly everyMs?: number | undefined;
  /** Called when the API server does not know the viewer any more. */
  readonly unauthorized?: (() => void) | undefined;
}

type Rules = { readonly kind: 'rules'; readonly text: string } | { readonly kind: 'unlisted' | 'unanswered' };

/** The permissions of one viewer in one namespace and in the cluster. */
export class ViewerPermissions {
  /** For checks: they skip queues and time out soon. */
  readonly client: ClusterClient;
  readonly #namespace: string;
  readonly #how: Review;
  readonly #checks = new Set<Check>();
  /** Those that have had no answer. */
  readonly #open = new Set<Check>();

  constructor(client: ClusterClient, namespace: string, how: Review = {}) {
    [this.client, this.#namespace, this.#how] = [client.withoutRateLimit(CALL_MS), namespace, how];
  }

  /** Calls back whenever a permission may have changed. */
  onDoubt(check: Check): Doubter {
    this.#checks.add(check);
    return {
      doubt: () => void this.#open.add(check),
      forget: () => {
        this.#checks.delete(check);
        this.#open.delete(check);
      },
    };
  }

  /** Reviews until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    let known: string | undefined;
    for (let round = 0; !signal.aborted; round += 1) {
      const pause = delay(this.#how.everyMs ?? REVIEW_MS, signal);
      const rules = await this.#review(signal);
      // a server that is slow or away is not asked for more
      if (rules.kind === 'unlisted') await this.#run(this.#checks, 'unlisted', signal);
      if (rules.kind === 'rules') {
        const isSame = rules.text === known && round % ROUNDS !== 0;
        const doubt = known === undefined || rules.text === known ? 'unchanged' : 'changed';
        await this.#run(isSame ? this.#open : this.#checks, doubt, signal);
        known = rules.text;
      }
      await pause.catch(() => undefined);
    }
  }

  async #run(checks: ReadonlySet<Check>, doubt: Doubt, signal: AbortSignal): Promise<void> {
    await Promise.all([...checks].map(async (check) => {
      this.#open.delete(check);
      if (!(await check(doubt, signal)) && this.#checks.has(check)) this.#open.add(check);
    }));
  }

  async #review(signal: AbortSignal): Promise<Rules> {
    const review = { metadata: {}, spec: { namespace: this.#namespace } };
    try {
      const { status } = await this.client.create(SELF_SUBJECT_RULES_REVIEWS, review, signal);
      if (status?.incomplete !== false) return { kind: 'unlisted' };
      const rules = (status.resourceRules ?? []).map((rule) => JSON.stringify(rule));
      return { kind: 'rules', text: rules.toSorted().join('\n') }; // they come in no order
    } catch (error) {
      if (isUnauthorized(error)) this.#how.unauthorized?.();
      return { kind: error instanceof ApiError && error.status < 429 ? 'unlisted' : 'unanswered' };
    }
  }
}
