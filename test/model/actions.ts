// Everything that can happen next in a world: progress (which goes on until nothing is left), what users and targets
// may do, and faults.
import type { Pod } from '../../api/objects/core.ts';
import { PARENT_UID_LABEL } from '../../api/objects/keys.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { isTerminal } from '../../model/pod/pod.ts';
import { arriveLate, breach, canBeLate, sendNext } from './requests.ts';
import { forgetChaperon, seePod, tell, tellSource } from './telling.ts';
import { chaperone, depart, feedBack, memoryOf, schedule, type Intent, type Plans } from './processes.ts';
import {
  change, collectGarbage, FOREIGN_FINALIZER, GATE_CONDITION, goes, intern, nodeNameOf, objectIn, parentOf,
  stopContainers, uidOf, valueOf, type Collection, type Ref, type Watch,
} from './servers.ts';
import { makeProxy, newLink, newWatch, nodeOf, type Link, type Operation, type Request, type World } from './world.ts';

/** One thing that can happen. `act` changes the world that it is given. */
export interface Action {
  readonly name: string;
  /** What is slow comes as certainly as progress, but a walk lets much happen before. */
  readonly kind: 'progress' | 'optional' | 'slow';
  readonly act: (world: World) => void;
}

/** All that can happen in this world; the world itself is not changed. */
export function actionsOf(world: World, plans: Plans): Action[] {
  return [
    ...deliveries(world), ...controllers(world, plans), ...targetLife(world), ...userActs(world),
    ...othersInTheSource(world), ...forcedAway(world), ...lateArrivals(world), ...leases(world),
    ...confirmations(world), ...faults(world),
  ];
}

const progress = (name: string, act: (world: World) => void): Action => ({ name, kind: 'progress', act });
const slow = (name: string, act: (world: World) => void): Action => ({ name, kind: 'slow', act });
const optional = (name: string, act: (world: World) => void): Action => ({ name, kind: 'optional', act });

/** Copies a world. By hand: a general copy takes most of the time of a run. */
export function copyOf(
  { proxies, targets, source, left, bound, ran, late, forced, departed, abandoned, ...rest }: World,
): World {
  return {
    ...rest,
    proxies: { ...proxies },
    targets: targets.map(({ chaperons, pods, isCut, isDown, lease, clock, confirmed, process }) => ({
      chaperons: { ...chaperons },
      pods: { ...pods },
      isCut,
      isDown,
      lease,
      clock,
      confirmed: [...confirmed],
      process: {
        ...process, chaperons: copyOfWatch(process.chaperons), pods: copyOfWatch(process.pods), seen: [...process.seen],
        gone: [...process.gone], unheard: { ...process.unheard },
      },
    })),
    source: {
      ...source,
      proxies: copyOfWatch(source.proxies),
      links: source.links.map(({ chaperons, pods, gone, ...link }) => (
        { chaperons: copyOfWatch(chaperons), pods: copyOfWatch(pods), gone: [...gone], ...link }
      )),
      memories: Object.fromEntries(
        Object.entries(source.memories).map(
          ([uid, memory]) => [uid, {
            ...memory, targets: [...memory.targets], rejected: [...memory.rejected], before: { ...memory.before },
            abandonedIn: [...memory.abandonedIn], withdrawn: { ...memory.withdrawn },
          }],
        ),
      ),
    },
    left: { ...left },
    bound: { ...bound },
    ran: [...ran],
    late: [...late],
    forced: [...forced],
    departed: [...departed],
    abandoned: [...abandoned],
  };
}

function copyOfWatch<T>(watch: Watch<T>): Watch<T> {
  return { ...watch, queue: [...watch.queue] };
}

// --- watches

