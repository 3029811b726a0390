// Why the first pod of each group of pending pods gets no target, by the scheduler's own functions.
import type { Pod } from '../../api/objects/core.ts';
import { PODS } from '../../api/resource-types.ts';
import { explainNow } from '../../cli/placement/explain-pod.ts';
import type { LiveState } from '../../cli/placement/live-state.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { messageOf } from '../../process/errors.ts';
import type { Explanation } from '../../scheduler/explain/explain.ts';
import { pendingScreen, waitingGroups } from '../views/pending-view.ts';
import type { SeenPod } from '../views/seen-pod.ts';
import type { Filters } from '../wire/routes.ts';
import type { UnreadablePart, PendingScreen } from '../wire/screens.ts';
import { Refresh } from './refresh.ts';
import { Observed, type Running, type SharedUse } from './shared.ts';
import type { SourceObservation } from './source-observation.ts';
import type { SchedulerInputs } from './scheduler-inputs.ts';

/** Groups that are explained: each costs one read of a pod. */
const MOST_EXPLAINED = 10;
/** Pause between two evaluations, in ms. */
const PAUSE_MS = 10_000;

/** The pending pods of a scope. */
export class PendingReasons extends Observed implements Running {
  readonly #client: ClusterClient;
  readonly #source: SourceObservation;
  readonly #inputs: SharedUse<SchedulerInputs>;
  readonly #filters: Filters;
  readonly #refresh = new Refresh({
    pauseMs: PAUSE_MS, work: (signal) => this.#gather(signal),
    failed: (error) => {
      this.#unreadable = {
        what: 'the evaluation of targets', why: messageOf(error), advice: 'Reload the page after changing that.',
      };
      this.changed();
    },
  });
  #pods = new Map<string, Pod>();
  #explanations = new Map<string, Explanation>();
  #unreadable: UnreadablePart | undefined;

  constructor(
    client: ClusterClient, source: SourceObservation, inputs: SharedUse<SchedulerInputs>, filters: Filters,
  ) {
    super();
    [this.#client, this.#source, this.#inputs, this.#filters] = [client, source, inputs, filters];
  }

  /** Explains until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const wake = () => {
      this.#refresh.wake();
      this.changed();
    };
    const forgets = [this.#inputs.value.onChange(wake), this.#source.onChange(wake)];
    await this.#refresh.run(signal);
    for (const forget of forgets) forget();
    this.#inputs.release();
  }

  /** What is known now; undefined while pods are being read. */
  get screen(): PendingScreen | undefined {
    const { source } = this.#source;
    const groups = waitingGroups(source, this.#filters);
    const unreadable = this.#inputs.value.unreadable ?? this.#unreadable;
    return groups === undefined ? undefined
      : pendingScreen(source, groups, unreadable === undefined ? this.#explanations : new Map(), unreadable);
  }

  async #gather(signal: AbortSignal): Promise<boolean> {
    const groups = waitingGroups(this.#source.source, this.#filters);
    const state = groups === undefined ? undefined : await this.#inputs.value.look();
    if (groups === undefined || state === undefined) return false;
    const unbound = groups.map(({ pods: [first] }) => first).filter(({ nodeName }) => nodeName === undefined);
    this.#unreadable = 'sessions' in state ? undefined : state;
    this.#explanations = 'sessions' in state
      ? await this.#explain(unbound.slice(0, MOST_EXPLAINED), state, signal)
      : new Map();
    this.changed();
    return unbound.length > 0;
  }

  async #explain(
    pods: readonly SeenPod[], state: LiveState, signal: AbortSignal,
  ): Promise<Map<string, Explanation>> {
    this.#pods = new Map((await Promise.all(pods.map((pod) => this.#read(pod, signal)))).flat());
    return new Map([...this.#pods].flatMap(([uid, pod]) => {
      const explanation = explained(pod, state);
      return explanation === undefined ? [] : [[uid, explanation] as const];
    }));
  }

  /** A waiting pod is read once. */
  async #read({ uid, namespace, name }: SeenPod, signal: AbortSignal): Promise<(readonly [string, Pod])[]> {
    const pod = this.#pods.get(uid)
      ?? await this.#client.get(PODS, { namespace, name }, signal).catch(() => undefined); // gone meanwhile
    return pod === undefined ? [] : [[uid, pod]];
  }
}

/** Undefined for a pod that cannot be explained: its own screen says why. */
function explained(pod: Pod, state: LiveState): Explanation | undefined {
  try {
    return explainNow(pod, state);
  } catch {
    return undefined;
  }
}
