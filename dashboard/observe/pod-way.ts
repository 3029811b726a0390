// One pod at both ends of its way, with the verdict of every target, gathered while somebody looks at it.
import type { Pod } from '../../api/objects/core.ts';
import { TARGET_ANNOTATION } from '../../api/objects/keys.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { EVENTS, PODS } from '../../api/resource-types.ts';
import { explainAndAsk } from '../../cli/placement/explain-pod.ts';
import type { LiveWorld } from '../../cli/placement/live-world.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import { messageOf } from '../../process/errors.ts';
import type { Explanation } from '../../scheduler/explain/explain.ts';
import type { TargetSession } from '../../targets/target-session.ts';
import { isOfPod, type PodEvent } from '../views/pod-events.ts';
import { podScreen, type SeenWay } from '../views/pod-view.ts';
import { knownRecords } from '../views/reading.ts';
import type { TargetSide } from '../views/stages.ts';
import type { PodName } from '../wire/screen-source.ts';
import type { Gap, PodScreen } from '../wire/screens.ts';
import { Following } from './following.ts';
import { Refresh } from './refresh.ts';
import type { Lease, Running } from './shared.ts';
import type { TargetWorld } from './target-world.ts';

const CORE_EVENTS: ResourceType<PodEvent> =
  { group: '', version: 'v1', plural: 'events', kind: 'Event', namespaced: true };
/** What a target is asked has this long, in ms. */
const ASK_MS = 4_000;
const OPENING: Gap = {
  what: 'the evaluation of targets yet', why: 'Connecting to the targets.',
  advice: 'It appears as soon as they answer.',
};

/** A pod that is looked at. */
export class PodWay implements Running {
  readonly #at: PodName;
  readonly #world: Lease<TargetWorld>;
  readonly #pod: Following<Pod, Pod>;
  readonly #events: Following<PodEvent, PodEvent>;
  readonly #listeners = new Set<() => void>();
  readonly #refresh = new Refresh((signal) => this.#gather(signal));
  #there: TargetSide = { kind: 'unknown', gap: OPENING };
  #explanation: Explanation | Gap | undefined;

  constructor(client: ClusterClient, at: PodName, world: Lease<TargetWorld>) {
    [this.#at, this.#world] = [at, world];
    const { namespace, name } = at;
    this.#pod = new Following(
      { client, type: PODS, selection: { namespace, fieldSelector: `metadata.name=${name}` } }, (pod) => pod,
      () => {
        this.#changed();
        this.#refresh.wake();
      },
    );
    const fieldSelector = `involvedObject.kind=Pod,involvedObject.name=${name}`;
    this.#events = new Following(
      { client, type: CORE_EVENTS, selection: { namespace, fieldSelector } }, (event) => event,
      () => this.#changed(),
    );
  }

  /** Watches until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const forget = this.#world.value.onChange(() => this.#refresh.wake());
    await Promise.all([this.#pod.run(signal), this.#events.run(signal), this.#refresh.run(signal)]);
    forget();
    this.#world.release();
  }

  /** Calls back at each change; the returned function stops that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What is known now; undefined while the pod is being read. */
  get screen(): PodScreen | undefined {
    const [pod, events] = [this.#pod.reading, this.#events.reading];
    const [found] = knownRecords(pod) ?? [];
    const way: SeenWay = {
      namespace: this.#at.namespace, pod,
      events: events.kind === 'read'
        ? { ...events, records: events.records.filter((one) => isOfPod(one, found)) } : events,
      there: this.#there, explanation: this.#explanation,
    };
    return podScreen(way);
  }

  async #gather(signal: AbortSignal): Promise<void> {
    const [pod] = knownRecords(this.#pod.reading) ?? [];
    const world = pod === undefined ? undefined : await this.#world.value.look();
    if (pod === undefined || world === undefined) return;
    if (!('sessions' in world)) {
      this.#there = { kind: 'unknown', gap: world };
      this.#explanation = world;
    } else {
      [this.#there, this.#explanation] =
        await Promise.all([sideOf(pod, world, signal), explanationOf(pod, world, signal)]);
    }
    this.#changed();
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

async function explanationOf(pod: Pod, world: LiveWorld, signal: AbortSignal): Promise<Explanation | Gap> {
  return explainAndAsk(pod, world, signal).catch((error: unknown): Gap => ({
    what: 'the evaluation of targets', why: messageOf(error), advice: 'Reload the page after changing that.',
  }));
}

/** The target that the pod is bound to, or the one that has a candidate of it. */
async function sideOf(pod: Pod, { sessions }: LiveWorld, signal: AbortSignal): Promise<TargetSide> {
  const { namespace = '', name = '', uid = '', annotations } = pod.metadata;
  const bound = annotations?.[TARGET_ANNOTATION];
  for (const { key, session } of sessions.all()) {
    if (session === undefined || key !== (bound ?? key)) continue;
    const side = await sideIn(session, key, { key: `${namespace}/${name}`, uid }, signal);
    if (side !== undefined) return side;
  }
  return bound === undefined ? { kind: 'none' } : { kind: 'unknown', gap: {
    what: `the pod in ${bound}`, why: 'The target does not answer, or has no such pod.',
    advice: 'Check its state on the Targets screen.',
  } };
}

async function sideIn(
  session: TargetSession, target: string, pod: { readonly key: string; readonly uid: string }, signal: AbortSignal,
): Promise<TargetSide | undefined> {
  const { chaperon, delegate } = session.find(pod);
  if (chaperon === undefined && delegate === undefined) return undefined;
  const found = await delegateIn(session, delegate?.key, signal);
  return { kind: 'found', target, sentAt: chaperon?.mode === 'PodChaperon' ? chaperon.createdAt : undefined, ...found };
}

async function delegateIn(
  { client }: TargetSession, key: string | undefined, signal: AbortSignal,
): Promise<{ readonly delegate?: Pod | undefined; readonly events?: readonly PodEvent[] | undefined }> {
  if (key === undefined) return {};
  const [namespace = '', name = ''] = key.split('/');
  const asked = client.urgent(ASK_MS);
  const fieldSelector = `regarding.kind=Pod,regarding.name=${name}`;
  const [delegate, events] = await Promise.all([
    asked.get(PODS, { namespace, name }, signal).catch(unless(isNotFound)).catch(() => undefined),
    asked.list(EVENTS, { namespace, fieldSelector }, signal).catch(() => undefined),
  ]);
  return { delegate, events: (events as readonly PodEvent[] | undefined)?.filter((one) => isOfPod(one, delegate)) };
}
