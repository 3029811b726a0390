// The Secret with the webhook's certificates and path, which all replicas share. Every write carries the
// resourceVersion that it was decided on, so that replicas do not undo each other.
import type { Logger } from 'pino';
import type { Secret, StringMap } from '../../api/objects/core.ts';
import { WEBHOOK_CERTIFICATES_SECRET } from '../../api/objects/own-names.ts';
import { SECRETS } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { isAlreadyExists, isConflict, isForbidden, isNotFound } from '../../kubernetes/flow/api-error.ts';
import type { ConnectionState } from '../../kubernetes/watch/informer.ts';
import { KEY_NAMESPACE_REMEDY, keyNamespace } from '../../model/access/key-namespace.ts';
import { PART_OF } from '../../model/access/rbac-objects.ts';
import { AppError, messageOf } from '../../process/errors.ts';

/** Selects the Secret for an informer. */
export function keySecretSelection(
  installNamespace: string,
): { readonly namespace: string; readonly fieldSelector: string } {
  return { namespace: keyNamespace(installNamespace), fieldSelector: `metadata.name=${WEBHOOK_CERTIFICATES_SECRET}` };
}

/** New data, and the resourceVersion that it was decided on; empty when there was no Secret. */
export interface KeySecretChange {
  readonly data: StringMap;
  readonly resourceVersion: string;
}

/**
 * Writes the data; false when another replica was first, whose write the watch delivers.
 * @throws AppError `NotFound` when the namespace is missing; what the call throws.
 */
export async function writeKeySecret(
  { client, installNamespace }: { readonly client: ClusterClient; readonly installNamespace: string },
  { data, resourceVersion }: KeySecretChange, signal: AbortSignal,
): Promise<boolean> {
  const at = { namespace: keyNamespace(installNamespace), name: WEBHOOK_CERTIFICATES_SECRET };
  const secret = { metadata: { ...at, labels: PART_OF }, type: 'Opaque', data } as Secret;
  const written = resourceVersion === ''
    ? client.create(SECRETS, secret, signal)
    : client.patch(SECRETS, at, { patchType: 'merge', patch: { metadata: { resourceVersion }, data } }, signal);
  return written.then(() => true, (error: unknown) => {
    if (isConflict(error) || isAlreadyExists(error)) return false;
    if (!isNotFound(error) || resourceVersion !== '') throw error;
    throw new AppError(
      'NotFound', `This cluster has no namespace ${at.namespace}: ${KEY_NAMESPACE_REMEDY}.`, { cause: error },
    );
  });
}

/** Logs why the Secret cannot be watched. Where namespace or Role is missing, the API server answers 403. */
export function logUnreadable(installNamespace: string, logger: Logger): (state: ConnectionState) => void {
  return (state) => {
    if (state.kind !== 'broken' || !isForbidden(state.error)) return;
    const namespace = keyNamespace(installNamespace);
    logger.error(
      { namespace, error: messageOf(state.error), remedy: KEY_NAMESPACE_REMEDY }, 'the webhook has no permission to ' +
        'read its keys',
    );
  };
}
