// One request of an operation, from the sender to the server and back, and what the checker sees on the way: no write
// hits another object than the one that it was decided for, takes away what is somebody else's, or makes an end come
// undone.
import type { Pod } from '../../api/objects/core.ts';
import { EXPIRED_AT_ANNOTATION, POD_MISSING_SINCE_ANNOTATION } from '../../api/objects/keys.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { isTerminal } from '../../model/pod/pod.ts';
import { tell, tellSource } from './telling.ts';
import { memoryOf } from './processes.ts';
import { isDelegateGone } from '../../model/delegate/delegation.ts';
import { toChaperonRecord } from '../../model/delegate/cached-delegate.ts';
import {
  execute, FOREIGN_FINALIZER, GATE_CONDITION, finalizersOf, goes, nodeNameOf, objectIn, parentOf, uidOf, valueOf,
  type Answer, type Collection,
} from './servers.ts';
import { nodeOf, type Expectation, type Operation, type Place, type Request, type World } from './world.ts';

/** Notes what must never be; the first one counts. */
export function breach(world: World, what: string): void {
  world.breach ??= what;
}

/** Sends the next request of an operation, and holds on to the rest if there is one and the answer allows it. */
export function sendNext(
  world: World, by: string, operation: Operation, hold: (world: World, operation: Operation | null) => void,
): void {
  const [request, ...requests] = operation.requests;
  if (request === undefined) return hold(world, null);
  const noteAnswer = noteBefore(world, operation, request);
  const wasLost = operation.noted === 'departed'
    || (operation.wasLost ?? (operation.requests.some(isDeletionOfProxy) && hasLostAll(world)));
  const answer = reaches(world, by, request) ? serve(world, request, wasLost) : undefined;
  const heard = world.lost === 'answer' ? undefined : answer;
  const goesOn = heard !== undefined && allows(world, request, heard);
  noteAnswer(heard);
  hold(world, goesOn && requests.length > 0 ? { ...operation, requests, wasLost } : null);
}

/** Whether a request gets to its server now. One that comes late is put aside. */
function reaches({ lost, late, targets }: World, by: string, request: Request): boolean {
  if (lost === 'late' && request.kind === 'write') late.push(request);
  const target = request.place === 'source' ? undefined : targets[request.place];
  const isCut = target?.isDown === true || (/^(scheduler|feedback)/.test(by) && target?.isCut === true);
  return lost !== 'request' && lost !== 'late' && !isCut;
}

/**
 * Whether a write can come late and must do no harm then. Not a create or a bind: only a lease in the target could keep
 * those away, and what a bind to a target does that has lost the pod is undone by feedback.
 */
export function canBeLate(request: Request | undefined): boolean {
  return request?.kind === 'write' && (request.command.kind === 'delete' || request.command.kind === 'patch');
}

/** A write arrives that nobody waits for any more. */
export function arriveLate(world: World, index: number): void {
  const [request] = world.late.splice(index, 1);
  const isDown = request !== undefined && request.place !== 'source' && world.targets[request.place]!.isDown;
  if (request !== undefined && !isDown) serve(world, request, true);
}

function isDeletionOfProxy(request: Request): boolean {
  return request.kind === 'write' && request.place === 'source' && request.command.kind === 'delete';
}

/** Whether the bound proxy has lost what it stands for, in truth. */
function hasLostAll({ proxies, targets }: World): boolean {
  const proxy = objectIn(proxies);
  const target = targets.find((_target, index) => nodeOf(index) === nodeNameOf(proxy));
  const chaperon = target && objectIn(target.chaperons);
  if (!chaperon || parentOf(chaperon) !== uidOf(proxy)) return true;
  const record = toChaperonRecord(chaperon);
  const delegate = objectIn(target.pods);
  // a delegate that had ended and was deleted is not made again
  return record === undefined || isDelegateGone(record, { terminating: goes(delegate) })
    || (delegate === null && record.ended !== undefined);
}

function noteSending(world: World, { requests, target = 0, before }: Operation): void {
  const memory = memoryOf(world, wantedBy(requests[0]!));
  if (before !== undefined) memory.before[target] = before;
  if (!memory.targets.includes(target)) memory.targets.push(target);
  memory.pending = { kind: 'unconfirmed', target, version: 0 };
  if (!memory.abandonedIn.includes(target)) forgetAbandoned(world, `${wantedBy(requests[0]!)} ${target}`);
}

