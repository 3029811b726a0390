// The copy of a followed object in a target: its contents, how it is recognized, and the writes that update it. A copy
// belongs to this source when its parent is in this cluster and has its name. Nothing else is ever changed or deleted.
import type { KubernetesObject, ObjectMeta, StringMap } from '../../api/objects/core.ts';
import {
  COPY_DIGEST_ANNOTATION, COPY_VERSION_ANNOTATION, FOLLOWED_KEYS_ANNOTATION,
  ADMIRALTY_PREFIX, PARENT_CLUSTER_LABEL, PARENT_NAME_ANNOTATION, PARENT_NAMESPACE_ANNOTATION, PARENT_UID_LABEL,
} from '../../api/objects/keys.ts';
import { apiVersionOf } from '../../api/resource-types.ts';
import { contentDigest } from '../../model/objects/canonical-json.ts';
import { valuesAt, withoutField } from '../../model/objects/field-path.ts';
import { isRecord, parsedRecord, textsIn } from '../../model/objects/json-values.ts';
import type { Command } from '../../model/objects/plan.ts';
import type { FollowedKind } from './followed-kinds.ts';

/** kubectl's record of what was applied in the source; for a Secret it would repeat the contents. */
const LAST_APPLIED_ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';
/** Annotations that are not copied. */
const NEVER_COPIED: readonly string[] = [
  LAST_APPLIED_ANNOTATION,
  // A copy's own.
  COPY_VERSION_ANNOTATION, COPY_DIGEST_ANNOTATION,
  // Argo CD's tracking: it would adopt the copy where the target has an application of the same name, and prune it.
  'argocd.argoproj.io/tracking-id', 'argocd.argoproj.io/installation-id',
];

/** The copy that a target should have of an object of the cluster `clusterId`. */
export function toCopy(kind: FollowedKind, object: KubernetesObject, clusterId: string): KubernetesObject {
  const { namespace, name = '', uid = '', labels = {}, annotations = {} } = object.metadata;
  const copied = { labels: foreignEntries(labels), annotations: copiedAnnotations(kind, annotations) };
  const metadata: ObjectMeta = {
    ...(namespace !== undefined && { namespace }),
    name,
    labels: { ...copied.labels, [PARENT_UID_LABEL]: uid, [PARENT_CLUSTER_LABEL]: clusterId },
    annotations: {
      ...copied.annotations,
      ...kind.sourceAnnotations,
      ...kind.copyAnnotations,
      [PARENT_NAME_ANNOTATION]: name,
      [PARENT_NAMESPACE_ANNOTATION]: namespace ?? '',
      [FOLLOWED_KEYS_ANNOTATION]:
        JSON.stringify({ labels: Object.keys(copied.labels), annotations: Object.keys(copied.annotations) }),
    },
  };
  return {
    apiVersion: apiVersionOf(kind.type), kind: kind.type.kind, metadata,
    ...copiedFieldsOf(kind, kind.rewrite?.(object) ?? object),
  };
}

/**
 * The copy of an object that is not read in targets. It names the version of the source object, and has a digest of the
 * contents at the time of the write. Anybody who can read the digest can read the contents.
 */
export function toReportedCopy(kind: FollowedKind, object: KubernetesObject, clusterId: string): KubernetesObject {
  const copy = toCopy(kind, object, clusterId);
  const annotations = {
    ...copy.metadata.annotations, [COPY_VERSION_ANNOTATION]: object.metadata.resourceVersion ?? '',
    [COPY_DIGEST_ANNOTATION]: copyDigest(kind, copy),
  };
  return { ...copy, metadata: { ...copy.metadata, annotations } };
}

function copiedAnnotations({ sourceAnnotations }: FollowedKind, annotations: StringMap): StringMap {
  return Object.fromEntries(Object.entries(foreignEntries(annotations)).filter(
    ([key]) => !NEVER_COPIED.includes(key) && !Object.hasOwn(sourceAnnotations, key),
  ));
}

function foreignEntries(entries: StringMap): StringMap {
  return Object.fromEntries(Object.entries(entries).filter(([key]) => !key.startsWith(ADMIRALTY_PREFIX)));
}

/** The fields that are copied, without those that each cluster allocates itself. */
function copiedFieldsOf(kind: FollowedKind, object: KubernetesObject): Readonly<Record<string, unknown>> {
  const all: Readonly<Record<string, unknown>> = { ...object };
  let fields: Record<string, unknown> = {};
  for (const field of kind.copiedFields) if (all[field] !== undefined) fields[field] = all[field];
  for (const { path, unless } of kind.clusterLocalFields) {
    if (unless === undefined || valuesAt(fields, path)[0] !== unless) fields = withoutField(fields, path);
  }
  return fields;
}

