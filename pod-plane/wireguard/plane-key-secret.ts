// The key of this cluster's pod plane in its Secret: made when there is none, and changed in steps that are written down before they are taken.
import type { Secret } from '../../api/objects/core.ts';
import { SECRETS } from '../../api/resource-types.ts';
import { isAlreadyExists, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { PLANE_KEY_SECRET, readPlaneKeys, toPlaneKeySecret, type PlaneKeys } from '../plan/plane-keys.ts';
import { newPrivateKey } from './make-wireguard-key.ts';

/** The keys to use now, from the Secret as it is known. `client` is fenced: the gateway alone writes. Throws an Error when the Secret holds no key. */
export async function keepPlaneKeys(client: ClusterClient, namespace: string, known: Secret | undefined): Promise<PlaneKeys> {
  const at = { namespace, name: PLANE_KEY_SECRET };
  const secret = known ?? (await client.create(SECRETS, toPlaneKeySecret(namespace, newPrivateKey())).catch(unless(isAlreadyExists))) ?? (await client.get(SECRETS, at));
  const keys = readPlaneKeys(secret.data ?? {}, Date.now());
  if (keys === undefined) throw new Error(`Secret ${namespace}/${PLANE_KEY_SECRET} holds no key of WireGuard under private-key; delete it, and another one is made`);
  if (keys.next !== undefined) await client.patch(SECRETS, at, { patchType: 'merge', patch: { metadata: { resourceVersion: secret.metadata.resourceVersion }, data: keys.next } });
  return keys;
}
