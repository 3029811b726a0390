// Whether an object of the source must be, or stay, in a target, decided from slim records; and how it is marked in the source meanwhile.
// Nothing is removed before it was unneeded for a while, and nothing because a cache is not complete.
import type { KubernetesObject, Service, StringMap } from '../../api/objects/core.ts';
import { FOLLOW_MARKS_ANNOTATION, ORIGINAL_SELECTOR_ANNOTATION } from '../../api/objects/keys.ts';
import { valuesAt } from '../../model/objects/field-path.ts';
import { NOTHING, type Command, type Plan } from '../../model/objects/plan.ts';
import { objectKey } from '../../model/pod/pod.ts';
import { copyDigest, toCopy } from './followed-copy.ts';
import type { FollowedKind } from './followed-kinds.ts';
import { formatSelector, isSame, originalSelector, rewrittenSelector } from './followed-service.ts';

/** An object of the source as it is remembered: what it says is not kept. */
export interface SourceObject {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Digest of the copy that targets are to have. */
  readonly digest: string;
  /** Which pods it selects, as its user means it. */
  readonly selector: StringMap;
  /** Names of the objects that it leads to. */
  readonly leadsTo: readonly string[];
  /** Why it must stay in its cluster. */
  readonly refusal: string | undefined;
  /** Which annotationModes it has already. */
  readonly annotationModes: readonly AnnotationMode[];
}

/**
 * How an object of the source is marked (contract §4): not at all; as one that is followed, by a selector of delegates; or as one that is followed
 * where the pod plane reaches delegates, by the selector that its user wrote (ADR 0033).
 */
export type AnnotationMode = 'unmarked' | 'rewritten' | 'kept';

const MARKINGS: readonly AnnotationMode[] = ['unmarked', 'rewritten', 'kept'];

/** A copy in a target as it is remembered. */
export interface CopyObject {
  readonly key: string;
  readonly uid: string;
  readonly digest: string;
  /** UID of the source's object that it was last made from. */
  readonly parentUid: string;
}

/** What is known of an object and its copy. Times are in ms. */
export interface FollowState {
  readonly kind: FollowedKind;
  /** Some elected pod needs it in this target; `unknown` while nobody can say what policies make of it: nothing is copied then, and nothing removed. */
  readonly needed: boolean | 'unknown';
  /** `unknown` while the source's objects are not listed. */
  readonly source: SourceObject | undefined | 'unknown';
  readonly copy: CopyObject | undefined;
  /** Since when it is no longer needed. */
  readonly unneededSince: number;
  /** What the target made of our last write, where its admission has its own mind. */
  readonly accepted: { readonly desired: string; readonly stored: string } | undefined;
}

/** The next step for a copy. */
export type FollowStep =
  | { readonly kind: 'no-change' }
  | { readonly kind: 'wait'; readonly ms: number }
  /** Read both objects and write the copy. */
  | { readonly kind: 'copy' }
  /** Tell the pods why it does not follow. */
  | { readonly kind: 'refuse'; readonly message: string }
  /** Delete the copy, once a live read has confirmed the cause. */
  | { readonly kind: 'remove'; readonly cause: 'source-gone' | 'unneeded'; readonly plan: Plan };

/** Decides the next step. `now` is in ms. */
export function planFollow(state: FollowState, now: number): FollowStep {
  const { kind, needed, source, copy } = state;
  // What is found by what it says is not known to be unneeded before it was read; what pods name is needed by their word alone.
  if (source === 'unknown' && (needed !== false || kind.need.kind !== 'named')) return { kind: 'no-change' };
  if (needed === true && typeof source === 'object') return planPresence(state, source);
  if (needed === 'unknown' && source !== undefined) return { kind: 'no-change' };
  if (copy === undefined) return { kind: 'no-change' };
  return source === undefined ? { kind: 'remove', cause: 'source-gone', plan: deletion(kind, copy) } : planRemoval(state, copy, now);
}

function planPresence(state: FollowState, source: SourceObject): FollowStep {
  const { copy } = state;
  if (source.refusal !== undefined) return { kind: 'refuse', message: source.refusal };
  if (copy === undefined || copy.parentUid !== source.uid) return { kind: 'copy' };
  return copy.digest === source.digest || isAccepted(state, copy, source) ? { kind: 'no-change' } : { kind: 'copy' };
}

