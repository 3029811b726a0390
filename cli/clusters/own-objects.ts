// Ownership of objects: a command changes and deletes only what Isthmus created, by its label; objects that peering
// created in a source also name their target.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { PEERED_TARGET_ANNOTATION, PROVIDER_KEY, PROVIDER_VALUE } from '../../api/objects/keys.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { isConflict, isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { PART_OF } from '../../model/access/rbac-objects.ts';
import { targetKey, type TargetRef } from '../../model/naming/target-ref.ts';
import { AppError } from '../../process/errors.ts';
import { batchesOf, objectName, typeOf } from './apply-objects.ts';

/** Field manager of what peering applies in a source. */
export const PEER_FIELD_MANAGER = 'isthmus-peer';

/** Whether a command may change or delete a stored object. */
export type OwnedBy = (object: KubernetesObject) => boolean;

/** Whether Isthmus created an object. */
export function isOfIsthmus({ metadata }: KubernetesObject): boolean {
  return Object.entries(PART_OF).every(([key, value]) => metadata.labels?.[key] === value);
}

/** Whether an object is a virtual node. */
export function isVirtualNode({ metadata }: KubernetesObject): boolean {
  return metadata.labels?.[PROVIDER_KEY] === PROVIDER_VALUE;
}

/** Whether peering created an object for this target. Objects of an earlier version do not name theirs. */
export function isOfTarget(target: TargetRef): OwnedBy {
  return (object) => isOfIsthmus(object) && (
    object.metadata.annotations?.[PEERED_TARGET_ANNOTATION] ?? targetKey(target)
  ) === targetKey(target);
}

/** Kind, namespace and name of an object. */
export interface ObjectRef {
  readonly type: ResourceType;
  readonly at: { readonly namespace?: string | undefined; readonly name: string };
}

/** Result of a removal: objects of others are left unchanged. */
export type Removal = 'removed' | 'absent' | 'foreign';

/** Deletes this object if it exists and is ours. Throws what the calls throw, except that it does not exist. */
export async function removeOwn(
  client: ClusterClient, { type, at }: ObjectRef, isOwn: OwnedBy, signal?: AbortSignal,
): Promise<Removal> {
  const found = await client.get(type, at, signal).catch(unless(isNotFound));
  if (found === undefined) return 'absent';
  if (!isOwn(found)) return 'foreign';
  const { uid = '' } = found.metadata;
  const isGone = await client.delete(type, at, { preconditions: { uid } }, signal)
    .then(() => false, (error: unknown) => unless(isNotFound)(error) === undefined);
  return isGone ? 'absent' : 'removed';
}

/** Conflicts after which an object is not tried again: admission of others may answer each write so. */
const MOST_CONFLICTS = 10;

/**
 * Removes these finalizers of an object as it was read, and none that others have added since; returns whether it had
 * any. Throws what the calls throw, except that it does not exist.
 */
export async function removeFinalizers(
  client: ClusterClient, { type, object }: { readonly type: ResourceType; readonly object: KubernetesObject },
  ours: ReadonlySet<string>, signal: AbortSignal,
): Promise<boolean> {
  const { namespace, name = '' } = object.metadata;
  let live: KubernetesObject | undefined = object;
  for (let left = MOST_CONFLICTS; live !== undefined; left -= 1) {
    const { resourceVersion, finalizers = [] }: KubernetesObject['metadata'] = live.metadata;
    const kept = finalizers.filter((finalizer) => !ours.has(finalizer));
    if (kept.length === finalizers.length) return false;
    const patch = { metadata: { resourceVersion, finalizers: kept.length === 0 ? null : kept } };
    const isStale = await client.patch(type, { namespace, name }, { patchType: 'merge', patch }, signal)
      .then(() => false, (error: unknown) => (
        (left > 0 && isConflict(error)) || unless(isNotFound)(error) === undefined
      ));
    if (!isStale) return true;
    live = await client.get(type, { namespace, name }, signal).catch(unless(isNotFound));
  }
  return false;
}

/**
 * Checks before any write whether objects of others would be overwritten.
 * @throws AppError `BadInput` that names them all and what to change; what reading throws.
 */
export async function requireOwn(
  client: ClusterClient, objects: readonly KubernetesObject[], isOwn: OwnedBy,
  { remedy, signal }: { readonly remedy: string; readonly signal: AbortSignal },
): Promise<void> {
  const foreign: string[] = [];
  for (const some of batchesOf(objects, () => true)) {
    const found = await Promise.all(some.map((object) => {
      const { namespace, name = '' } = object.metadata;
      return client.get(typeOf(object), { namespace, name }, signal).catch(unless(isNotFound));
    }));
    foreign.push(...some.flatMap((object, index) => {
      const one = found[index];
      return one === undefined || isOwn(one) ? [] : [objectName(object)];
    }));
  }
  if (foreign.length === 0) return;
  throw new AppError(
    'BadInput',
    `Isthmus did not create ${foreign.join(', ')} and would overwrite ${foreign.length === 1 ? 'it' : 'them'}. ` +
      `${remedy} Nothing was changed.`,
  );
}
