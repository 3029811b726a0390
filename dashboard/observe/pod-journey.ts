// One pod in source and target, with the evaluation of every target, gathered while its screen is open.
import type { Pod } from '../../api/objects/core.ts';
import { TARGET_ANNOTATION } from '../../api/objects/keys.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { EVENTS, PODS } from '../../api/resource-types.ts';
import { explainWithDryRun } from '../../cli/placement/explain-pod.ts';
import type { LiveState } from '../../cli/placement/live-state.ts';
import { simulateEach } from '../../cli/plan/plan-simulation.ts';
import { recordLive } from '../../cli/plan/record-live.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import { restoreSourcePod } from '../../model/proxy/admission-record.ts';
import { splitKey, type NamespacedName } from '../../model/pod/pod.ts';
import { messageOf } from '../../process/errors.ts';
import type { Explanation } from '../../scheduler/explain/explain.ts';
import type { TargetClusters } from '../../targets/target-clusters.ts';
import type { TargetSession } from '../../targets/target-session.ts';
import { isOfPod, type PodEvent } from '../pod/pod-events.ts';
import type { TargetSide } from '../pod/stages.ts';
import type { SeenJourney } from '../views/pod-view.ts';
import { knownRecords } from '../views/reading.ts';
import type { PolicyChoice } from '../wire/placement-rows.ts';
import type { UnreadablePart } from '../wire/screens.ts';
import { ViewerWatch } from './viewer-watch.ts';
import { Refresh } from './refresh.ts';
import { Observed, type Running, type SharedUse } from './shared.ts';
import type { Simulate } from './simulations.ts';
import { whatIfState, type WhatIf } from './what-if.ts';
import type { SchedulerInputs } from './scheduler-inputs.ts';
import { ViewerActions } from '../permissions/viewer-actions.ts';
import type { ViewerPermissions } from '../permissions/viewer-permissions.ts';

const CORE_EVENTS: ResourceType<PodEvent> =
  { group: '', version: 'v1', plural: 'events', kind: 'Event', namespaced: true };
/** Pause between two evaluations of the targets, in ms: each may ask one of them with a dry run. */
const EVALUATION_PAUSE_MS = 10_000;
/** What a target is asked has this long, in ms. */
const ASK_MS = 4_000;
const EVALUATION = 'the evaluation of targets';
const OPENING: UnreadablePart = {
  what: 'the evaluation of targets yet', why: 'Connecting to the targets.',
  advice: 'It appears as soon as they answer.',
};

/** What a session with a target knows of the pod; the records are other ones after each change. */
interface KnownThere extends ReturnType<TargetSession['find']> {
  readonly target: string;
  readonly session: TargetSession;
}

/** The pod, and what is supposed. */
export interface LookedAt extends NamespacedName, WhatIf {
  /** How many more pods like it. */
  readonly replicas: number;
}

/** What is used with others. */
interface Used {
  readonly permissions: SharedUse<ViewerPermissions>;
  readonly inputs: SharedUse<SchedulerInputs>;
  readonly simulate: Simulate;
}