/** A digest of a copy's contents, without labels and annotations that others set. */
export function copyDigest(kind: FollowedKind, copy: KubernetesObject): string {
  const { labels = {}, annotations = {} } = copy.metadata;
  const keys = followedKeys(annotations);
  return contentDigest({
    labels: picked(labels, [...keys.labels, PARENT_UID_LABEL]),
    annotations: picked(annotations, [
      ...keys.annotations, ...Object.keys(kind.sourceAnnotations), ...Object.keys(kind.copyAnnotations),
      FOLLOWED_KEYS_ANNOTATION,
    ]),
    fields: copiedFieldsOf(kind, copy),
  });
}

function picked(entries: StringMap, keys: readonly string[]): Readonly<Record<string, string | null>> {
  return Object.fromEntries(keys.map((key) => [key, entries[key] ?? null]));
}

interface FollowedKeys {
  readonly labels: readonly string[];
  readonly annotations: readonly string[];
}

/** What a copy's annotation says about it; untrusted, because others in the target may have written it. */
function followedKeys(annotations: StringMap): FollowedKeys {
  const keys = parsedRecord(annotations[FOLLOWED_KEYS_ANNOTATION] ?? '');
  return { labels: textsIn(keys['labels']), annotations: textsIn(keys['annotations']) };
}

/** Whether the source `clusterId` made this object of a target for its own object of that name. */
export function isCopyOf(copy: KubernetesObject, clusterId: string): boolean {
  const { namespace = '', name, labels = {}, annotations = {} } = copy.metadata;
  return labels[PARENT_CLUSTER_LABEL] === clusterId && annotations[PARENT_NAME_ANNOTATION] === name
    && annotations[PARENT_NAMESPACE_ANNOTATION] === namespace;
}

/**
 * How a copy gets to a target: by this write, not at all, or only once an object of the same name is gone, which is not
 * ours, or is a copy that no write can change into this one.
 */
export type CopyStep = { readonly kind: 'write'; readonly command: Command }
  | { readonly kind: 'equal' | 'foreign' | 'unchangeable' };

/**
 * Decides the write. `source` and `existing` are from uncached reads; `existing` is the target's object of that name.
 */
export function planCopy(
  kind: FollowedKind, source: KubernetesObject, existing: KubernetesObject | undefined, clusterId: string,
): CopyStep {
  const desired = toCopy(kind, source, clusterId);
  if (existing === undefined) return { kind: 'write', command: { kind: 'create', type: kind.type, object: desired } };
  if (!isCopyOf(existing, clusterId)) return { kind: 'foreign' };
  if (copyDigest(kind, existing) === copyDigest(kind, desired)) return { kind: 'equal' };
  if (keepsItsOwn(kind, existing, desired)) return { kind: 'unchangeable' };
  const { namespace, name = '', uid, resourceVersion } = existing.metadata;
  const patch = {
    ...fieldsPatch(kind, existing, desired),
    metadata: { uid, resourceVersion, ...metadataPatch(existing.metadata, desired.metadata) },
  };
  return {
    kind: 'write', command: { kind: 'patch', type: kind.type, at: { namespace, name }, patchType: 'merge', patch },
  };
}

/**
 * Whether the copy still has a value that the user has since removed, such as `clusterIP: None`. API servers allocate
 * none on an update.
 */
function keepsItsOwn(
  { clusterLocalFields }: FollowedKind, existing: KubernetesObject, desired: KubernetesObject,
): boolean {
  return clusterLocalFields.some(({ path, unless }) =>
    unless !== undefined && valuesAt(existing, path)[0] === unless && valuesAt(desired, path)[0] === undefined);
}

function metadataPatch(existing: ObjectMeta, desired: ObjectMeta): {
  readonly labels: object; readonly annotations: object
} {
  const before = followedKeys(existing.annotations ?? {});
  return {
    labels: { ...nulls(before.labels), ...desired.labels },
    annotations: { ...nulls(before.annotations), ...desired.annotations },
  };
}

function nulls(keys: readonly string[]): Readonly<Record<string, null>> {
  return Object.fromEntries(keys.map((key) => [key, null]));
}

function fieldsPatch(kind: FollowedKind, existing: KubernetesObject, desired: KubernetesObject): object {
  const patch = mergePatchBetween(copiedFieldsOf(kind, existing), copiedFieldsOf(kind, desired));
  return isRecord(patch) ? patch : {};
}

/**
 * The merge patch (RFC 7386) from `before` to `after`; lists are replaced as a whole. Undefined when both are equal.
 */
export function mergePatchBetween(before: unknown, after: unknown): unknown {
  if (!isRecord(before) || !isRecord(after)) return contentDigest(before) === contentDigest(after) ? undefined : after;
  const changes = [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((field) => {
    const change = Object.hasOwn(after, field) ? mergePatchBetween(ownIn(before, field), after[field]) : null;
    return change === undefined ? [] : [[field, change] as const];
  });
  return changes.length === 0 ? undefined : Object.fromEntries(changes);
}

/** A key may have the name of what every object inherits, such as `constructor`. */
function ownIn(object: Readonly<Record<string, unknown>>, field: string): unknown {
  return Object.hasOwn(object, field) ? object[field] : undefined;
}
