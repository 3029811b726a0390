// The key that decrypts what a joining source is granted, stored in the source until it has joined. An interrupted join
// can be resumed with the same or another token, because the key proves who was admitted.
import type { Secret } from '../../api/objects/core.ts';
import { SECRETS } from '../../api/resource-types.ts';
import { isAlreadyExists, isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { PART_OF } from '../../model/access/rbac-objects.ts';
import { joiningSecretName, type Peering } from '../../peering/access/target-access.ts';
import { AppError } from '../../process/errors.ts';
import { createReceiver, restoreReceiver, type Receiver } from '../../process/crypto/sealed-message.ts';
import { isOfIsthmus, removeOwn } from '../clusters/own-objects.ts';

/** The key of a peering, and whether it was made just now: nobody can have been admitted by it before. */
export interface JoinKey {
  readonly receiver: Receiver;
  readonly isNew: boolean;
}

/**
 * The key of this peering from its Secret in the source; creates it when missing. Throws AppError `BadInput` when the
 * Secret holds no key.
 */
export async function storedJoinKey(client: ClusterClient, peering: Peering, signal: AbortSignal): Promise<JoinKey> {
  const at = joiningSecret(peering);
  const found = await client.get(SECRETS, at, signal).catch(unless(isNotFound));
  if (found === undefined) return newReceiver(client, peering, signal);
  if (!isOfIsthmus(found)) throw new AppError(
    'BadInput',
    `Secret ${at.namespace}/${at.name} was not created by Isthmus, which keeps a key under this name while a source ` +
      'joins. Choose another --name, or rename it.',
  );
  const receiver = await restoreReceiver(Buffer.from(found.data?.['key'] ?? '', 'base64').toString('utf8'));
  if (receiver !== undefined) return { receiver, isNew: false };
  throw new AppError(
    'BadInput', `Secret ${at.namespace}/${at.name} has no key to continue joining with; delete it and try again.`,
  );
}

async function newReceiver(client: ClusterClient, peering: Peering, signal: AbortSignal): Promise<JoinKey> {
  const receiver = await createReceiver();
  const data = { key: Buffer.from(receiver.privateKey, 'utf8').toString('base64') };
  const secret: Secret = { metadata: { ...joiningSecret(peering), labels: PART_OF }, type: 'Opaque', data };
  try {
    await client.create(SECRETS, secret, signal);
    return { receiver, isNew: true };
  } catch (error) {
    if (isAlreadyExists(error)) return storedJoinKey(client, peering, signal); // somebody else joins concurrently
    if (isNotFound(error)) throw new AppError(
      'NotFound',
      `This cluster has no namespace ${secret.metadata.namespace}: create it, or run "isthmus install" here first.`,
      { cause: error },
    );
    throw error;
  }
}

/** Deletes the key after joining, or where nobody was admitted by it, so that no command can resume with it. */
export async function deleteJoinKey(client: ClusterClient, peering: Peering, signal: AbortSignal): Promise<void> {
  await removeOwn(client, { type: SECRETS, at: joiningSecret(peering) }, isOfIsthmus, signal);
}

function joiningSecret(peering: Peering): { readonly namespace: string; readonly name: string } {
  return { namespace: peering.namespace ?? peering.installNamespace, name: joiningSecretName(peering) };
}