function deliveries(world: World): Action[] {
  const { source } = world;
  const actions: Action[] = [];
  if (source.isUp) {
    actions.push(...watchActions(
      'source hears of proxies', source.proxies,
      { watchIn: (now) => now.source.proxies, collectionIn: (now) => now.proxies, heard: hearOfProxy },
    ));
  }
  world.targets.forEach(({ isCut, isDown, process }, index) => {
    const link = source.links[index]!;
    if (isDown) return;
    if (source.isUp && !isCut) {
      actions.push(
        ...watchActions(`source hears of chaperons of ${index}`, link.chaperons, {
          watchIn: (now) => now.source.links[index]!.chaperons, collectionIn: (now) => now.targets[index]!.chaperons,
          heard: (now, before, after) => hearOfCandidate(now, index, before, after),
        }),
        ...watchActions(`source hears of pods of ${index}`, link.pods, {
          watchIn: (now) => now.source.links[index]!.pods, collectionIn: (now) => now.targets[index]!.pods,
          heard: (now, before, after) => hearOfCandidate(now, index, before, after),
        }),
      );
    }
    if (!process.isUp) return;
    actions.push(
      ...watchActions(`${index} hears of chaperons`, process.chaperons, {
        watchIn: (now) => now.targets[index]!.process.chaperons, collectionIn: (now) => now.targets[index]!.chaperons,
        heard: (now, before, after) => forgetChaperon(now, index, before, after),
      }),
      ...watchActions(`${index} hears of pods`, process.pods, {
        watchIn: (now) => now.targets[index]!.process.pods, collectionIn: (now) => now.targets[index]!.pods,
        heard: (now, before, after) => seePod(now, index, before, after),
      }),
    );
  });
  return actions;
}

/** A watch in a world: where it is, what it watches, and what its process does with news. */
interface WatchSite<T> {
  readonly watchIn: (world: World) => Watch<T>;
  readonly collectionIn: (world: World) => Collection<T>;
  readonly heard: (world: World, before: T | null, after: T | null) => void;
}

function watchActions<T extends Pod | PodChaperon>(
  name: string, { synced, queue }: Watch<T>, { watchIn, collectionIn, heard }: WatchSite<T>,
): Action[] {
  if (synced && queue.length === 0) return [];
  const act = (world: World) => {
    const watch = watchIn(world);
    const { version, held } = watch.synced ? watch.queue.shift()! : collectionIn(world);
    const before = watch.cached;
    if (!watch.synced) watch.queue = [];
    Object.assign(watch, { synced: true, version, cached: held });
    heard(world, valueOf(before), valueOf(held));
  };
  return [progress(synced ? name : `${name} by a list`, act)];
}

function hearOfProxy(world: World, before: Pod | null, after: Pod | null): void {
  const { memories } = world.source;
  if (before !== null && before.metadata.uid !== after?.metadata.uid) delete memories[before.metadata.uid ?? ''];
  if (after !== null && (after.spec.nodeName ?? '') !== '') delete memories[after.metadata.uid ?? ''];
}

function hearOfCandidate(
  world: World, index: number, before: Pod | PodChaperon | null, after: Pod | PodChaperon | null,
): void {
  const uid = (after ?? before)?.metadata.labels?.[PARENT_UID_LABEL];
  noteGone(world.source, index, before, after);
  if (uid === undefined || after === null || (valueOf(world.source.proxies.cached)?.spec.nodeName ?? '') !== '') return;
  const memory = memoryOf(world, uid);
  if (!memory.targets.includes(index)) memory.targets.push(index);
}

/** Of a proxy that goes, what was seen to go after nobody could make it again. */
function noteGone(
  { proxies, links }: World['source'], index: number, before: Pod | PodChaperon | null, after: Pod | PodChaperon | null,
): void {
  const proxy = valueOf(proxies.cached);
  const { chaperons, gone } = links[index]!;
  if (before === null || after !== null || !goes(proxy) || parentOf(before) !== uidOf(proxy)) return;
  const chaperon = valueOf(chaperons.cached);
  const isFinal = before.kind === 'Pod' ? goes(chaperon) && parentOf(chaperon) === uidOf(proxy) : goes(before);
  if (isFinal) gone.push(`${uidOf(proxy)} ${before.kind}`);
}

// --- our controllers

function controllers(world: World, plans: Plans): Action[] {
  const { source } = world;
  const actions: Action[] = [];
  if (source.isUp) {
    actions.push(...controllerActions('scheduler', world, {
      ref: source.scheduling,
      intend: (draft, isLate) => schedule(draft, plans, isLate),
      hold: (draft, operation) => void (draft.source.scheduling = intern(operation)),
    }));
    actions.push(...controllerActions('feedback', world, {
      ref: source.feedback,
      intend: (draft) => feedBack(draft, plans),
      hold: (draft, operation) => void (draft.source.feedback = intern(operation)),
    }));
  }
  if (source.isUp) actions.push(...departures(world, plans));
  world.targets.forEach(({ isDown, process }, index) => {
    if (!process.isUp || isDown) return;
    actions.push(...controllerActions(`chaperon controller of ${index}`, world, {
      ref: process.operation,
      intend: (draft, isLate) => chaperone(draft, index, plans, isLate),
      hold: (draft, operation) => void (draft.targets[index]!.process.operation = intern(operation)),
    }));
  });
  return actions;
}

