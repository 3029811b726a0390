// The key by which a joining source reads what it is granted, kept in the source until it has joined: joining that was broken off goes on, with the
// same token or another, for what was granted meanwhile can still be read, and who has the key proves to be the one who was let in.
import type { Secret } from '../../api/objects/core.ts';
import { SECRETS } from '../../api/resource-types.ts';
import { isAlreadyExists, isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { PART_OF } from '../../model/access/rbac-objects.ts';
import { joiningSecretName, type Peering } from '../../peering/access/target-access.ts';
import { AppError } from '../../process/errors.ts';
import { createReceiver, restoreReceiver, type Receiver } from '../../process/crypto/sealed-message.ts';
import { isOfIsthmus, removeOwn } from '../clusters/own-objects.ts';

/** The receiver of this peering, from the Secret of the source that keeps it; a new one is written there first. Throws AppError `BadInput` when it holds no key. */
export async function storedJoinKey(client: ClusterClient, peering: Peering, signal: AbortSignal): Promise<Receiver> {
  const at = joiningSecret(peering);
  const found = await client.get(SECRETS, at, signal).catch(unless(isNotFound));
  if (found === undefined) return newReceiver(client, peering, signal);
  if (!isOfIsthmus(found)) throw new AppError('BadInput', `Secret ${at.namespace}/${at.name} is not of Isthmus, which keeps a key under this name while a source joins. Choose another --name, or rename it.`);
  const receiver = await restoreReceiver(Buffer.from(found.data?.['key'] ?? '', 'base64').toString('utf8'));
  if (receiver !== undefined) return receiver;
  throw new AppError('BadInput', `Secret ${at.namespace}/${at.name} holds no key to go on joining with; delete it and try again.`);
}

async function newReceiver(client: ClusterClient, peering: Peering, signal: AbortSignal): Promise<Receiver> {
  const receiver = await createReceiver();
  const data = { key: Buffer.from(receiver.privateKey, 'utf8').toString('base64') };
  const secret: Secret = { metadata: { ...joiningSecret(peering), labels: PART_OF }, type: 'Opaque', data };
  try {
    await client.create(SECRETS, secret, signal);
    return receiver;
  } catch (error) {
    if (isAlreadyExists(error)) return storedJoinKey(client, peering, signal); // somebody joins at the same time
    if (isNotFound(error)) throw new AppError('NotFound', `This cluster has no namespace ${secret.metadata.namespace}: create it, or run "isthmus install" here first.`, { cause: error });
    throw error;
  }
}

/** For when all is done: nobody can go on with it any more. */
export async function deleteJoinKey(client: ClusterClient, peering: Peering, signal: AbortSignal): Promise<void> {
  await removeOwn(client, { type: SECRETS, at: joiningSecret(peering) }, isOfIsthmus, signal);
}

function joiningSecret(peering: Peering): { readonly namespace: string; readonly name: string } {
  return { namespace: peering.namespace ?? peering.installNamespace, name: joiningSecretName(peering) };
}
