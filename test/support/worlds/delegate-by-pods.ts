// Has a peered target of a sandbox delegated to in Pod mode: the source's identity is let to write pods there, and the
// ClusterTarget says so.
import type { ClusterTarget } from '../../../api/kinds/cluster-target.ts';
import { DEFAULT_INSTALL_NAMESPACE } from '../../../api/objects/keys.ts';
import { CLUSTER_ROLE_BINDINGS, CLUSTER_TARGETS } from '../../../api/resource-types.ts';
import { pollUntil } from '../../../cli/clusters/poll-until.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { readClusterId } from '../../../kubernetes/client/cluster-id.ts';
import { SOURCE_POD_MODE_ROLE } from '../../../model/access/component-accounts.ts';
import { findCondition } from '../../../model/objects/conditions.ts';
import { clusterRoleBinding } from '../../../model/access/rbac-objects.ts';
import { sourceAccount } from '../../../peering/access/target-access.ts';
import { AppError } from '../../../process/errors.ts';

/** A source, and the target that it knows as the ClusterTarget `name`. */
export interface PodModePair {
  readonly source: ClusterClient;
  readonly target: ClusterClient;
  readonly name: string;
}

const POLLING = { forMs: 60_000, everyMs: 100 };

/** Resolves once the target is Ready in Pod mode. Throws AppError `StartFailed` when it does not become so. */
export async function delegateByPods({ source, target, name }: PodModePair, signal: AbortSignal): Promise<void> {
  const sourceId = await readClusterId(source, signal);
  const account = sourceAccount({ name, sourceId, installNamespace: DEFAULT_INSTALL_NAMESPACE });
  await target.apply(
    CLUSTER_ROLE_BINDINGS, clusterRoleBinding(`pod-mode-${name}`, SOURCE_POD_MODE_ROLE, [account]), 'isthmus-sandbox',
    signal,
  );
  await source.patch(CLUSTER_TARGETS, { name }, { patchType: 'merge', patch: { spec: { delegation: 'Pod' } } }, signal);
  const ready = async (): Promise<true | undefined> =>
    (isReady(await source.get(CLUSTER_TARGETS, { name }, signal)) ? true : undefined);
  if ((await pollUntil(ready, POLLING, signal)) === undefined) {
    throw new AppError('StartFailed', `Target ${name} did not become Ready in Pod mode.`);
  }
}

function isReady({ status }: ClusterTarget): boolean {
  return status?.delegation === 'Pod' && findCondition(status.conditions, 'Ready')?.status === 'True';
}
