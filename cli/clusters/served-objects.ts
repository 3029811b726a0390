// What a cluster may not have: kinds that it does not serve where Isthmus is not installed, and objects by their names.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import type { ClusterClient, Selection } from '../../kubernetes/client/cluster-client.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import { AppError } from '../../process/errors.ts';

/** All objects of a kind; none in a cluster that does not serve it. Throws what {@link ClusterClient.list} throws. */
export async function listIfServed<T extends KubernetesObject>(
  client: ClusterClient, type: ResourceType<T>, signal: AbortSignal, selection: Selection = {},
): Promise<readonly T[]> {
  return (await client.list(type, selection, signal).catch(unless(isNotFound))) ?? [];
}

/** Handles the rejection of a call: throws AppError `NotFound` with this message where nothing is there. */
export function orNotFound(message: string): (error: unknown) => never {
  return (error) => {
    throw isNotFound(error) ? new AppError('NotFound', message, { cause: error }) : error;
  };
}
