// Whose an object is: a command changes and deletes only what Isthmus has made. Its mark is the label that everything of ours carries; what peering
// makes in a source says in addition for which target.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { PEERED_TARGET_ANNOTATION, PROVIDER_KEY, PROVIDER_VALUE } from '../../api/objects/keys.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { PART_OF } from '../../model/access/rbac-objects.ts';
import { targetKey, type TargetRef } from '../../model/naming/target-ref.ts';
import { AppError } from '../../process/errors.ts';
import { objectName, typeOf } from './apply-objects.ts';

/** Says whether a stored object is one that a command may change or delete. */
export type OwnedBy = (object: KubernetesObject) => boolean;

/** Whether Isthmus has made an object. */
export function isOfIsthmus({ metadata }: KubernetesObject): boolean {
  return Object.entries(PART_OF).every(([key, value]) => metadata.labels?.[key] === value);
}

/** Whether an object is a virtual node. */
export function isVirtualNode({ metadata }: KubernetesObject): boolean {
  return metadata.labels?.[PROVIDER_KEY] === PROVIDER_VALUE;
}

/** Whether peering has made an object for this target. What an earlier version made does not say for which. */
export function isOfTarget(target: TargetRef): OwnedBy {
  return (object) => isOfIsthmus(object) && (object.metadata.annotations?.[PEERED_TARGET_ANNOTATION] ?? targetKey(target)) === targetKey(target);
}

/** An object and where it is. */
export interface Place {
  readonly type: ResourceType;
  readonly at: { readonly namespace?: string | undefined; readonly name: string };
}

/** What became of an object that was to be removed: somebody else's is left as it is. */
export type Removal = 'removed' | 'absent' | 'foreign';

/** Removes this very object if it is there and ours. Throws what the calls throw, other than that it is not there. */
export async function removeOwn(client: ClusterClient, { type, at }: Place, isOwn: OwnedBy, signal?: AbortSignal): Promise<Removal> {
  const found = await client.get(type, at, signal).catch(unless(isNotFound));
  if (found === undefined) return 'absent';
  if (!isOwn(found)) return 'foreign';
  const { uid = '' } = found.metadata;
  const isGone = await client.delete(type, at, { preconditions: { uid } }, signal).then(() => false, (error: unknown) => unless(isNotFound)(error) === undefined);
  return isGone ? 'absent' : 'removed';
}

/**
 * Looks, before anything is written, whether objects would be written over that somebody else has made.
 * @throws AppError `BadInput` that names them all and what to change; what reading throws.
 */
export async function requireOwn(client: ClusterClient, objects: readonly KubernetesObject[], isOwn: OwnedBy, { remedy, signal }: { readonly remedy: string; readonly signal: AbortSignal }): Promise<void> {
  const foreign: string[] = [];
  for (const object of objects) {
    const { namespace, name = '' } = object.metadata;
    const found = await client.get(typeOf(object), { namespace, name }, signal).catch(unless(isNotFound));
    if (found !== undefined && !isOwn(found)) foreign.push(objectName(object));
  }
  if (foreign.length === 0) return;
  throw new AppError('BadInput', `Isthmus has not made ${foreign.join(', ')} and would write over ${foreign.length === 1 ? 'it' : 'them'}. ${remedy} Nothing was changed.`);
}
