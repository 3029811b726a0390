// Which actions the viewer's permissions allow: the API server is asked when a screen opens, and when
// permissions may have changed. This decides what is offered; whether it is allowed, the API server decides when they
// act.
import {
  PLACEMENT_POLICIES, SELF_SUBJECT_ACCESS_REVIEWS, TARGET_DISCOVERIES, type SubjectAccessReview,
} from '../../api/resource-types.ts';
import { aborted } from '../../process/lifecycle.ts';
import type { ActionKind } from '../wire/actions.ts';
import type { RulesReview, ViewerPermissions } from './viewer-permissions.ts';

interface Resource {
  readonly group: string;
  readonly resource: string;
}

/** `ResourceAttributes` of `authorization.k8s.io/v1`, as far as they are used. */
interface Right extends Resource {
  readonly subresource?: string;
  readonly verb: string;
  readonly namespace?: string;
}

const CORDON: readonly Right[] =
  [{ group: '', resource: 'nodes', verb: 'get' }, { group: '', resource: 'nodes', verb: 'patch' }];
const [POLICIES, DISCOVERIES] = [PLACEMENT_POLICIES, TARGET_DISCOVERIES]
  .map(({ group, plural }) => ({ group, resource: plural })) as [Resource, Resource];
/** Where rules cannot be listed, only every so many reviews ask again: each time takes several requests. */
const UNLISTED_ROUNDS = 4;

/** What the commands of these names ask of an API server; a move for pods of the namespace. */
function needed(kind: ActionKind, namespace: string): readonly Right[] {
  switch (kind) {
    case 'cordon':
    case 'uncordon':
      return CORDON;
    case 'drain':
      return [
        ...CORDON, { group: '', resource: 'pods', verb: 'list' },
        { group: '', resource: 'pods', subresource: 'eviction', verb: 'create' },
      ];
    case 'move':
      return [
        { group: '', resource: 'nodes', verb: 'get' }, { group: '', resource: 'pods', verb: 'get', namespace },
        { group: '', resource: 'pods', verb: 'list', namespace },
        { group: '', resource: 'pods', subresource: 'eviction', verb: 'create', namespace },
        ...['create', 'get', 'delete'].map((verb) => ({ ...POLICIES, verb, namespace })),
      ];
    case 'approve':
      return ['get', 'patch'].map((verb) => ({ ...DISCOVERIES, verb }));
  }
}

/** What may be offered, and where. */
export interface Offered {
  readonly kinds: readonly ActionKind[];
  /** Of the pods; none for actions on what is in no namespace. */
  readonly namespace?: string;
}

/** The actions of one viewer. */
export class ViewerActions {
  readonly #permissions: ViewerPermissions;
  readonly #offered: Offered;
  readonly #changed: () => void;
  #allowed: readonly ActionKind[] = [];
  #isAnswered = false;
  #unlistedRounds = 0;

  /** `changed` is called when {@link allowed} changes. */
  constructor(permissions: ViewerPermissions, offered: Offered, changed: () => void) {
    [this.#permissions, this.#offered, this.#changed] = [permissions, offered, changed];
  }

  /** None until the API server has answered. */
  get allowed(): readonly ActionKind[] {
    return this.#allowed;
  }

  /** Asks until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const registration = this.#permissions.onReview(async (review, asked) => !this.#isDue(review) || this.#ask(asked));
    if (!(await this.#ask(signal))) registration.recheck();
    await aborted(signal);
    registration.forget();
  }

  /** What is offered in vain does no harm, so rules that are the same are no reason to ask. */
  #isDue(review: RulesReview): boolean {
    if (!this.#isAnswered || review === 'changed') return true;
    if (review === 'unchanged') return false;
    this.#unlistedRounds += 1;
    return this.#unlistedRounds % UNLISTED_ROUNDS === 0;
  }

  /** Resolves to whether the API server has answered. */
  async #ask(signal: AbortSignal): Promise<boolean> {
    const { kinds, namespace = '' } = this.#offered;
    const answers = new Map<Right, Promise<boolean>>();
    const isAllowed = (right: Right): Promise<boolean> => {
      const answer = answers.get(right) ?? this.#review(right, signal);
      answers.set(right, answer);
      return answer;
    };
    try {
      const allowed = await Promise.all(kinds.map(async (kind) => (
        (await Promise.all(needed(kind, namespace).map(isAllowed))).every(Boolean) ? [kind] : []
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

  async #review(resourceAttributes: Right, signal: AbortSignal): Promise<boolean> {
    const review = { metadata: {}, spec: { resourceAttributes } } as SubjectAccessReview;
    const { status } = await this.#permissions.client.create(SELF_SUBJECT_ACCESS_REVIEWS, review, signal);
    return status?.allowed === true;
  }
}