/** The pod of a screen. */
export class PodJourney extends Observed implements Running {
  readonly #at: LookedAt;
  readonly #permissions: SharedUse<ViewerPermissions>;
  readonly #inputs: SharedUse<SchedulerInputs>;
  readonly #simulate: Simulate;
  readonly #pod: ViewerWatch<Pod, Pod>;
  readonly #events: ViewerWatch<PodEvent, PodEvent>;
  readonly #actions: ViewerActions;
  readonly #side = new Refresh({
    work: (signal) => this.#gatherSide(signal),
    failed: (error) => {
      this.#targetSide = { kind: 'unknown', unreadable: unreadablePartOf('the pod in its target', error) };
      this.changed();
    },
  });
  readonly #evaluation = new Refresh({
    pauseMs: EVALUATION_PAUSE_MS, work: (signal) => this.#gatherEvaluation(signal),
    failed: (error) => {
      [this.#explanation, this.#planned] = [unreadablePartOf(EVALUATION, error), undefined];
      this.changed();
    },
  });
  /** The last state that its target's session had. */
  #known: KnownThere | undefined;
  #targetSide: TargetSide = { kind: 'unknown', unreadable: OPENING };
  #explanation: Explanation | UnreadablePart | undefined;
  #choice: PolicyChoice | undefined;
  #planned: SeenJourney['planned'];

  constructor(
    client: ClusterClient, at: LookedAt, { permissions, inputs, simulate }: Used,
  ) {
    super();
    [this.#at, this.#inputs, this.#permissions, this.#simulate] = [at, inputs, permissions, simulate];
    const asViewer = { client, permissions: permissions.value };
    const { namespace, name } = at;
    this.#pod = new ViewerWatch(
      { ...asViewer, type: PODS, selection: { namespace, fieldSelector: `metadata.name=${name}` } }, (pod) => pod,
      () => {
        this.changed();
        this.#side.wake();
        this.#evaluation.wake();
      },
    );
    const fieldSelector = `involvedObject.kind=Pod,involvedObject.name=${name}`;
    this.#events = new ViewerWatch(
      { ...asViewer, type: CORE_EVENTS, selection: { namespace, fieldSelector } }, (event) => event,
      () => this.changed(),
    );
    this.#actions = new ViewerActions(permissions.value, { kinds: ['move'], namespace }, () => this.changed());
  }

  /** Watches until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const forget = this.#inputs.value.onChange(() => {
      if (this.#inputs.value.unreadable !== undefined) this.changed();
      this.#evaluation.wake();
      if (!isSame(this.#known, this.#knownNow())) this.#side.wake();
    });
    const parts = [this.#pod, this.#events, this.#actions, this.#side, this.#evaluation];
    await Promise.all(parts.map((part) => part.run(signal)));
    forget();
    this.#inputs.release();
    this.#permissions.release();
  }

  /** What is known now. */
  get journey(): SeenJourney {
    const [pod, events] = [this.#pod.reading, this.#events.reading];
    const [found] = knownRecords(pod) ?? [];
    const { unreadable } = this.#inputs.value; // at once, though what was gathered with the right to it is still there
    return {
      namespace: this.#at.namespace, without: this.#at.without === '' ? undefined : this.#at.without, pod,
      events: events.kind === 'read'
        ? { ...events, records: events.records.filter((one) => isOfPod(one, found)) } : events,
      targetSide: unreadable === undefined ? this.#targetSide : { kind: 'unknown', unreadable },
      explanation: unreadable ?? this.#explanation,
      choice: unreadable === undefined ? this.#choice : undefined, planned: this.#planned,
      actions: this.#actions.allowed,
    };
  }

  async #gatherSide(signal: AbortSignal): Promise<boolean> {
    const { targets } = this.#inputs.value;
    const [pod] = knownRecords(this.#pod.reading) ?? [];
    if (pod === undefined || targets === undefined) return false;
    this.#known = knownOf(pod, targets);
    this.#targetSide = await sideOf(pod, this.#known, signal);
    this.changed();
    return true;
  }

  async #gatherEvaluation(signal: AbortSignal): Promise<boolean> {
    const [pod] = knownRecords(this.#pod.reading) ?? [];
    const state = pod === undefined ? undefined : await this.#inputs.value.look();
    if (pod === undefined || state === undefined) return false;
    const { state: whatIf, choice } = 'sessions' in state ? whatIfState(pod, state, this.#at) : { state };
    const explanation = 'sessions' in whatIf
      ? await explainWithDryRun(pod, whatIf, signal).catch((error: unknown) => unreadablePartOf(EVALUATION, error))
      : whatIf;
    // what was planned on the state before does not belong to this one
    [this.#choice, this.#explanation, this.#planned] = [choice, explanation, undefined];
    this.#planned = 'sessions' in whatIf && !('advice' in explanation)
      ? await this.#plannedMore(pod, whatIf, signal) : undefined;
    this.#side.wake(); // Events in a target come without a change of the pod
    this.changed();
    return true;
  }

  /** Where more pods would go that are made as this one was; undefined where that is not asked or not known. */
  async #plannedMore(pod: Pod, state: LiveState, signal: AbortSignal): Promise<SeenJourney['planned']> {
    const { replicas } = this.#at;
    const restored = restoreSourcePod(pod);
    if (replicas === 0 || restored.kind === 'invalid') return undefined;
    this.changed(); // the simulation may have to wait for others
    const pods = Array.from({ length: replicas }, () => restored.pod);
    try {
      const recorded = await recordLive(state, signal);
      return await this.#simulate(() => simulateEach(pods, recorded), signal);
    } catch (error) {
      signal.throwIfAborted();
      return unreadablePartOf('where more pods would go', error);
    }
  }

  #knownNow(): KnownThere | undefined {
    const { targets } = this.#inputs.value;
    const [pod] = knownRecords(this.#pod.reading) ?? [];
    return pod === undefined || targets === undefined ? undefined : knownOf(pod, targets);
  }
}

function unreadablePartOf(what: string, error: unknown): UnreadablePart {
  return { what, why: messageOf(error), advice: 'Reload the page after changing that.' };
}

/** The target that the pod is bound to, or the one that has its candidate. */
function knownOf({ metadata }: Pod, targets: TargetClusters): KnownThere | undefined {
  const { namespace = '', name = '', uid = '', annotations } = metadata;
  const bound = annotations?.[TARGET_ANNOTATION];
  for (const { key: target, session } of targets.all()) {
    if (session === undefined || target !== (bound ?? target)) continue;
    const { chaperon, delegate } = session.find({ key: `${namespace}/${name}`, uid });
    if (chaperon !== undefined || delegate !== undefined) return { target, session, chaperon, delegate };
  }
  return undefined;
}

function isSame(one: KnownThere | undefined, other: KnownThere | undefined): boolean {
  return one?.session === other?.session && one?.chaperon === other?.chaperon && one?.delegate === other?.delegate;
}

async function sideOf(pod: Pod, known: KnownThere | undefined, signal: AbortSignal): Promise<TargetSide> {
  if (known !== undefined) {
    const { target, session, chaperon, delegate } = known;
    const found = await delegateIn(session, delegate?.key, signal);
    const sentAt = chaperon?.mode === 'PodChaperon' ? chaperon.createdAt : undefined;
    return { kind: 'found', target, sentAt, ...found };
  }
  const bound = pod.metadata.annotations?.[TARGET_ANNOTATION];
  return bound === undefined ? { kind: 'none' } : { kind: 'unknown', unreadable: {
    what: `the pod in ${bound}`, why: 'The target does not answer, or has no such pod.',
    advice: 'Check its state on the Targets screen.',
  } };
}

async function delegateIn(
  { client }: TargetSession, key: string | undefined, signal: AbortSignal,
): Promise<{ readonly delegate?: Pod | undefined; readonly events?: readonly PodEvent[] | undefined }> {
  if (key === undefined) return {};
  const { namespace, name } = splitKey(key);
  const asked = client.withoutRateLimit(ASK_MS);
  const fieldSelector = `regarding.kind=Pod,regarding.name=${name}`;
  const [delegate, events] = await Promise.all([
    asked.get(PODS, { namespace, name }, signal).catch(unless(isNotFound)).catch(() => undefined),
    asked.list(EVENTS, { namespace, fieldSelector }, signal).catch(() => undefined),
  ]);
  return { delegate, events: (events as readonly PodEvent[] | undefined)?.filter((one) => isOfPod(one, delegate)) };
}
