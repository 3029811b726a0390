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

/** What a review of the viewer's rules showed: the same as before, others, or that they cannot be listed. */
export type RulesReview = 'unchanged' | 'changed' | 'unlisted';

/** Looks whether something is still allowed. Resolves to whether the API server has answered that. */
export type Check = (review: RulesReview, signal: AbortSignal) => Promise<boolean>;

/** Of a check that is called after reviews. */
export interface Registration {
  /** Has it called after the next review in any case, as after a refusal that may have been transient. */
  recheck(): void;
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
  onReview(check: Check): Registration {
    this.#checks.add(check);
    return {
      recheck: () => void this.#open.add(check),
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
        const review = known === undefined || rules.text === known ? 'unchanged' : 'changed';
        await this.#run(isSame ? this.#open : this.#checks, review, signal);
        known = rules.text;
      }
      await pause.catch(() => undefined);
    }
  }

  async #run(checks: ReadonlySet<Check>, review: RulesReview, signal: AbortSignal): Promise<void> {
    await Promise.all([...checks].map(async (check) => {
      this.#open.delete(check);
      if (!(await check(review, signal)) && this.#checks.has(check)) this.#open.add(check);
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
