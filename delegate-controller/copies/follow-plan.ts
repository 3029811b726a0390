// Decides from cached records whether a target needs a copy of an object of the source, and how the object in the
// source is annotated. Nothing is deleted until it was unneeded for a while, nor because a cache is incomplete.
import type { KubernetesObject, Service, StringMap } from '../../api/objects/core.ts';
import { FOLLOW_MARKS_ANNOTATION, ORIGINAL_SELECTOR_ANNOTATION } from '../../api/objects/keys.ts';
import { valuesAt } from '../../model/objects/field-path.ts';
import { deletion, NOTHING, type Command, type Plan } from '../../model/objects/plan.ts';
import { objectKey, splitKey } from '../../model/pod/pod.ts';
import { copyDigest, toCopy } from './followed-copy.ts';
import type { FollowedKind } from './followed-kinds.ts';
import { formatSelector, isSame, originalSelector, rewrittenSelector } from './followed-service.ts';

/** The cached fields of an object of the source, without its contents. */
export interface SourceObject {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Digest of the copy that targets should have. */
  readonly digest: string;
  /** The pods that it selects, by the user's original selector. */
  readonly selector: StringMap;
  /** Names of the objects that it refers to. */
  readonly refersTo: readonly string[];
  /** Why it must stay in its cluster. */
  readonly rejection: string | undefined;
  /** The annotation modes that it already satisfies. */
  readonly markings: readonly FollowMarking[];
}

/**
 * How a followed object of the source is annotated: not at all; with a selector of delegates; or, where the pod plane
 * reaches delegates, with the user's own selector (ADR 0033).
 */
export type FollowMarking = 'none' | 'rewritten' | 'kept';

const MARKINGS: readonly FollowMarking[] = ['none', 'rewritten', 'kept'];

/** The cached fields of a copy in a target. */
export interface CopyObject {
  readonly key: string;
  readonly uid: string;
  readonly digest: string;
  /** UID of the source's object that it was last made from. */
  readonly parentUid: string;
}

/** State of an object and its copy. Times are in ms. */
export interface FollowState {
  readonly kind: FollowedKind;
  /**
   * Whether some elected pod needs it in this target; `unknown` while policies cannot be evaluated: then nothing is
   * copied or removed.
   */
  readonly needed: boolean | 'unknown';
  /** `unknown` while the source's objects are not listed. */
  readonly source: SourceObject | undefined | 'unknown';
  readonly copy: CopyObject | undefined;
  /** Since when it is no longer needed. */
  readonly unneededSince: number;
  /** What the target stored for our last write, when its admission changes objects. */
  readonly accepted: { readonly desired: string; readonly stored: string } | undefined;
}

/** The next step for a copy. */
export type FollowStep =
  | { readonly kind: 'no-change' }
  | { readonly kind: 'wait'; readonly ms: number }
  /** Read both objects and write the copy. */
  | { readonly kind: 'copy' }
  /** Report to the pods why the object is not copied. */
  | { readonly kind: 'reject'; readonly message: string }
  /** Delete the copy after an uncached read has confirmed the cause. */
  | { readonly kind: 'remove'; readonly cause: 'source-gone' | 'unneeded'; readonly plan: Plan };

/** Decides the next step. `now` is in ms. */
export function planFollow(state: FollowState, now: number): FollowStep {
  const { kind, needed, source, copy } = state;
  // An object found by its contents may be needed until it was read; one that pods refer to by name is needed by that
  // alone.
  if (source === 'unknown' && (needed !== false || kind.need.kind !== 'named')) return { kind: 'no-change' };
  if (needed === true && typeof source === 'object') return planPresence(state, source);
  if (needed === 'unknown' && source !== undefined) return { kind: 'no-change' };
  if (copy === undefined) return { kind: 'no-change' };
  return source === undefined
    ? { kind: 'remove', cause: 'source-gone', plan: remove(kind, copy) }
    : planRemoval(state, copy, now);
}

function planPresence(state: FollowState, source: SourceObject): FollowStep {
  const { copy } = state;
  if (source.rejection !== undefined) return { kind: 'reject', message: source.rejection };
  if (copy === undefined || copy.parentUid !== source.uid) return { kind: 'copy' };
  return copy.digest === source.digest || isAccepted(state, copy, source) ? { kind: 'no-change' } : { kind: 'copy' };
}

/** The target's webhooks changed what we wrote: writing again would never end. */
function isAccepted({ accepted }: FollowState, copy: CopyObject, source: SourceObject): boolean {
  return accepted?.desired === source.digest && accepted.stored === copy.digest;
}

