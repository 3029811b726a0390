// Deletes an object that an earlier version of this component made and that nothing uses any more.
import type { Logger } from 'pino';
import type { ResourceType } from '../../api/objects/group-version.ts';
import type { ClusterClient } from '../client/cluster-client.ts';
import { isForbidden, isNotFound } from '../flow/api-error.ts';
import { DONE, startController } from './controller.ts';

/** An object by its name. */
export interface FormerObject {
  readonly type: ResourceType;
  readonly namespace: string;
  readonly name: string;
}

/** Deletes it once; retried until the API server has answered. Without the right it stays, and a log line says so. */
export function deleteFormer(
  { client, logger }: { readonly client: ClusterClient; readonly logger: Logger },
  { type, namespace, name }: FormerObject, signal: AbortSignal,
): void {
  const at = { namespace, name };
  const reconcile = async () => {
    await client.delete(type, at, {}, signal).then(
      () => logger.info({ kind: type.kind, ...at }, 'an object of an earlier version is removed'),
      (error: unknown) => {
        if (isNotFound(error)) return;
        if (!isForbidden(error)) throw error;
        logger.warn({ kind: type.kind, ...at }, 'no permission to remove an object of an earlier version');
      },
    );
    return DONE;
  };
  startController({ name: 'former-objects', reconcile, concurrency: 1, logger }, signal).enqueue(name);
}