/**
 * Failover takes the place of feedback: both act on a bound pod, and the shells' two writes are their own
 * preconditions.
 */
function departures(world: World, plans: Plans): Action[] {
  if (world.fenced === undefined) return [];
  return controllerActions('failover', world, {
    ref: world.source.departing,
    intend: (draft) => depart(draft, plans),
    hold: (draft, operation) => void (draft.source.departing = intern(operation)),
  });
}

type Hand = (world: World, operation: Operation | null) => void;

/** A controller in a world: what it has in hand, what it would do, and where it puts the rest. */
interface ControllerSite {
  readonly ref: Ref<Operation>;
  readonly intend: (draft: World, isLate: boolean) => Intent;
  readonly hold: Hand;
}

function controllerActions(by: string, world: World, { ref, intend, hold }: ControllerSite): Action[] {
  const inHand = valueOf(ref);
  if (inHand !== null) {
    return sendActions(by, world, { request: inHand.requests[0], act: (draft) => sendNext(draft, by, inHand, hold) });
  }
  const early = intend(copyOf(world), false);
  if (early.kind === 'nothing') return [];
  const begin = (index: number, isLate: boolean) => (draft: World) => {
    const intent = intend(draft, isLate);
    if (intent.kind === 'operations') sendNext(draft, by, intent.operations[index]!, hold);
  };
  if (early.kind === 'operations') return early.operations.flatMap(
    ({ requests: [request] }, index) => sendActions(`${by} (${index})`, world, { request, act: begin(index, false) }),
  );
  if (world.left.impatience === 0) return [];
  return [optional(`${by} has waited long enough`, (draft) => {
    draft.left.impatience -= 1;
    begin(0, true)(draft);
  })];
}

/** The next request of a controller, and what sends it. */
interface Sending {
  readonly request: Request | undefined;
  readonly act: (world: World) => void;
}

/** A request that arrives; or is lost, or its answer is, or it comes late, while there are faults left. */
function sendActions(name: string, { left }: World, { request, act }: Sending): Action[] {
  const faulty = (fate: NonNullable<World['lost']>, budget: 'loss' | 'late') =>
    optional(`${name} sends, ${fate} ${fate === 'late' ? '' : 'lost'}`, (world) => {
    world.left[budget] -= 1;
    world.lost = fate;
    act(world);
    delete world.lost;
  });
  return [
    progress(`${name} sends`, act),
    ...(left.loss > 0 ? [faulty('request', 'loss'), faulty('answer', 'loss')] : []),
    ...(left.late > 0 && canBeLate(request) ? [faulty('late', 'late')] : []),
  ];
}

/** Writes that were given up and reach their servers after all. */
function lateArrivals({ late }: World): Action[] {
  return late.map((_request, index) => optional('a late write arrives', (world) => arriveLate(world, index)));
}

// --- schedulers, kubelets and garbage collection of the targets

function targetLife(world: World): Action[] {
  return world.targets.flatMap(({ chaperons, pods, isDown }, index) => {
    if (isDown) return [];
    const pod = objectIn(pods);
    const collects = world.left.collection > 0 && collectGarbage({ ...chaperons }, { ...pods });
    return [...(collects ? [collection(index)] : []), ...(
      pod?.metadata.ownerReferences === undefined ? [] : podLife(world, index, pod)
    )];
  });
}

function collection(index: number): Action {
  return progress(`garbage collection in ${index}`, (now) => {
    now.left.collection -= 1;
    tell(now, index, () => collectGarbage(now.targets[index]!.chaperons, now.targets[index]!.pods));
  });
}