/** The target's webhooks changed what we wrote: writing it again would go on for ever. */
function isAccepted({ accepted }: FollowState, copy: CopyObject, source: SourceObject): boolean {
  return accepted?.desired === source.digest && accepted.stored === copy.digest;
}

function planRemoval({ kind, unneededSince }: FollowState, copy: CopyObject, now: number): FollowStep {
  const ms = unneededSince + kind.lingerMs - now;
  return ms > 0 ? { kind: 'wait', ms } : { kind: 'remove', cause: 'unneeded', plan: deletion(kind, copy) };
}

function deletion({ type }: FollowedKind, { key, uid }: CopyObject): Plan {
  const [namespace = '', name = ''] = key.split('/');
  return [{ kind: 'delete', type, at: { namespace, name }, preconditions: { uid }, propagation: 'Background' }];
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
    leadsTo: need.kind === 'leads-to' ? need.paths.flatMap((path) => valuesAt(object, path).filter((name) => typeof name === 'string')) : [],
    refusal: kind.refuse?.(object),
    annotationModes: MARKINGS.filter((annotationMode) => planFollowAnnotations(kind, object, annotationMode).length === 0),
  };
}

/** The writes after which an object of the source is marked so. */
export function planFollowAnnotations(kind: FollowedKind, object: KubernetesObject, annotationMode: AnnotationMode): Plan {
  if (Object.keys(kind.sourceAnnotations).length === 0) return NOTHING;
  const annotations = annotationMode === 'unmarked' ? ownAnnotations(object) : missingAnnotations(kind, object);
  const selector = kind.need.kind === 'selects' ? selectorMarks(object, annotationMode === 'rewritten') : {};
  const changed = { ...annotations, ...selector.annotations };
  if (Object.keys(changed).length === 0 && selector.spec === undefined) return NOTHING;
  const { namespace, name = '', uid, resourceVersion } = object.metadata;
  const patch = { metadata: { uid, resourceVersion, annotations: changed }, ...(selector.spec && { spec: selector.spec }) };
  const command: Command = { kind: 'patch', type: kind.type, at: { namespace, name }, patchType: 'merge', patch };
  return [command];
}

type Changes = Readonly<Record<string, string | null>>;

/** Marks to add. Those that the user gave before are not ours, and are not taken away later. */
function missingAnnotations({ sourceAnnotations }: FollowedKind, { metadata: { annotations = {} } }: KubernetesObject): Changes {
  const missing = Object.entries(sourceAnnotations).filter(([key, value]) => annotations[key] !== value);
  const ours = new Set([...(annotations[FOLLOW_MARKS_ANNOTATION]?.split(',') ?? []), ...missing.map(([key]) => key)].filter((key) => key !== ''));
  if (missing.length === 0 && annotations[FOLLOW_MARKS_ANNOTATION] !== undefined) return {};
  return { ...Object.fromEntries(missing), [FOLLOW_MARKS_ANNOTATION]: [...ours].join(',') };
}

function ownAnnotations({ metadata: { annotations = {} } }: KubernetesObject): Changes {
  const ours = annotations[FOLLOW_MARKS_ANNOTATION];
  if (ours === undefined) return {};
  return Object.fromEntries([...ours.split(',').filter((key) => key !== ''), FOLLOW_MARKS_ANNOTATION].map((key) => [key, null]));
}

interface SelectorMarks {
  readonly annotations?: Changes;
  readonly spec?: { readonly selector: Changes };
}

function selectorMarks(object: Service, isRewritten: boolean): SelectorMarks {
  const saved = object.metadata.annotations?.[ORIGINAL_SELECTOR_ANNOTATION];
  if (!isRewritten && saved === undefined) return {};
  const original = originalSelector(object);
  const current = object.spec?.selector ?? {};
  const wanted = isRewritten ? rewrittenSelector(object) : original;
  const text = isRewritten ? formatSelector(original) : null;
  return {
    ...((saved ?? null) !== text && { annotations: { [ORIGINAL_SELECTOR_ANNOTATION]: text } }),
    ...(!isSame(current, wanted) && { spec: { selector: { ...Object.fromEntries(Object.keys(current).map((key) => [key, null])), ...wanted } } }),
  };
}
