// The scheduler's state as a viewer may rebuild it: it needs permission to list all elected pods and to read the
// kubeconfigs of targets. Where they lack it, the screens say so and show what the source alone says.
import type { ResourceType } from '../../api/objects/group-version.ts';
import { CLUSTER_TARGETS, PODS, TARGETS } from '../../api/resource-types.ts';
import { failureText } from '../../cli/output/error-text.ts';
import { withLiveState, type LiveState, type LiveStateFlags } from '../../cli/placement/live-state.ts';
import { isForbidden } from '../../kubernetes/flow/api-error.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import { aborted } from '../../process/lifecycle.ts';
import type { TargetClusters } from '../../targets/target-clusters.ts';
import type { UnreadablePart } from '../wire/screens.ts';
import { RecentValue } from './refresh.ts';
import { Observed, type Running, type SharedUse } from './shared.ts';
import type { ViewerPermissions } from '../permissions/viewer-permissions.ts';
import { isRefusal, whileAllowed } from '../permissions/while-allowed.ts';

/** Time in ms after which inputs that could not be read are tried again. */
const RETRY_MS = 30_000;
/** A snapshot is used for this long, in ms. */
const FRESH_MS = 2_000;
/** What it cannot do without. */
const READ: readonly ResourceType[] = [PODS, CLUSTER_TARGETS, TARGETS];
const WHAT = 'the evaluation of targets';
const NOT_CONNECTED: UnreadablePart = {
  what: WHAT, why: 'A page that is served in a cluster does not connect to targets.',
  advice: 'Run "isthmus ui" or "isthmus explain" on your machine.',
};

/** The state of the scheduler, observed while a screen needs it. */
export class SchedulerInputs extends Observed implements Running {
  readonly #flags: LiveStateFlags | undefined;
  readonly #permissions: SharedUse<ViewerPermissions>;
  #live: LiveState | undefined;
  #unreadable: UnreadablePart | undefined;
  readonly #look = new RecentValue<LiveState>(FRESH_MS, () => this.changed());

  /** Without flags there is never one. */
  constructor(flags: LiveStateFlags | undefined, permissions: SharedUse<ViewerPermissions>) {
    super();
    [this.#flags, this.#permissions] = [flags, permissions];
  }

  /** Keeps it open until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#flags === undefined) this.#tell(NOT_CONNECTED);
    await (this.#flags === undefined ? aborted(signal) : this.#observe(this.#flags, signal));
    this.#permissions.release();
  }

  /** The targets, while there is a state. */
  get targets(): TargetClusters | undefined {
    return this.#live?.sessions;
  }

  /** Why there is none; undefined while it is being opened, too. */
  get unreadable(): UnreadablePart | undefined {
    return this.#live === undefined ? this.#unreadable : undefined;
  }

  /** The current state, why there is none, or undefined while it is being read. */
  async look(): Promise<LiveState | UnreadablePart | undefined> {
    const live = this.#live;
    if (live === undefined) return this.#unreadable;
    const found = await this.#look.get(() => live.again()).catch((error: unknown) => unreadablePartOf(error));
    return this.#live === live ? found : this.#unreadable; // the permission to it may have been withdrawn meanwhile
  }

  #observe(flags: LiveStateFlags, signal: AbortSignal): Promise<void> {
    return whileAllowed(this.#permissions.value, {
      check: (asked) => this.#check(asked),
      beginsAgain: true,
      work: (allowed) => this.#keepOpen(flags, allowed),
      refused: (error) => {
        if (error !== undefined) this.#tell(unreadablePartOf(error));
      },
    }, signal);
  }

  /** In order, so that of several missing permissions always the same one is reported. */
  async #check(signal: AbortSignal): Promise<void> {
    const { value: permissions } = this.#permissions;
    for (const type of READ) await permissions.client.listPage(type, {}, { limit: 1 }, signal);
  }

  async #keepOpen(flags: LiveStateFlags, signal: AbortSignal): Promise<unknown> {
    const problem: unknown = await withLiveState(flags, (live) => this.#use(live, signal), signal)
      .then(() => undefined, (error: unknown) => error);
    this.#live = undefined;
    this.#look.forget();
    if (signal.aborted || isRefusal(problem)) return problem;
    this.#tell(unreadablePartOf(problem));
    await delay(RETRY_MS, signal).catch(() => undefined);
    return undefined;
  }

  async #use(live: LiveState, signal: AbortSignal): Promise<void> {
    [this.#live, this.#unreadable] = [live, undefined];
    this.#look.forget();
    const changed = () => {
      this.#look.changed();
      this.changed();
    };
    live.sessions.listen({
      changed, removed: changed, sessionOpened: (_target, session) => session.delegates.onChange(changed),
    });
    live.inputs.listen({ nodeChanged: changed, rulesChanged: changed });
    this.changed();
    await aborted(signal);
  }

  #tell(unreadable: UnreadablePart): void {
    [this.#live, this.#unreadable] = [undefined, unreadable];
    this.#look.forget();
    this.changed();
  }
}

function unreadablePartOf(error: unknown): UnreadablePart {
  const advice = isForbidden(error)
    ? 'It needs permission to list all pods and to read the Secrets with the kubeconfigs of targets. Without it, see ' +
      'the last message of the scheduler on the pod.'
    : 'Retrying every 30 seconds.';
  return { what: WHAT, why: failureText(error), advice };
}