/** What the target's scheduler and kubelet do with a delegate. */
function podLife({ left }: World, index: number, pod: Pod): Action[] {
  const set = (by: (pod: Pod) => Pod) => (now: World) => tell(now, index, () => change(now.targets[index]!.pods, by));
  if (goes(pod)) return (pod.metadata.deletionGracePeriodSeconds ?? 0) > 0
    ? [progress(
      `containers stop in ${index}`, (now) => tell(now, index, () => stopContainers(now.targets[index]!.pods)),
    )]
    : [];
  if (nodeNameOf(pod) !== '') {
    const ends = pod.spec.restartPolicy === 'Never' && !isTerminal(pod.status?.phase);
    return ends ? [
      optional(`delegate succeeds in ${index}`, set((it) => ({ ...it, status: { ...it.status, phase: 'Succeeded' } }))),
    ] : [];
  }
  const starts = progress(`delegate starts in ${index}`, (now) => {
    noteStart(now, pod);
    set(running)(now);
  });
  const finds = optional(`no node in ${index}`, (now) => {
    now.left.rejection -= 1;
    set(unschedulable)(now);
  });
  return left.rejection > 0 && pod.status === undefined ? [starts, finds] : [starts];
}

const running = (pod: Pod): Pod => ({
  ...pod, spec: { ...pod.spec, nodeName: 'n' },
  status: { phase: 'Running', conditions: [{ type: 'PodScheduled', status: 'True' }] },
});
const unschedulable = (pod: Pod): Pod => ({
  ...pod,
  status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
});

/**
 * A delegate of a bound pod that must not run again has its containers started for the first time, or it is a breach.
 */
function noteStart(world: World, pod: Pod): void {
  const uid = pod.metadata.labels?.[PARENT_UID_LABEL] ?? '';
  if (world.bound[uid] !== undefined && pod.spec.restartPolicy === 'Never' && world.ran.includes(uid)) {
    breach(world, `${uid} must run once and was run again`);
  }
  if (!world.ran.includes(uid)) world.ran.push(uid);
}

// --- users and administrators

function userActs(world: World): Action[] {
  const { left, proxies } = world;
  const actions: Action[] = [];
  const proxy = objectIn(proxies);
  if (left.userDelete > 0 && proxy !== null && proxy.metadata.deletionTimestamp === undefined) {
    actions.push(optional('user deletes the pod', (now) => {
      now.left.userDelete -= 1;
      tellSource(now, () => change(
        now.proxies,
        (pod) => ({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: 'T', deletionGracePeriodSeconds: 0 } }),
      ));
    }));
  }
  if (left.strip > 0 && proxy !== null) {
    actions.push(optional('user takes the pod away by force', (now) => {
      now.left.strip -= 1;
      now.forced.push(uidOf(proxy));
      tellSource(now, () => change(
        now.proxies,
        (pod) => ({
          ...pod, metadata: { ...pod.metadata, deletionTimestamp: 'T', deletionGracePeriodSeconds: 0, finalizers: [] },
        }),
      ));
    }));
  }
  if (left.successor > 0 && proxy === null) {
    actions.push(optional('a successor of the same name', (now) => {
      now.left.successor -= 1;
      makeProxy(now, now.restartPolicy);
    }));
  }
  world.targets.forEach(({ pods, isDown }, index) => {
    const pod = objectIn(pods);
    if (isDown) return;
    const isOurs = pod?.metadata.ownerReferences !== undefined;
    if (
      left.adminDelete > 0 && isOurs && pod?.metadata.deletionTimestamp === undefined
    ) actions.push(optional(`delegate in ${index} is deleted there`, (now) => {
      now.left.adminDelete -= 1;
      tell(now, index, () => change(
        now.targets[index]!.pods,
        (pod) => ({
          ...pod,
          metadata: {
            ...pod.metadata, deletionTimestamp: 'T',
            deletionGracePeriodSeconds: (pod.spec.nodeName ?? '') === '' ? 0 : 30,
          },
        }),
      ));
    }));
    if (left.foreign > 0 && pod === null) actions.push(optional(`a foreign pod in ${index}`, (now) => {
      now.left.foreign -= 1;
      tell(now, index, () => takeName(now.targets[index]!.pods));
    }));
  });
  return [...actions, ...foreignFinalizers(world)];
}

