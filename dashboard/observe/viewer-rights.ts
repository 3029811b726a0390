// Notices that the viewer's rights have changed: an API server lets a watch go on for minutes after a right was
// withdrawn. One review of all rules is one request; while it stays the same, nothing is read again.
import { SELF_SUBJECT_RULES_REVIEWS } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import type { Running } from './shared.ts';

/** How often the rules are read, in ms: with two calls that time out, a withdrawn right is noticed within 30 s. */
const REVIEW_MS = 25_000;
/** A call that takes longer says nothing, in ms. */
const CALL_MS = 2_000;
/** Every so many reviews all is read again: API servers of one cluster may disagree for a moment. */
const ROUNDS = 10;

/**
 * Looks whether something is still allowed; `haveChanged`: the rules are not those of the round before. Resolves to
 * whether the API server has answered that.
 */
export type Check = (haveChanged: boolean, signal: AbortSignal) => Promise<boolean>;

/** The rights of one viewer in one namespace and in the cluster. */
export class ViewerRights implements Running {
  /** For checks: they skip queues and time out soon. */
  readonly client: ClusterClient;
  readonly #namespace: string;
  readonly #reviewMs: number;
  readonly #checks = new Set<Check>();
  #isCertain = false;

  constructor(client: ClusterClient, namespace: string, reviewMs: number = REVIEW_MS) {
    [this.client, this.#namespace, this.#reviewMs] = [client.urgent(CALL_MS), namespace, reviewMs];
  }

  /** Calls back whenever a right may have changed; the returned function stops that. */
  onDoubt(check: Check): () => void {
    this.#checks.add(check);
    return () => this.#checks.delete(check);
  }

  /** Everything is checked in the next round, as after a refusal that may have been passing. */
  doubt(): void {
    this.#isCertain = false;
  }

  /** Reviews until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    let rules: string | undefined;
    for (let round = 0; !signal.aborted; round += 1) {
      const pause = delay(this.#reviewMs, signal);
      const read = await this.#rules(signal);
      const haveChanged = read !== undefined && rules !== undefined && read !== rules;
      const isSame = read !== undefined && read === rules && this.#isCertain && round % ROUNDS !== 0;
      if (!isSame) await this.#checkAll(haveChanged, signal);
      rules = read ?? rules;
      await pause.catch(() => undefined);
    }
  }

  async #checkAll(haveChanged: boolean, signal: AbortSignal): Promise<void> {
    this.#isCertain = true;
    const answers = await Promise.all([...this.#checks].map((check) => check(haveChanged, signal)));
    if (answers.includes(false)) this.#isCertain = false;
  }

  /** Undefined where the API server does not list them all, or does not answer. */
  async #rules(signal: AbortSignal): Promise<string | undefined> {
    const review = { metadata: {}, spec: { namespace: this.#namespace } };
    const { status } = await this.client.create(SELF_SUBJECT_RULES_REVIEWS, review, signal)
      .catch(() => ({ status: undefined }));
    if (status?.incomplete !== false) return undefined;
    return (status.resourceRules ?? []).map((rule) => JSON.stringify(rule)).toSorted().join('\n'); // in no order
  }
}