/**
 * A source that has begun anew, and has found nothing of the pod there, may ask the target again: that candidate is
 * another one.
 */
function forgetAbandoned(world: World, what: string): void {
  world.abandoned = world.abandoned.filter((one) => one !== what);
}

/** From its first request on: it may arrive whatever becomes of its sender. */
function noteDeparture({ departed }: World, request: Request): void {
  if (request.kind === 'write' && request.meant !== null && !departed.includes(request.meant)) {
    departed.push(request.meant);
  }
}

/** As `CreateExpectations` has it. */
function beginMaking({ targets }: World, request: Request, target: number): (answer: Answer | undefined) => void {
  const { process } = targets[target]!;
  const owner = request.kind === 'write' && request.command.kind === 'create'
    ? ((request.command.object as Pod).metadata.ownerReferences?.[0]?.uid ?? '')
    : '';
  const before = process.unheard[owner];
  process.unheard[owner] = '';
  return (answer) => {
    if (answer === undefined) return;
    const made = answer.kind === 'ok' ? uidOf(answer.object) : before;
    const isHeard = answer.kind === 'ok' && made === uidOf(valueOf(process.pods.cached));
    if (made === undefined || isHeard) delete process.unheard[owner];
    else process.unheard[owner] = made;
  };
}

/** As `PodMemory` has it. */
function beginWithdrawal(world: World, { target = 0, of = '' }: Operation, uid: string): (
  answer: Answer | undefined,
) => void {
  const { withdrawn } = memoryOf(world, of);
  withdrawn[target] = { uid, deletion: 'sent' };
  return (answer) => {
    if (answer === undefined) return;
    if (answer.kind === 'ok' || answer.kind === 'not-found') withdrawn[target] = { uid, deletion: 'done' };
    else delete withdrawn[target];
  };
}

function wantedBy(request: Request): string {
  return request.kind === 'write'
    && request.command.kind === 'create' ? (parentOf(request.command.object as PodChaperon) ?? '') : '';
}

/** What its sender notes before it sends a request; what is given back is told the answer, or that none was heard. */
function noteBefore(world: World, operation: Operation, request: Request): (answer: Answer | undefined) => void {
  const { noted, target = 0 } = operation;
  switch (noted) {
    case 'bound':
      return (answer) => {
        if (request.kind === 'write') memoryOf(world, String(request.meant)).bindSent = answer?.kind === 'ok';
      };
    case 'created':
      noteSending(world, operation);
      return (answer) => answer !== undefined && noteCreation(world, wantedBy(request), target, answer);
    case 'withdrawn':
      return beginWithdrawal(world, operation, String(request.kind === 'write' ? request.meant : ''));
    case 'deadline-removed':
      return (answer) => {
        if (answer?.kind === 'ok') delete memoryOf(world, operation.of ?? '').before[target];
      };
    case 'made':
      return beginMaking(world, request, target);
    case 'departed':
      noteDeparture(world, request);
      break;
    case undefined:
  }
  return () => undefined;
}

function noteCreation(world: World, uid: string, target: number, answer: Answer): void {
  const memory = memoryOf(world, uid);
  const existing = objectIn(world.targets[target]!.chaperons);
  if (answer.kind === 'ok' || parentOf(existing) === uid) {
    memory.pending = { kind: 'created', target, version: Number(existing?.metadata.resourceVersion) };
  } else {
    memory.pending = null;
    memory.rejected.push(target);
    delete memory.before[target];
    memory.targets = memory.targets.filter((known) => known !== target);
  }
}

function allows({ targets }: World, request: Request, answer: Answer): boolean {
  if (request.kind === 'read') {
    const object = answer.kind === 'ok' ? answer.object : null;
    // The delegate was read a moment before, and what goes does not come back.
    const delegate = request.place === 'source' ? null : objectIn(targets[request.place]!.pods);
    return isExpected(request.expect, object)
      || (request.expect.kind === 'lost' && goes(delegate) && !isStoppedUnconfirmed(object));
  }
  return answer.kind === 'ok' || (answer.kind === 'not-found' && request.command.kind === 'delete');
}