/** Other controllers of the source: one sets a condition on the bound proxy, one ends a proxy that has no node. */
function othersInTheSource({ left, proxies }: World): Action[] {
  const proxy = objectIn(proxies);
  if (proxy === null || proxy.metadata.deletionTimestamp !== undefined || isTerminal(proxy.status?.phase)) return [];
  const set = (budget: 'gate' | 'ending', status: Pod['status']) => (now: World) => {
    now.left[budget] -= 1;
    tellSource(now, () => change(now.proxies, (pod) => ({ ...pod, status: { ...pod.status, ...status } })));
  };
  const conditions = [...(proxy.status?.conditions ?? []), { type: GATE_CONDITION, status: 'True' as const }];
  return [
    ...(
      left.gate > 0
        && nodeNameOf(proxy) !== '' ? [optional('a condition is set on the proxy', set('gate', { conditions }))] : []
    ),
    ...(
      left.ending > 0
        && nodeNameOf(proxy) === '' ? [optional('somebody ends the proxy', set('ending', { phase: 'Failed' }))] : []
    ),
  ];
}

/**
 * A chaperon that a proxy is bound to is taken away by force: its delegate stays until somebody sees that it has lost
 * its owner. Not that of a candidate: its absence is told by caches, which holds as long as finalizers are left alone.
 */
function forcedAway({ left, targets, bound }: World): Action[] {
  if (left.force === 0) return [];
  return targets.flatMap(({ chaperons, pods, isDown }, index) => {
    if (isDown) return [];
    const uid = uidOf(objectIn(chaperons));
    const delegate = objectIn(pods);
    if (
      uid === '' || delegate?.metadata.ownerReferences?.[0]?.uid !== uid
        || bound[delegate.metadata.labels?.[PARENT_UID_LABEL] ?? ''] !== nodeOf(index)
    ) return [];
    return [optional(`the chaperon in ${index} is taken away by force`, (now) => {
      now.left.force -= 1;
      tell(now, index, () => change(
        now.targets[index]!.chaperons,
        (it) => ({ ...it, metadata: { ...it.metadata, deletionTimestamp: 'T', finalizers: [] } }),
      ));
    })];
  });
}

function takeName(pods: Collection<Pod>): void {
  pods.version += 1;
  pods.held = intern({
    kind: 'Pod', metadata: { namespace: 'ns', name: 'delegate', uid: 'foreign', resourceVersion: String(pods.version) },
    spec: { containers: [] },
  });
}

function foreignFinalizers(world: World): Action[] {
  const places: readonly (
    readonly [string, (now: World) => Collection<Pod> | Collection<PodChaperon>, (now: World, act: () => void) => void]
  )[] = [
    ['the proxy', (now) => now.proxies, tellSource],
    ...world.targets.flatMap(({ isDown }, index) => isDown ? [] : [
      [`the chaperon in ${index}`, (now: World) => now.targets[index]!.chaperons, (now: World, act: () => void) => tell(
        now, index, act,
      )] as const,
      [`the pod in ${index}`, (now: World) => now.targets[index]!.pods, (now: World, act: () => void) => tell(
        now, index, act,
      )] as const,
    ]),
  ];
  return places.flatMap(([what, collectionIn, telling]): Action[] => {
    const object = valueOf<Pod | PodChaperon>(collectionIn(world).held);
    if (object === null || object.metadata.uid === 'foreign') return [];
    const { finalizers = [], deletionTimestamp } = object.metadata;
    const set = (now: World, next: readonly string[]) => telling(now, () => change(
      collectionIn(now) as Collection<Pod>, (it) => ({ ...it, metadata: { ...it.metadata, finalizers: next } }),
    ));
    if (finalizers.includes(FOREIGN_FINALIZER)) {
      return deletionTimestamp === undefined
        ? []
        : [progress(
          `foreign finalizer leaves ${what}`,
          (now) => set(now, finalizers.filter((finalizer) => finalizer !== FOREIGN_FINALIZER)),
        )];
    }
    if (world.left.foreign === 0 || deletionTimestamp !== undefined) return [];
    return [optional(`foreign finalizer on ${what}`, (now) => {
      now.left.foreign -= 1;
      set(now, [...finalizers, FOREIGN_FINALIZER]);
    })];
  });
}

// --- leases of the source in the targets

