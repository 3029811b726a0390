// `isthmus gateway rotate-key`: another key for the pod plane of a cluster, while streams go on.
import { Command } from 'commander';
import { SECRETS } from '../../api/resource-types.ts';
import { beginRotation, PLANE_KEY_SECRET, readPlaneKeys, SPREAD_MS } from '../../pod-plane/plan/plane-keys.ts';
import { newPrivateKey } from '../../pod-plane/wireguard/make-wireguard-key.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { AppError } from '../../process/errors.ts';
import { withCluster, withClusterOptions, type ClusterFlags } from './gateway-membership.ts';

/** The command for commander. */
export function gatewayRotateKeyCommand(): Command {
  return withClusterOptions(new Command('rotate-key'))
    .description('change the key of the pod plane of this cluster: told to all members first, then used; nothing that is under way ends')
    .action((flags: ClusterFlags) => withCluster(flags, async (client, signal) => console.log(await rotateKey(client, flags.namespace, signal))));
}

/** Begins a change. Throws AppError `NotFound` where there is no pod plane, `Conflict` while another change is under way. */
export async function rotateKey(client: ClusterClient, namespace: string, signal: AbortSignal): Promise<string> {
  const at = { namespace, name: PLANE_KEY_SECRET };
  const secret = await client.get(SECRETS, at, signal).catch(unless(isNotFound));
  const keys = secret && readPlaneKeys(secret.data ?? {}, Date.now());
  if (secret === undefined || keys === undefined) throw new AppError('NotFound', `There is no key in Secret ${namespace}/${PLANE_KEY_SECRET}: the pod plane of this cluster has not run yet ("isthmus gateway node").`);
  const data = beginRotation(secret.data ?? {}, newPrivateKey(), Date.now());
  if (data === undefined) throw new AppError('StillInUse', 'The key is being changed already; try again in a minute.');
  await client.patch(SECRETS, at, { patchType: 'merge', patch: { metadata: { resourceVersion: secret.metadata.resourceVersion }, data } }, signal);
  return `The next key is announced now, and used in ${SPREAD_MS / 1_000} s.`;
}
