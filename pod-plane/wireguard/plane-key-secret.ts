// The Secret with the key of this cluster's pod plane: created when missing, and rotated in steps that are recorded
// before they take effect.
import type { Secret } from '../../api/objects/core.ts';
import { SECRETS } from '../../api/resource-types.ts';
import { isAlreadyExists, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { PLANE_KEY_SECRET, readPlaneKeys, toPlaneKeySecret, type PlaneKeys } from '../plan/plane-keys.ts';
import { newPrivateKey } from './make-wireguard-key.ts';

/** The cached Secret, and whether all members can know of these keys. */
export interface KnownKeys {
  readonly secret: Secret | undefined;
  readonly isAnnounced: (publicKeys: readonly string[]) => boolean;
}

/**
 * The current keys. `client` is fenced: only the gateway writes. Throws an Error when the Secret holds no key.
 */
export async function keepPlaneKeys(
  client: ClusterClient, namespace: string, { secret: known, isAnnounced }: KnownKeys,
): Promise<PlaneKeys> {
  const at = { namespace, name: PLANE_KEY_SECRET };
  const secret = known
    ?? (await client.create(SECRETS, toPlaneKeySecret(namespace, newPrivateKey())).catch(unless(isAlreadyExists)))
    ?? (await client.get(SECRETS, at));
  const keys = readPlaneKeys(secret.data ?? {}, client.transport.clock.now(), isAnnounced);
  if (keys === undefined) throw new Error(
    `Secret ${namespace}/${PLANE_KEY_SECRET} holds no key of WireGuard under private-key; delete it, and another one ` +
      'is made',
  );
  if (keys.next !== undefined) await client.patch(SECRETS, at, {
    patchType: 'merge', patch: { metadata: { resourceVersion: secret.metadata.resourceVersion }, data: keys.next },
  });
  return keys;
}
