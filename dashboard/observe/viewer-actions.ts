// Which actions the viewer's rights allow: the API server is asked when somebody begins to look, and when rights may
// have changed. This decides what is offered; whether it is allowed, the API server decides when they act.
import { SELF_SUBJECT_ACCESS_REVIEWS, type SubjectAccessReview } from '../../api/resource-types.ts';
import { aborted } from '../../process/lifecycle.ts';
import { ACTIONS, type ActionKind } from '../wire/actions.ts';
import type { Running } from './shared.ts';
import type { ViewerRights } from './viewer-rights.ts';

const CORDON = [{ group: '', resource: 'nodes', verb: 'get' }, { group: '', resource: 'nodes', verb: 'patch' }];
/** What the commands of these names ask of an API server. */
const NEEDED: Readonly<Record<ActionKind, readonly object[]>> = {
  cordon: CORDON, uncordon: CORDON,
  drain: [
    ...CORDON, { group: '', resource: 'pods', verb: 'list' },
    { group: '', resource: 'pods', subresource: 'eviction', verb: 'create' },
  ],
};

/** The actions of one viewer. */
export class ViewerActions implements Running {
  readonly #rights: ViewerRights;
  readonly #changed: () => void;
  #allowed: readonly ActionKind[] = [];
  #isAnswered = false;

  /** `changed` is called when {@link allowed} changes. */
  constructor(rights: ViewerRights, changed: () => void) {
    [this.#rights, this.#changed] = [rights, changed];
  }

  /** None until the API server has answered. */
  get allowed(): readonly ActionKind[] {
    return this.#allowed;
  }

  /** Asks until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const doubter = this.#rights.onDoubt(async (haveChanged, asked) => (
      (this.#isAnswered && !haveChanged) || this.#ask(asked) // what is offered in vain does no harm
    ));
    if (!(await this.#ask(signal))) doubter.doubt();
    await aborted(signal);
    doubter.forget();
  }

  /** Resolves to whether the API server has answered. */
  async #ask(signal: AbortSignal): Promise<boolean> {
    const answers = new Map<object, Promise<boolean>>();
    const isAllowed = (attributes: object): Promise<boolean> => {
      const answer = answers.get(attributes) ?? this.#review(attributes, signal);
      answers.set(attributes, answer);
      return answer;
    };
    try {
      const allowed = await Promise.all(ACTIONS.map(async (kind) => (
        (await Promise.all(NEEDED[kind].map(isAllowed))).every(Boolean) ? [kind] : []
      )));
      this.#take(allowed.flat());
      this.#isAnswered = true;
    } catch {
      this.#isAnswered = false; // what was known stays: the API server decides when somebody acts
    }
    return this.#isAnswered;
  }

  #take(allowed: readonly ActionKind[]): void {
    if (allowed.join() === this.#allowed.join()) return;
    this.#allowed = allowed;
    this.#changed();
  }

  async #review(resourceAttributes: object, signal: AbortSignal): Promise<boolean> {
    const review = { metadata: {}, spec: { resourceAttributes } } as SubjectAccessReview;
    return (await this.#rights.client.create(SELF_SUBJECT_ACCESS_REVIEWS, review, signal)).status?.allowed === true;
  }
}
