// `isthmus gateway rotate-key`: rotates the key of a cluster's pod plane while streams continue.
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
    .description(
      'rotate the key of the pod plane of this cluster: announced to all members first, then used; streams continue',
    )
    .action((flags: ClusterFlags) => withCluster(
      flags, async (client, signal) => console.log(await rotateKey(client, flags.namespace, signal)),
    ));
}

/**
 * Begins a rotation. Throws AppError `NotFound` without a pod plane, `Conflict` while another rotation is in progress.
 */
export async function rotateKey(client: ClusterClient, namespace: string, signal: AbortSignal): Promise<string> {
  const at = { namespace, name: PLANE_KEY_SECRET };
  const secret = await client.get(SECRETS, at, signal).catch(unless(isNotFound));
  const now = client.transport.clock.now(); // that of this machine may be off
  const keys = secret && readPlaneKeys(secret.data ?? {}, now);
  if (secret === undefined || keys === undefined) throw new AppError(
    'NotFound',
    `There is no key in Secret ${namespace}/${PLANE_KEY_SECRET}: the pod plane of this cluster has not run yet ` +
      '("isthmus gateway node").',
  );
  const data = beginRotation(secret.data ?? {}, newPrivateKey(), now);
  if (data === undefined) throw new AppError('StillInUse', 'The key is being changed already; try again in a minute.');
  await client.patch(
    SECRETS, at,
    { patchType: 'merge', patch: { metadata: { resourceVersion: secret.metadata.resourceVersion }, data } }, signal,
  );
  return `The next key is announced now, and used in ${SPREAD_MS / 1_000} s.`;
}
