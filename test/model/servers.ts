// The simulated API servers of the model test: a source with one pod name, and targets with the one name that follows
// from it. They keep what real ones keep of creates, preconditions, finalizers, grace periods and cascading deletes. A
// state is plain JSON: it is copied and told apart as text.
import type { OwnerReference, Pod } from '../../api/objects/core.ts';
import { FENCE_ANNOTATION, PARENT_UID_LABEL } from '../../api/objects/keys.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { PODS } from '../../api/resource-types.ts';
import type { Command } from '../../model/objects/plan.ts';
import { isTerminal } from '../../model/pod/pod.ts';
import { afterMergePatch } from '../support/objects/builders.ts';

/** A value that was put away with {@link intern}: states stay small, and equal values are known by their numbers. */
export type Ref<T> = number & { readonly of?: T };

const values: unknown[] = [null];
const refs = new Map<string, number>([['null', 0]]);

/** Puts a JSON value away; equal ones get the same number. */
export function intern<T>(value: T | null): Ref<T> {
  const text = JSON.stringify(value);
  let ref = refs.get(text);
  if (ref === undefined) refs.set(text, (ref = values.push(JSON.parse(text)) - 1));
  return ref;
}

/** The value behind a number. */
export function valueOf<T>(ref: Ref<T>): T | null {
  return values[ref] as T | null;
}

/** A collection that can hold one object, for there is one name. `made` counts creations and so makes UIDs. */
export interface Collection<T> {
  version: number;
  made: number;
  held: Ref<T>;
}

/** What a collection holds now. */
export function objectIn<T>({ held }: Collection<T>): T | null {
  return valueOf(held);
}

/** A version of an object on its way to a watcher. */
export interface WatchEvent<T> {
  readonly version: number;
  readonly held: Ref<T>;
}

/** What one process knows of a collection. */
export interface Watch<T> {
  synced: boolean;
  version: number;
  cached: Ref<T>;
  queue: WatchEvent<T>[];
}

/** What an API server answers. */
export type Answer = { readonly kind: 'ok'; readonly object: Pod | PodChaperon | null }
  | { readonly kind: 'not-found' | 'conflict' | 'exists' | 'invalid' };

/** Somebody else's finalizer: it must survive whatever we do. */
export const FOREIGN_FINALIZER = 'example.com/foreign';
/** A condition that a controller of the source sets on a proxy: it must stay. */
export const GATE_CONDITION = 'example.com/gate';
const FOREGROUND = 'foregroundDeletion';
const DELETED = 'T';
/** Of a pod that has a node; one without is gone at once. */
const GRACE_SECONDS = 30;

type Stored = Pod | PodChaperon;

/** UID of an object; empty when there is none. */
export function uidOf(object: Stored | null): string {
  return object?.metadata.uid ?? '';
}

/** Whether the object was deleted and is still there. */
export function goes(object: Stored | null): boolean {
  return object?.metadata.deletionTimestamp !== undefined;
}

/** Node of a pod; empty while it has none. */
export function nodeNameOf(object: Stored | null): string {
  return object?.spec.nodeName ?? '';
}

/** UID of the proxy that a chaperon or delegate was made for. */
export function parentOf(object: Stored | null): string | undefined {
  return object?.metadata.labels?.[PARENT_UID_LABEL];
}

/** Finalizers of an object. */
export function finalizersOf(object: Stored | null): readonly string[] {
  return object?.metadata.finalizers ?? [];
}

/** A request that does something, executed; throws nothing. `uidPrefix` makes UIDs that no two collections share. */
export function execute<T extends Stored>(collection: Collection<T>, command: Command, uidPrefix: string): Answer {
  switch (command.kind) {
    case 'create':
      return create(collection, command.object as T, uidPrefix);
    case 'patch':
      return patch(collection, command.patch as { metadata?: Preconditioned }, command.at.subresource === 'status');
    case 'delete':
      return remove(collection, command);
    case 'bind':
      return bind(collection, command);
    case 'apply':
      throw new Error('no plan applies');
  }
}

