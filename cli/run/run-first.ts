// `isthmus run --install --join`: installs and joins targets before starting, so that one command makes a cluster a
// source or a target.
import type { Logger } from 'pino';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { CLUSTER_TARGETS, TARGETS } from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { toInvitationData } from '../../peering/invitation/join-decision.ts';
import { unverifiedData } from '../../process/crypto/signed-token.ts';
import type { Progress } from '../clusters/apply-objects.ts';
import { installInto, installOptions } from '../install/install.ts';
import { keepWebhookUrl } from '../install/webhook-address.ts';
import { joinTarget } from '../join/join.ts';
import { outcomeText } from '../join/peer.ts';
import { untilTargetReady } from '../clusters/target-readiness.ts';

/** The flags that concern the installation. */
export interface InstallFirst {
  readonly namespace: string;
  readonly webhookUrl?: string;
}

/** Installs, with one log line. Throws what {@link installInto} throws. */
export async function installFirst(
  client: ClusterClient, { namespace, webhookUrl }: InstallFirst, logger: Logger, signal: AbortSignal,
): Promise<void> {
  const progress = { tell: (line: string) => logger.debug(line), signal };
  const options = await keepWebhookUrl(client, installOptions({ namespace, webhookUrl }), progress);
  await installInto(client, options, progress);
  logger.info({ namespace }, 'installed');
}

/** Which targets to join. */
export interface TargetsToJoin {
  readonly client: ClusterClient;
  readonly namespace: string;
  readonly tokens: readonly string[];
}

/**
 * Joins in order; targets that were joined in an earlier run are skipped. Throws what {@link joinTarget} throws, so
 * that the reason is visible.
 */
export async function joinTargets(
  { client, namespace, tokens }: TargetsToJoin, logger: Logger, signal: AbortSignal,
): Promise<void> {
  const progress: Progress = { tell: (line) => logger.info(line), signal };
  for (const token of tokens) {
    if (await isJoined(client, token, signal)) continue;
    const peering = await joinTarget({ client, token, installNamespace: namespace }, progress);
    progress.tell(outcomeText(peering, await untilTargetReady(client, peering, signal)));
  }
}

async function isJoined(client: ClusterClient, token: string, signal: AbortSignal): Promise<boolean> {
  const data = toInvitationData(unverifiedData(token) ?? {});
  if (data === undefined) return false; // joining reports the problem
  const { namespace, targetName: name } = data;
  const type: ResourceType = namespace === undefined ? CLUSTER_TARGETS : TARGETS;
  return (await client.get(type, { namespace, name }, signal).catch(unless(isNotFound))) !== undefined;
}
