// What `isthmus run` does on the way when it is asked to: install, and join targets. So a cluster becomes a source or a target by one command.
import type { Logger } from 'pino';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { CLUSTER_TARGETS, TARGETS } from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { toInvitationData } from '../../peering/invitation/join-verdict.ts';
import { unverifiedData } from '../../process/crypto/signed-token.ts';
import type { Progress } from '../clusters/apply-objects.ts';
import { installInto, installOptions } from '../install/install.ts';
import { joinTarget } from '../join/join.ts';
import { outcome } from '../join/peer.ts';
import { untilTargetReady } from '../clusters/target-readiness.ts';

/** The flags that concern the installation. */
export interface InstallFirst {
  readonly namespace: string;
  readonly webhookUrl?: string;
}

/** Installs, with a line of the log for the whole of it. Throws what {@link installInto} throws. */
export async function installFirst(client: ClusterClient, { namespace, webhookUrl }: InstallFirst, logger: Logger, signal: AbortSignal): Promise<void> {
  const options = installOptions({ namespace, webhookUrl });
  await installInto(client, options, { tell: (line) => logger.debug(line), signal });
  logger.info({ namespace }, 'installed');
}

/** Which targets to join. */
export interface TargetsToJoin {
  readonly client: ClusterClient;
  readonly namespace: string;
  readonly tokens: readonly string[];
}

/**
 * Joins one after the other; a target that is there already was joined when this process ran before. Throws what {@link joinTarget} throws, so
 * that whoever started the process sees why it ends.
 */
export async function joinTargets({ client, namespace, tokens }: TargetsToJoin, logger: Logger, signal: AbortSignal): Promise<void> {
  const progress: Progress = { tell: (line) => logger.info(line), signal };
  for (const token of tokens) {
    if (await isJoined(client, token, signal)) continue;
    const peering = await joinTarget({ client, token, installNamespace: namespace }, progress);
    progress.tell(outcome(peering, await untilTargetReady(client, peering, signal)));
  }
}

async function isJoined(client: ClusterClient, token: string, signal: AbortSignal): Promise<boolean> {
  const data = toInvitationData(unverifiedData(token) ?? {});
  if (data === undefined) return false; // joining says what is wrong with it
  const { namespace, targetName: name } = data;
  const type: ResourceType = namespace === undefined ? CLUSTER_TARGETS : TARGETS;
  return (await client.get(type, { namespace, name }, signal).catch(unless(isNotFound))) !== undefined;
}