function isExpected(expect: Expectation, object: Pod | PodChaperon | null): boolean {
  const { uid } = expect;
  switch (expect.kind) {
    case 'no-child':
      return parentOf(object) !== uid;
    case 'gone':
      return uidOf(object) !== uid;
    case 'not-owned':
      return object?.metadata.ownerReferences?.some((owner) => owner.uid === uid) !== true;
    case 'lost':
      return parentOf(object) !== uid || goes(object) || isMissing(object);
    case 'unwanted':
      return uidOf(object) !== uid || !['', expect.nodeName].includes(nodeNameOf(object));
  }
}

function hasGate(object: Pod | PodChaperon): boolean {
  return object.status?.conditions?.some(({ type }) => type === GATE_CONDITION) === true;
}

function isStoppedUnconfirmed(object: Pod | PodChaperon | null): boolean {
  return object?.metadata.annotations?.[EXPIRED_AT_ANNOTATION] !== undefined;
}

function isMissing(object: Pod | PodChaperon | null): boolean {
  return object?.metadata.annotations?.[POD_MISSING_SINCE_ANNOTATION] !== undefined;
}

function collectionOf(world: World, place: Place, what: Request['what']): Collection<Pod | PodChaperon> {
  const collection =
    place === 'source' ? world.proxies : what === 'Pod' ? world.targets[place]!.pods : world.targets[place]!.chaperons;
  return collection;
}

function serve(world: World, request: Request, wasLost: boolean): Answer {
  const collection = collectionOf(world, request.place, request.what);
  if (request.kind === 'read') return collection.held === 0
    ? { kind: 'not-found' }
    : { kind: 'ok', object: objectIn(collection) };
  const before = objectIn(collection);
  let answer: Answer = { kind: 'not-found' };
  const write = () => {
    answer =
      execute(collection, request.command, request.place === 'source' ? 'proxy' : `${request.what}${request.place}.`);
  };
  if (request.place === 'source') tellSource(world, write);
  else tell(world, request.place, write);
  if (
    !wasLost && isDeletionOfProxy(request) && before?.metadata.deletionTimestamp === undefined
      && goes(objectIn(collection)) && !hasLostAll(world)
  ) {
    breach(world, `${uidOf(before)} was deleted though nothing of it was lost`);
  }
  if ((answer as Answer).kind === 'ok') inspect(world, request, before, objectIn(collection));
  return answer;
}

function inspect(
  world: World, request: Extract<Request, { kind: 'write' }>, before: Pod | PodChaperon | null,
  after: Pod | PodChaperon | null,
): void {
  const { command, meant } = request;
  if (before === null) return;
  const uid = uidOf(before);
  if (meant !== null && meant !== uid) breach(world, `a ${command.kind} that was meant for ${meant} hit ${uid}`);
  if (uid === 'foreign') breach(world, `a ${command.kind} hit a foreign pod`);
  if (finalizersOf(before).includes(FOREIGN_FINALIZER) && !finalizersOf(after).includes(FOREIGN_FINALIZER)) {
    breach(world, `a ${command.kind} took a foreign finalizer from ${uid}`);
  }
  if (hasGate(before) && after !== null && !hasGate(after)) {
    breach(world, `a ${command.kind} took a condition of the source's own from ${uid}`);
  }
  inspectEnd(world, before, after);
  if (command.kind === 'bind') inspectBind(world, uid, command.binding.target.name);
}

/** Who is bound to where its candidate was taken back loses its delegate, and with it what had begun to run. */
function inspectBind(world: World, uid: string, nodeName: string): void {
  world.bound[uid] = nodeName;
  const target = world.targets.findIndex((_target, index) => nodeOf(index) === nodeName);
  const chaperon = target < 0 ? null : objectIn(world.targets[target]!.chaperons);
  if (chaperon !== null && uidOf(chaperon) === world.source.memories[uid]?.withdrawn[target]?.uid && goes(chaperon)) {
    breach(world, `${uid} was bound to where its candidate had been withdrawn`);
  }
}

function inspectEnd(world: World, before: Pod | PodChaperon, after: Pod | PodChaperon | null): void {
  const [was, is] = [before.status?.phase, after?.status?.phase];
  if (isTerminal(was) && after !== null && is !== was) breach(world, `${uidOf(before)} was ${was} and then ${is}`);
}
