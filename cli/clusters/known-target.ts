// Looks up a target named on the command line; an unknown name is an error that lists the existing ones.
import type { ResourceType } from '../../api/objects/group-version.ts';
import { CLUSTER_TARGETS, TARGETS } from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { objectKey } from '../../model/pod/pod.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import { AppError } from '../../process/errors.ts';
import { targetText } from './cluster-flags.ts';
import type { ObjectRef } from './own-objects.ts';
import { listIfServed } from './served-objects.ts';

/** The (Cluster)Target as an object of the source. */
export function targetObjectRef(target: TargetRef): ObjectRef {
  return target.kind === 'Target'
    ? { type: TARGETS, at: { namespace: target.namespace, name: target.name } }
    : { type: CLUSTER_TARGETS, at: { name: target.name } };
}

/** Throws AppError `NotFound` for a target that the source does not have. */
export async function requireTarget(client: ClusterClient, target: TargetRef, signal: AbortSignal): Promise<void> {
  const { type, at } = targetObjectRef(target);
  if ((await client.get(type, at, signal).catch(unless(isNotFound))) === undefined) {
    throw await noSuchTarget(client, target, signal);
  }
}

/** The error for an unknown name. */
export async function noSuchTarget(client: ClusterClient, target: TargetRef, signal: AbortSignal): Promise<AppError> {
  const lists = await Promise.all(
    [CLUSTER_TARGETS, TARGETS].map((type: ResourceType) => listIfServed(client, type, signal)),
  );
  const names = lists.flat().map(({ metadata }) => objectKey(metadata)).toSorted();
  const known = names.length === 0 ? 'This cluster has no targets.' : `Targets here: ${names.join(', ')}.`;
  return new AppError('NotFound', `There is no ${target.kind} ${targetText(target)} here. ${known}`);
}