function planRemoval({ kind, unneededSince }: FollowState, copy: CopyObject, now: number): FollowStep {
  const ms = unneededSince + kind.lingerMs - now;
  return ms > 0 ? { kind: 'wait', ms } : { kind: 'remove', cause: 'unneeded', plan: remove(kind, copy) };
}

function remove({ type }: FollowedKind, { key, uid }: CopyObject): Plan {
  return [deletion(type, { ...splitKey(key), uid })];
}

/** Whether an object can follow pods: a Service without a selector never does. */
export function canFollow({ need }: FollowedKind, object: KubernetesObject): boolean {
  return need.kind !== 'selects' || Object.keys(need.selectorOf(object)).length > 0;
}

/** The record of an object of the source. */
export function toSourceObject(kind: FollowedKind, object: KubernetesObject, clusterId: string): SourceObject {
  const { need } = kind;
  return {
    key: objectKey(object.metadata),
    uid: object.metadata.uid ?? '',
    resourceVersion: object.metadata.resourceVersion ?? '',
    digest: copyDigest(kind, toCopy(kind, object, clusterId)),
    selector: need.kind === 'selects' ? need.selectorOf(object) : {},
    refersTo: need.kind === 'refers-to'
      ? need.paths.flatMap((path) => valuesAt(object, path).filter((name) => typeof name === 'string'))
      : [],
    rejection: kind.reject?.(object),
    markings:
      MARKINGS.filter((marking) => planFollowAnnotations(kind, object, marking).length === 0),
  };
}

/** The writes that give an object of the source this annotation mode. */
export function planFollowAnnotations(
  kind: FollowedKind, object: KubernetesObject, marking: FollowMarking,
): Plan {
  if (Object.keys(kind.sourceAnnotations).length === 0) return NOTHING;
  const annotations = marking === 'none' ? ownAnnotations(object) : missingAnnotations(kind, object);
  const selector = kind.need.kind === 'selects' ? selectorChanges(object, marking === 'rewritten') : {};
  const changed = { ...annotations, ...selector.annotations };
  if (Object.keys(changed).length === 0 && selector.spec === undefined) return NOTHING;
  const { namespace, name = '', uid, resourceVersion } = object.metadata;
  const patch =
    { metadata: { uid, resourceVersion, annotations: changed }, ...(selector.spec && { spec: selector.spec }) };
  const command: Command = { kind: 'patch', type: kind.type, at: { namespace, name }, patchType: 'merge', patch };
  return [command];
}

type Changes = Readonly<Record<string, string | null>>;

/** Annotations to add. Those that the user set before belong to the user and are not removed later. */
function missingAnnotations(
  { sourceAnnotations }: FollowedKind, { metadata: { annotations = {} } }: KubernetesObject,
): Changes {
  const missing = Object.entries(sourceAnnotations).filter(([key, value]) => annotations[key] !== value);
  const ours =
    new Set([...(annotations[FOLLOW_MARKS_ANNOTATION]?.split(',') ?? []), ...missing.map(([key]) => key)].filter(
      (key) => key !== '',
    ));
  if (missing.length === 0 && annotations[FOLLOW_MARKS_ANNOTATION] !== undefined) return {};
  return { ...Object.fromEntries(missing), [FOLLOW_MARKS_ANNOTATION]: [...ours].join(',') };
}

function ownAnnotations({ metadata: { annotations = {} } }: KubernetesObject): Changes {
  const ours = annotations[FOLLOW_MARKS_ANNOTATION];
  if (ours === undefined) return {};
  return Object.fromEntries(
    [...ours.split(',').filter((key) => key !== ''), FOLLOW_MARKS_ANNOTATION].map((key) => [key, null]),
  );
}

interface SelectorChanges {
  readonly annotations?: Changes;
  readonly spec?: { readonly selector: Changes };
}

function selectorChanges(object: Service, isRewritten: boolean): SelectorChanges {
  const saved = object.metadata.annotations?.[ORIGINAL_SELECTOR_ANNOTATION];
  if (!isRewritten && saved === undefined) return {};
  const original = originalSelector(object);
  const current = object.spec?.selector ?? {};
  const wanted = isRewritten ? rewrittenSelector(object) : original;
  const text = isRewritten ? formatSelector(original) : null;
  return {
    ...((saved ?? null) !== text && { annotations: { [ORIGINAL_SELECTOR_ANNOTATION]: text } }),
    ...(!isSame(current, wanted) && {
      spec: { selector: { ...Object.fromEntries(Object.keys(current).map((key) => [key, null])), ...wanted } },
    }),
  };
}