interface Preconditioned {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

function create<T extends Stored>(collection: Collection<T>, object: T, uidPrefix: string): Answer {
  if (objectIn(collection) !== null) return { kind: 'exists' };
  collection.made += 1;
  return store(collection, { ...object, metadata: { ...object.metadata, uid: `${uidPrefix}${collection.made}` } });
}

function store<T extends Stored>(collection: Collection<T>, object: T): Answer {
  collection.version += 1;
  const { metadata } = object;
  const isGracefulDeletion = (metadata.deletionGracePeriodSeconds ?? 0) > 0;
  const isGone =
    metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0 && !isGracefulDeletion;
  collection.held =
    intern(isGone ? null : { ...object, metadata: { ...metadata, resourceVersion: String(collection.version) } });
  return { kind: 'ok', object: objectIn(collection) };
}

function holds(object: Stored, preconditions: Preconditioned | undefined): boolean {
  const { uid = object.metadata.uid, resourceVersion = object.metadata.resourceVersion } = preconditions ?? {};
  return uid === object.metadata.uid && resourceVersion === object.metadata.resourceVersion;
}

function patch<T extends Stored>(
  collection: Collection<T>, change: { metadata?: Preconditioned }, isStatus: boolean,
): Answer {
  const object = objectIn(collection);
  if (object === null) return { kind: 'not-found' };
  if (!holds(object, change.metadata)) return { kind: 'conflict' };
  const patched = afterMergePatch(object, isStatus ? { status: (change as { status?: unknown }).status } : change) as T;
  // `ValidateNoNewFinalizers` of API servers.
  if (goes(object) && finalizersOf(patched).some((finalizer) => !finalizersOf(object).includes(finalizer))) {
    return { kind: 'invalid' };
  }
  return JSON.stringify(patched) === JSON.stringify(object) ? { kind: 'ok', object } : store(collection, patched);
}

function remove<T extends Stored>(
  collection: Collection<T>, { preconditions, propagation, gracePeriodSeconds }: Extract<Command, { kind: 'delete' }>,
): Answer {
  const object = objectIn(collection);
  if (object === null) return { kind: 'not-found' };
  if (!holds(object, preconditions)) return { kind: 'conflict' };
  if (goes(object)) return { kind: 'ok', object };
  const finalizers = propagation === 'Foreground' ? [...finalizersOf(object), FOREGROUND] : finalizersOf(object);
  const grace = runsHere(object) ? (gracePeriodSeconds ?? GRACE_SECONDS) : 0;
  const deletionGracePeriodSeconds = object.kind === 'Pod' ? { deletionGracePeriodSeconds: grace } : {};
  return store(collection, {
    ...object, metadata: { ...object.metadata, deletionTimestamp: DELETED, ...deletionGracePeriodSeconds, finalizers },
  });
}

/** Whether containers of a pod run in this cluster, so that somebody must stop them. */
function runsHere(object: Stored): boolean {
  return object.metadata.ownerReferences !== undefined && nodeNameOf(object) !== ''
    && !isTerminal(object.status?.phase);
}

function bind(collection: Collection<Pod>, { binding }: Extract<Command, { kind: 'bind' }>): Answer {
  const object = objectIn(collection);
  if (object === null) return { kind: 'not-found' };
  if (!holds(object, { ...(binding.metadata.uid !== undefined && { uid: binding.metadata.uid }) })) {
    return { kind: 'conflict' };
  }
  if ((object.spec.nodeName ?? '') !== '' || object.metadata.deletionTimestamp !== undefined) {
    return { kind: 'conflict' };
  }
  const fence = binding.metadata.annotations?.[FENCE_ANNOTATION];
  const annotations = { ...object.metadata.annotations, ...(fence !== undefined && { [FENCE_ANNOTATION]: fence }) };
  return store(collection, {
    ...object, metadata: { ...object.metadata, annotations }, spec: { ...object.spec, nodeName: binding.target.name },
  });
}

/** The containers of a deleted pod have stopped: the kubelet says so. */
export function stopContainers(collection: Collection<Pod>): void {
  const object = objectIn(collection);
  if (object !== null) {
    store(collection, { ...object, metadata: { ...object.metadata, deletionGracePeriodSeconds: 0 } });
  }
}

/** Somebody who is none of us changes an object. */
export function change<T extends Stored>(collection: Collection<T>, by: (object: T) => T): void {
  const object = objectIn(collection);
  if (object !== null) store(collection, by(object));
}

/** One step of garbage collection in a target; false when there is nothing to do. */
export function collectGarbage(chaperons: Collection<PodChaperon>, pods: Collection<Pod>): boolean {
  const chaperon = objectIn(chaperons);
  const pod = objectIn(pods);
  const owner = pod === null ? undefined : ownerOf(pod)?.uid;
  const inForeground = finalizersOf(chaperon).includes(FOREGROUND);
  const isDependent = owner !== undefined && owner === uidOf(chaperon);
  if (owner !== undefined && !goes(pod) && (inForeground || !isDependent)) {
    remove(pods, {
      kind: 'delete', type: PODS, at: { name: '' }, preconditions: { uid: uidOf(pod) }, propagation: 'Background',
    });
    return true;
  }
  if (chaperon === null || !inForeground || isDependent) return false;
  const finalizers = finalizersOf(chaperon).filter((finalizer) => finalizer !== FOREGROUND);
  store(chaperons, { ...chaperon, metadata: { ...chaperon.metadata, finalizers } });
  return true;
}

function ownerOf({ metadata: { ownerReferences = [] } }: Pod): OwnerReference | undefined {
  return ownerReferences.find(({ kind }) => kind === 'PodChaperon');
}
