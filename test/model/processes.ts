// What the controllers of the model do: each looks at its caches, asks the real plans, and turns the step into
// requests. The order of reads and
// writes is that of the shells (scheduling-, feedback- and chaperon-controller). `isLate` says that whatever patience
// there is has ended.
import { CHAPERON_FINALIZER, EXPIRED_AT_ANNOTATION, FENCED_AT_ANNOTATION } from '../../api/objects/keys.ts';
import type { Pod } from '../../api/objects/core.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { planChaperon, planOrphanedDelegate } from '../../delegate-controller/chaperon/chaperon-plan.ts';
import { mayFailOver, planFailover } from '../../delegate-controller/failover/failover-plan.ts';
import { planFeedback } from '../../delegate-controller/feedback/feedback-plan.ts';
import { planChaperonDeletion } from '../../model/delegate/delegation.ts';
import { toTargetPodRecord, type TargetPod } from '../../delegate-controller/target-cache/target-pod.ts';
import { toChaperonRecord, toDelegatePodRecord, type Chaperon } from '../../model/delegate/cached-delegate.ts';
import type { Command, Plan } from '../../model/objects/plan.ts';
import { isTerminal } from '../../model/pod/pod.ts';
import { toProxyPodRecord, type ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { planPlacement, type Candidate } from '../../scheduler/cycle/placement.ts';
import { confirmBefore, hasSurelyStopped, toBeConfirmed } from '../../model/delegate/confirmation.ts';
import { goes, objectIn, parentOf, uidOf, valueOf, type Ref } from './servers.ts';
import {
  chaperonFor, nodeOf, whatOf, type Link, type Memory, type Operation, type Place, type Request, type World,
} from './world.ts';

/** The decisions under test; a mutant replaces one of them. */
export interface Plans {
  readonly planChaperon: typeof planChaperon;
  readonly planOrphanedDelegate: typeof planOrphanedDelegate;
  readonly planFeedback: typeof planFeedback;
  readonly planChaperonDeletion: typeof planChaperonDeletion;
  readonly planPlacement: typeof planPlacement;
  readonly planFailover: typeof planFailover;
  /** Whether the source may take it for granted that the target has stopped its pods. */
  readonly hasStoppedAll: typeof hasStoppedAll;
  /**
   * Whether the time of a candidate that nobody confirmed has passed, and whoever had to stop it has had the time to.
   */
  readonly hasExpired: typeof hasExpired;
  /** Whether the source may take it for granted then that the target has stopped it. */
  readonly hasSurelyStopped: typeof hasSurelyStopped;
  /** Of the chaperons that the source makes. */
  readonly chaperonFinalizers: readonly string[];
}

/** The plans as they are. */
export const PLANS: Plans = {
  planChaperon, planOrphanedDelegate, planFeedback, planChaperonDeletion, planPlacement, planFailover, hasStoppedAll,
  hasExpired, hasSurelyStopped, chaperonFinalizers: [CHAPERON_FINALIZER],
};

/** What a controller would do next: nothing, wait for patience to end, or one of these operations. */
export type Intent = { readonly kind: 'nothing' } | { readonly kind: 'patience' }
  | { readonly kind: 'operations'; readonly operations: readonly Operation[] };

const NOTHING: Intent = { kind: 'nothing' };
/** Polling is counted in minutes, and this is later. */
const LATE = 1e12;

/** Records are made once of each version. */
function remembered<T, R>(toRecord: (object: T) => R | undefined): (ref: Ref<T>) => R | undefined {
  const records = new Map<number, R | undefined>();
  return (ref) => {
    if (!records.has(ref)) records.set(ref, ref === 0 ? undefined : toRecord(valueOf(ref)!));
    return records.get(ref);
  };
}
const proxyOf = remembered(toProxyPodRecord);
const chaperonOf = remembered(toChaperonRecord);
const delegateOf = remembered(toDelegatePodRecord);
const targetPodOf = remembered(toTargetPodRecord);

const one = (operation: Operation): Intent =>
  (operation.requests.length === 0 ? NOTHING : { kind: 'operations', operations: [operation] });

function writes(place: Place, plan: Plan, meant: string | null): Request[] {
  return plan.map((command: Command) => ({ kind: 'write', place, what: whatOf(command), command, meant }));
}

/** The scheduler; notes in the world's memory what its caches have made clear. */
export function schedule(world: World, plans: Plans, isLate: boolean): Intent {
  const pod = valueOf(world.source.proxies.cached);
  const proxy = proxyOf(world.source.proxies.cached);
  const isOurs = world.source.proxies.synced && proxy?.nodeName === undefined;
  return pod === null || proxy === undefined || !isOurs ? NOTHING : place(world, plans, { pod, proxy }, isLate);
}

function place(
  world: World, plans: Plans, { pod, proxy }: { readonly pod: Pod; readonly proxy: ProxyPod }, isLate: boolean,
): Intent {
  const memory = memoryOf(world, proxy.uid);
  if (memory.bindSent) return NOTHING;
  giveUpLost(world, proxy, memory, plans);
  const candidates = gather(world, proxy, memory);
  resolvePending(world, memory);
  if (memory.pending?.kind === 'unconfirmed') return one(creation(world, pod, memory.pending.target, plans));
  const unheard = unheardOf(world, proxy);
  const step = plans.planPlacement(
    { proxy, candidates, pendingCreate: memory.pending !== null, unobserved: unheard }, isLate ? LATE : 0,
  );
  switch (step.kind) {
    case 'no-change':
      return NOTHING;
    case 'wait':
      return waitFor(step.ms);
    case 'choose-target':
      return choose(world, pod, memory, plans);
    case 'bind':
      return one({ requests: writes('source', step.plan, proxy.uid), noted: 'bound' });
    case 'delete-candidate':
      noteRejection(memory, step);
      return one({
        requests: writes(Number(step.target), step.plan, step.uid), noted: 'withdrawn', target: Number(step.target),
        of: proxy.uid,
      });
    case 'remove-deadline':
      return one(deadlineRemoval(step, candidates, proxy));
    case 'remove-finalizer':
      return one({ requests: writes('source', step.plan, proxy.uid) });
  }
}

function deadlineRemoval(
  { target, plan }: { readonly target: string; readonly plan: Plan }, candidates: readonly Candidate[],
  { uid }: ProxyPod,
): Operation {
  const chaperon = candidates.find((candidate) => candidate.target === target)?.chaperon;
  return {
    requests: writes(Number(target), plan, chaperon?.uid ?? null), noted: 'deadline-removed', target: Number(target),
    of: uid,
  };
}

/** Once: else a controller that is behind would make a new state each time that it looks. */
function noteRejection(
  { rejected }: Memory, { target, rejection }: { readonly target: string; readonly rejection: unknown },
): void {
  if (rejection !== undefined && !rejected.includes(Number(target))) rejected.push(Number(target));
}

function waitFor(ms: number | undefined): Intent {
  return ms === undefined ? NOTHING : { kind: 'patience' };
}

/** What is remembered of a pod. */
export function memoryOf({ source }: World, uid: string): Memory {
  return (source.memories[uid] ??= {
    pending: null, bindSent: false, targets: [], rejected: [], before: {}, abandonedIn: [], withdrawn: {},
  });
}

function unheardOf({ source }: World, { uid }: ProxyPod): string[] {
  if (Number(uid.slice('proxy'.length)) > source.began) return [];
  return source.links.flatMap((link, index) => (link.chaperons.synced && link.pods.synced ? [] : [String(index)]));
}

/** Targets that are lost, and that have stopped what nobody has confirmed. */
function giveUpLost(world: World, { uid }: ProxyPod, memory: Memory, plans: Plans): void {
  for (const target of memory.targets) {
    const before = memory.before[target];
    if (before === undefined) continue;
    const { seenCut, refused } = world.source.links[target]!;
    const goneAt = plans.hasExpired(world, target, { uid, before }) ? 0 : Infinity;
    if (
      !plans.hasSurelyStopped({ goneAt, now: 0 }, { isReady: !seenCut, silentMs: refused ? undefined : Infinity })
    ) continue;
    memory.targets = memory.targets.filter((other) => other !== target);
    if (memory.pending?.target === target) memory.pending = null;
    memory.abandonedIn.push(target);
    delete memory.before[target];
    world.abandoned.push(`${uid} ${target}`);
  }
}

/**
 * What the times promise (shown by candidate-deadlines.test.ts and server-clock.test.ts): a candidate whose time has
 * passed has been stopped, or never comes to be, where there is an API server that works. Where there is none, only the
 * time has passed.
 */
function hasExpired(
  { targets }: World, index: number, { uid, before }: { readonly uid: string; readonly before: number },
): boolean {
  const { chaperons, pods, clock, isDown } = targets[index]!;
  if (isDown) return clock >= before;
  const [chaperon, pod] = [objectIn(chaperons), objectIn(pods)];
  const isMarked = parentOf(chaperon) !== uid || chaperon?.metadata.annotations?.[EXPIRED_AT_ANNOTATION] !== undefined
    || goes(chaperon);
  return clock >= before && isMarked && !(parentOf(pod) === uid && isLivingDelegate(pod));
}

function isOverdue({ targets, bounded }: World, index: number, chaperon: PodChaperon): boolean {
  const { clock, confirmed } = targets[index]!;
  const before = confirmBefore(chaperon.metadata);
  return bounded === true && before !== undefined && clock >= before / CLOCK_MS
    && !confirmed.includes(parentOf(chaperon) ?? '');
}

function isCloseToDeadline(clock: number, chaperon: Chaperon | undefined): boolean {
  return chaperon?.confirmBefore !== undefined && clock >= chaperon.confirmBefore / CLOCK_MS;
}

/** A step of a target's clock. */
const CLOCK_MS = 1_000;

function gather({ source, targets }: World, proxy: ProxyPod, memory: Memory): Candidate[] {
  return [...memory.targets].flatMap((index): Candidate[] => {
    const { chaperons, pods, seenCut } = source.links[index]!;
    if (!chaperons.synced || !pods.synced) return [];
    const chaperon = chaperonOf(chaperons.cached);
    const delegate = delegateOf(pods.cached);
    const found = { chaperon: childOf(proxy, chaperon), delegate: childOf(proxy, delegate) };
    if (found.chaperon === undefined && found.delegate === undefined) {
      if (memory.pending?.target !== index) {
        memory.targets = memory.targets.filter((target) => target !== index);
        delete memory.withdrawn[index];
      }
      return [];
    }
    if (memory.pending?.target === index) memory.pending = null;
    const is = {
      ...(memory.abandonedIn.includes(index) && { isAbandoned: true }),
      ...(isCloseToDeadline(targets[index]!.clock, found.chaperon) && { isCloseToDeadline: true }),
    };
    return [{
      ...found, target: String(index), nodeName: nodeOf(index), reachable: !seenCut, waitingSince: 0, ...is,
      ...deletionOf(memory, index, found.chaperon?.uid),
    }];
  });
}

function deletionOf({ withdrawn }: Memory, target: number, uid: string | undefined): Pick<Candidate, 'deletion'> {
  const known = withdrawn[target];
  return known === undefined || known.uid !== uid ? {} : { deletion: known.deletion };
}

function childOf<C extends { readonly parentUid: string }>({ uid }: ProxyPod, child: C | undefined): C | undefined {
  return child?.parentUid === uid ? child : undefined;
}

function resolvePending({ source }: World, memory: Memory): void {
  const { pending } = memory;
  if (pending?.kind !== 'created' || source.links[pending.target]!.chaperons.version < pending.version) return;
  memory.pending = null;
  memory.targets = memory.targets.filter((target) => target !== pending.target);
}

function choose(world: World, pod: Pod, memory: Memory, plans: Plans): Intent {
  const { source } = world;
  const open = source.links.flatMap(
    ({ seenCut, chaperons, pods }, index) => (seenCut || !chaperons.synced || !pods.synced ? [] : [index]),
  );
  if (open.every((index) => memory.rejected.includes(index))) {
    if (world.left.impatience === 0) return NOTHING;
    world.left.impatience -= 1; // rejections end after a while
    memory.rejected = [];
  }
  const operations = open.filter((index) => !memory.rejected.includes(index))
    .map((index) => creation(world, pod, index, plans));
  return operations.length === 0 ? NOTHING : { kind: 'operations', operations };
}

function creation(
  { fenced, bounded, source, targets }: World, pod: Pod, target: number, { chaperonFinalizers }: Plans,
): Operation {
  const plain = chaperonFor(pod, chaperonFinalizers, fenced);
  const before = source.memories[uidOf(pod)]?.before[target] ?? targets[target]!.clock + 1;
  const object = bounded === true ? toBeConfirmed(plain, before * CLOCK_MS) : plain;
  const command = { kind: 'create', type: { kind: 'PodChaperon' } as never, object } as const;
  return {
    ...(bounded === true && { before }),
    requests: [{ kind: 'write', place: target, what: 'PodChaperon', command, meant: null }], noted: 'created', target,
  };
}

/** The feedback controller. */
export function feedBack(world: World, plans: Plans): Intent {
  const { source } = world;
  if (!source.proxies.synced) return NOTHING;
  const proxy = proxyOf(source.proxies.cached);
  const sweeps = sweep(world, plans, proxy);
  if (sweeps.length > 0) return { kind: 'operations', operations: sweeps };
  return proxy?.nodeName === undefined ? NOTHING : followBound(world, plans, proxy);
}

function isUnknown({ seenCut, chaperons, pods }: Link): boolean {
  return seenCut || !chaperons.synced || !pods.synced;
}

function followBound({ source }: World, plans: Plans, proxy: ProxyPod): Intent {
  const target = source.links.findIndex((_link, index) => nodeOf(index) === proxy.nodeName);
  const { chaperons, pods } = source.links[target]!;
  const chaperon = childOf(proxy, chaperonOf(chaperons.cached));
  const known = { kind: 'known', chaperon, delegate: childOf(proxy, delegateOf(pods.cached)) } as const;
  const step = plans.planFeedback(proxy, isUnknown(source.links[target]!) ? { kind: 'unknown' } : known);
  const read = (what: 'Pod' | 'PodChaperon', kind: 'no-child' | 'lost'): Request =>
    ({ kind: 'read', place: target, what, expect: { kind, uid: proxy.uid } });
  if (step.kind === 'no-change' || step.kind === 'apply-changes') return NOTHING; // nobody changes a running pod here
  switch (step.kind) {
    case 'write':
    case 'report-outage':
    case 'copy-status':
      return one({ requests: writes('source', step.plan, proxy.uid) });
    case 'delete-chaperon':
      return one({ requests: writes(target, step.plan, chaperon?.uid ?? null) });
    case 'confirm-gone':
      return one({
        requests:
          [...readsBeforeRelease(source.links[target]!, proxy, read), ...writes('source', step.plan, proxy.uid)],
      });
    case 'confirm-delegate-gone':
      return one({ requests: [read('PodChaperon', 'lost'), ...writes('source', step.plan, proxy.uid)] });
  }
}

function readsBeforeRelease(
  link: Link, proxy: ProxyPod, read: (what: 'Pod' | 'PodChaperon', kind: 'no-child') => Request,
): readonly Request[] {
  return hasObservedAllDeletions(link, proxy) ? [] : [read('PodChaperon', 'no-child'), read('Pod', 'no-child')];
}

function hasObservedAllDeletions({ gone }: Link, { uid }: ProxyPod): boolean {
  return ['PodChaperon', 'Pod'].every((kind) => gone.includes(`${uid} ${kind}`));
}

function sweep({ source }: World, plans: Plans, proxy: ProxyPod | undefined): Operation[] {
  return source.links.flatMap(({ chaperons }, index): Operation[] => {
    const chaperon = chaperonOf(chaperons.cached);
    if (chaperon === undefined || chaperon.terminating) return [];
    const nodeName = nodeOf(index);
    if (proxy?.uid === chaperon.parentUid && (proxy.nodeName === undefined || proxy.nodeName === nodeName)) return [];
    const read: Request =
      { kind: 'read', place: 'source', what: 'Pod', expect: { kind: 'unwanted', uid: chaperon.parentUid, nodeName } };
    return [{ requests: [read, ...writes(index, plans.planChaperonDeletion(chaperon), chaperon.uid)] }];
  });
}

/** The chaperon controller of a target. */
export function chaperone(world: World, index: number, plans: Plans, isLate: boolean): Intent {
  const { process } = world.targets[index]!;
  if (!process.chaperons.synced || !process.pods.synced) return NOTHING;
  const chaperon = valueOf(process.chaperons.cached);
  const pod = targetPodOf(process.pods.cached);
    if (chaperon === null) return orphan(index, pod, plans);
  const uid = uidOf(chaperon);
  const step = plans.planChaperon(
    {
      chaperon, pod, podSeen: process.seen.includes(uid), statusChangedAt: 0,
      sourceLeaseExpired: process.heardLease === 'ended', isOverdue: isOverdue(world, index, chaperon),
    },
    isLate ? LATE : 0,
  );
  const meant = (command: Command) => (whatOf(command) === 'Pod' ? (pod?.uid ?? null) : uid);
  const written = (plan: Plan): Request[] => plan.flatMap((command) => writes(index, [command], meant(command)));
  switch (step.kind) {
    case 'no-change':
    case 'apply-changes':
      return NOTHING;
    case 'wait':
      return { kind: 'patience' };
    case 'write':
    case 'expire':
      return one({ requests: written(step.plan) });
    case 'confirm-gone':
      return one({ requests: [...readBeforeEnd(world, index, uid), ...written(step.plan)] });
    case 'create':
      return one({
        requests: writes(index, [{ kind: 'create', type: { kind: 'Pod' } as never, object: step.pod }], null),
        noted: 'made', target: index,
      });
  }
}

function readBeforeEnd({ targets }: World, index: number, uid: string): readonly Request[] {
  return targets[index]!.process.gone.includes(uid)
    ? []
    : [{ kind: 'read', place: index, what: 'Pod', expect: { kind: 'not-owned', uid } }];
}

function orphan(index: number, pod: TargetPod | undefined, plans: Plans): Intent {
  const plan = pod === undefined ? [] : plans.planOrphanedDelegate(pod);
  if (pod === undefined || plan.length === 0) return NOTHING;
  return one({
    requests: [
      { kind: 'read', place: index, what: 'PodChaperon', expect: { kind: 'gone', uid: pod.chaperonUid ?? '' } },
      ...writes(index, plan, pod.uid),
    ],
  });
}

/** Failover: a bound pod leaves a target that is lost, and that has stopped it by the promise of its lease. */
export function depart(world: World, plans: Plans): Intent {
  const { source } = world;
  const proxy = proxyOf(source.proxies.cached);
  if (world.fenced === undefined || !source.proxies.synced) return NOTHING;
  if (proxy === undefined || !mayFailOver(proxy)) return NOTHING;
  const target = source.links.findIndex((_link, index) => nodeOf(index) === proxy.nodeName);
  const link = source.links[target]!;
  if (!link.seenCut || !link.acknowledged || !plans.hasStoppedAll(world, target)) return NOTHING;
  const plan = plans.planFailover(proxy, '2026-01-01T00:00:00Z');
  return one({ requests: writes('source', plan, proxy.uid), noted: 'departed' });
}

/**
 * What the times of the lease promise (shown in virtual time by fencing-in-time.test.ts): once it has ended and was not
 * renewed, the target's controller has been given the time to mark all chaperons and stop all delegates.
 */
function hasStoppedAll({ targets }: World, index: number): boolean {
  const { chaperons, pods, lease } = targets[index]!;
  const [chaperon, pod] = [objectIn(chaperons), objectIn(pods)];
  const isMarked = chaperon === null || chaperon.metadata.annotations?.[FENCED_AT_ANNOTATION] !== undefined
    || isTerminal(chaperon.status?.phase);
  return lease === 'ended' && isMarked && !isLivingDelegate(pod);
}

/** Whether containers of a delegate may run. */
export function isLivingDelegate(pod: Pod | null): boolean {
  if (pod === null || parentOf(pod) === undefined || isTerminal(pod.status?.phase)) return false;
  return !goes(pod) || (pod.metadata.deletionGracePeriodSeconds ?? 0) > 0;
}