function leases(world: World): Action[] {
  const { source, targets, fenced } = world;
  if (fenced === undefined) return [];
  return targets.flatMap(({ isCut, isDown, lease, process }, index): Action[] => {
    if (isDown) return [];
    const isHeard = source.isUp && !isCut;
    const ends = optional(`the lease in ${index} ends`, (now) => Object.assign(
      now.targets[index]!, { lease: 'ended', process: { ...now.targets[index]!.process, heardLease: 'ended' } },
    ));
    const hears = progress(
      `${index} hears that the lease is ${lease}`, (now) => void (now.targets[index]!.process.heardLease = lease),
    );
    const renews = progress(`source renews the lease in ${index}`, (now) => {
      now.targets[index]!.lease = 'held';
      now.source.links[index]!.acknowledged = true;
    });
    const isDue = lease === 'ended' || !source.links[index]!.acknowledged;
    return [
      ...(process.isUp && lease === 'held' && !isHeard ? [ends] : []),
      ...(process.isUp && process.heardLease !== lease ? [hears] : []),
      ...(isHeard && isDue ? [renews] : []),
    ];
  });
}

// --- candidates that end unless they are confirmed

function confirmations({ bounded, left, source, targets }: World): Action[] {
  if (bounded === undefined) return [];
  const proxy = source.isUp && source.proxies.synced ? valueOf(source.proxies.cached) : null;
  return targets.flatMap(({ isCut, isDown, confirmed }, index): Action[] => {
    const passes = optional(`time passes in ${index}`, (now) => {
      now.left.time -= 1;
      now.targets[index]!.clock += 1;
    });
    const confirms =
      progress(`source confirms in ${index}`, (now) => void now.targets[index]!.confirmed.push(uidOf(proxy)));
    const isDue = !isCut && !isDown && nodeNameOf(proxy) === nodeOf(index) && !confirmed.includes(uidOf(proxy));
    return [...(left.time > 0 ? [passes] : []), ...(isDue ? [confirms] : [])];
  });
}

// --- faults, and their ends

function faults(world: World): Action[] {
  const actions: Action[] = [];
  const { left, source, targets } = world;
  if (!source.isUp) actions.push(progress('source starts again', (now) => void (now.source.isUp = true)));
  else if (left.crash > 0) actions.push(optional('source crashes', crashSource));
  targets.forEach(({ isCut, process }, index) => {
    if (!process.isUp) actions.push(
      progress(`${index} starts again`, (now) => void (now.targets[index]!.process.isUp = true)),
    );
    else if (left.crash > 0) actions.push(optional(`${index} crashes`, (now) => crashTarget(now, index)));
    if (isCut) actions.push({
      ...progress(`the cut to ${index} heals`, (now) => void (now.targets[index]!.isCut = false)),
      ...(world.fenced && { kind: 'slow' as const }),
    });
    else if (left.cut > 0) actions.push(optional(`the path to ${index} is cut`, (now) => {
      now.left.cut -= 1;
      now.targets[index]!.isCut = true;
    }));
    actions.push(...outages(world, index));
  });
  return actions;
}

/** Of a target's API server, and what the source sees of that and of cuts. */
function outages({ left, source, targets }: World, index: number): Action[] {
  const { isCut, isDown } = targets[index]!;
  const isAway = isCut || isDown;
  const isNews = source.isUp && source.links[index]!.seenCut !== isAway;
  return [
    ...(
      isDown ? [slow(`the API server of ${index} is up again`, (now) => void (now.targets[index]!.isDown = false))] : []
    ),
    ...(
      left.down > 0 && !isDown
        && !isCut ? [optional(`the API server of ${index} goes down`, (now) => goDown(now, index))] : []
    ),
    ...(
      isNews
        ? [progress(
          `source sees that ${index} is ${isAway ? 'away' : 'back'}`, (now) => see(now.source.links[index]!, isAway),
        )]
        : []
    ),
  ];
}

function goDown(world: World, index: number): void {
  world.left.down -= 1;
  world.targets[index]!.isDown = true;
  world.source.links[index]!.refused = true;
}

function see(link: Link, isAway: boolean): void {
  link.seenCut = isAway;
  if (!isAway) link.refused = false;
}

function crashSource(world: World): void {
  world.left.crash -= 1;
  const { targets, source, proxies } = world;
  Object.assign(source, {
    isUp: false, began: proxies.made, proxies: newWatch(false), links: targets.map(() => newLink(false)), memories: {},
    scheduling: 0, feedback: 0, departing: 0,
  });
}

function crashTarget(world: World, index: number): void {
  world.left.crash -= 1;
  Object.assign(world.targets[index]!.process, {
    isUp: false, chaperons: newWatch(false), pods: newWatch(false), seen: [], gone: [], unheard: {}, operation: 0,
  });
}
