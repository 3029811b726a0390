// `isthmus join`: the source's administrator redeems an invitation. Only the target's token and CA come from it; the
// grant is decrypted with a key that never leaves the source.
import { Command } from 'commander';
import {
  joinRequestNames, MAX_JOIN_REQUESTS, type JoinRequest, type JoinRequestStatus,
} from '../../api/kinds/invitation.ts';
import { CLUSTER_TARGETS, JOIN_REQUESTS } from '../../api/resource-types.ts';
import { isAlreadyExists, isUnauthorized, UnreachableError } from '../../kubernetes/flow/api-error.ts';
import { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { GatewayRoute } from '../../kubernetes/connect/gateway-dialer.ts';
import { readKubeconfig } from '../../kubernetes/credentials/kubeconfig.ts';
import { userAgent } from '../../kubernetes/client/open-cluster.ts';
import { targetRefOf } from '../../model/naming/target-ref.ts';
import { readClusterId } from '../../kubernetes/client/cluster-id.ts';
import { Transport } from '../../kubernetes/http/transport.ts';
import { joinKeyOf, toInvitationData, type InvitationData } from '../../peering/invitation/join-decision.ts';
import {
  parseGrant, sourceSideManifests, targetKubeconfig, type GrantedAccess, type Peering,
} from '../../peering/access/target-access.ts';
import { AppError } from '../../process/errors.ts';
import { failureText } from '../output/error-text.ts';
import type { Receiver } from '../../process/crypto/sealed-message.ts';
import { unverifiedData } from '../../process/crypto/signed-token.ts';
import { applyObjects, type Progress } from '../clusters/apply-objects.ts';
import { withCluster, withClusterFlags, withInstallNamespace, type ClusterFlags } from '../clusters/cluster-flags.ts';
import { pollUntil } from '../clusters/poll-until.ts';
import { gatewayRoute, podPlaneCluster, withGatewayRoute, type GatewayFlags } from '../clusters/gateway-route.ts';
import { ensureInstallNamespace } from '../install/install-namespace.ts';
import { deleteJoinKey, storedJoinKey } from './join-key.ts';
import { requireLabel } from '../output/object-names.ts';
import { isOfTarget, PEER_FIELD_MANAGER, requireOwn } from '../clusters/own-objects.ts';
import { outcomeText } from './peer.ts';
import { untilTargetReady } from '../clusters/target-readiness.ts';
import { orNotFound } from '../clusters/served-objects.ts';

/** Timeout and polling interval for a response in ms; with an approval, until the token has expired. */
const ANSWER = { forMs: 60_000, everyMs: 200 };
const APPROVAL = { forMs: 16 * 60_000, everyMs: 1_000 };

interface JoinFlags extends ClusterFlags, GatewayFlags {
  readonly name?: string;
  readonly installNamespace: string;
}

/** The command for commander. */
export function joinCommand(): Command {
  const command = withGatewayRoute(new Command('join'))
    .description('Become a source of the cluster that issued the token ("isthmus invite"). Run it in the source.')
    .argument('<token>', 'what "isthmus invite" printed');
  return withInstallNamespace(
    withClusterFlags(command).option('--name <name>', 'name for the target; default: the name in the invitation'),
  )
    .action(runJoin);
}

async function runJoin(token: string, flags: JoinFlags): Promise<void> {
  if (flags.name !== undefined) requireLabel('--name', flags.name);
  requireLabel('--install-namespace', flags.installNamespace);
  const member = { podPlaneCluster: podPlaneCluster(flags), route: gatewayRoute(flags) };
  await withCluster(flags, 'join', async ({ client }, signal) => {
    const progress: Progress = { tell: (line) => console.log(line), signal };
    await joinTarget({ client, token, ...flags, ...member }, progress, async (peering) => {
      progress.tell('waiting for the target to become Ready');
      console.log(outcomeText(peering, await untilTargetReady(client, peering, signal)));
    });
  });
}

/** Who joins, and with what. */
export interface Joiner {
  /** Of the source. */
  readonly client: ClusterClient;
  readonly token: string;
  /** Of the source. */
  readonly installNamespace: string;
  /** Name of the target; the invitation's when missing. */
  readonly name?: string | undefined;
  /** The gateway of the source, when the target is not reached directly. */
  readonly route?: GatewayRoute | undefined;
  /** ID of the target in the clusterset, when its pods are reached over the pod plane. */
  readonly podPlaneCluster?: string | undefined;
}

/**
 * Redeems an invitation; returns the peering. An interrupted join is resumed with the same token or another one, until
 * `follow` is done.
 * @throws AppError `BadInput` for an invalid token, `InvitationRefused` with the target's reason, `NotFound` when
 * Isthmus is missing here, `KubeconfigRefused` when the token names a server that may not be used, `Timeout` when the
 * target does not respond.
 */
export async function joinTarget(
  joiner: Joiner, progress: Progress, follow: (peering: Peering) => Promise<void> = async () => undefined,
): Promise<Peering> {
  const { client, installNamespace } = joiner;
  const token = joiner.token.replaceAll(/\s/g, ''); // terminals and mails wrap it
  const { signal } = progress;
  const data = toInvitationData(unverifiedData(token) ?? {});
  if (data === undefined) throw new AppError('BadInput', 'This is not a complete token of "isthmus invite".');
  await client.listPage(CLUSTER_TARGETS, {}, { limit: 1 }, signal)
    .catch(orNotFound('This cluster does not serve the kinds of Isthmus: run "isthmus install" here first.'));
  const sourceId = await readClusterId(client, signal);
  const name = joiner.name ?? data.targetName;
  const member = { gatewayCluster: joiner.route?.clusterId, podPlaneCluster: joiner.podPlaneCluster };
  const peering: Peering = {
    name, sourceId, namespace: data.namespace, installNamespace, targetInstallNamespace: data.installNamespace,
    ...member,
  };
  const remedy = 'Choose another --name, or rename or delete what is there.';
  await requireOwn(client, sourceSideManifests(peering, ''), isOfTarget(targetRefOf(peering)), { remedy, signal });
  if (data.namespace === undefined) {
    await ensureInstallNamespace(client, installNamespace, PEER_FIELD_MANAGER, progress);
  }
  const { receiver, isNew } = await storedJoinKey(client, peering, signal);
  const refused = async (): Promise<void> => {
    if (isNew) await deleteJoinKey(client, peering, signal); // else an earlier command may have been let in by it
  };
  const granted = await askTarget(peering, { token, data, receiver, route: joiner.route, refused }, progress);
  const kubeconfig = targetKubeconfig(
    peering, { server: data.server, certificateAuthority: data.certificateAuthority, token: granted.token },
  );
  progress.tell(
    `the target granted a token until ${granted.expirationTimestamp}; it is renewed while Isthmus runs here`,
  );
  await applyObjects(client, sourceSideManifests(peering, kubeconfig), PEER_FIELD_MANAGER, progress);
  await follow(peering);
  await deleteJoinKey(client, peering, signal);
  return peering;
}

interface OpenInvitation {
  readonly token: string;
  readonly data: InvitationData;
  readonly receiver: Receiver;
  readonly route: GatewayRoute | undefined;
  /** Called where the target has refused. */
  readonly refused: () => Promise<void>;
}

async function askTarget(
  peering: Peering, { token, data, receiver, route, refused }: OpenInvitation, progress: Progress,
): Promise<Pick<GrantedAccess, 'token' | 'expirationTimestamp'>> {
  const { server, certificateAuthority, bearer, installNamespace: namespace } = data;
  const text = targetKubeconfig(peering, { server, certificateAuthority, token: bearer });
  const connection =
    { ...(await readKubeconfig({ text, author: 'tenant' })), ...(route !== undefined && { gateway: route }) };
  const target = new ClusterClient(new Transport(connection, userAgent('join')));
  try {
    const invitation = String(unverifiedData(token)?.['jti']);
    const spec =
      { invitation, token, clusterID: peering.sourceId, targetName: peering.name, publicKey: receiver.publicKey };
    progress.tell(`asking ${server} to join`);
    const stored = await request(target, namespace, spec, progress.signal);
    const status = await untilAnswered(target, { namespace, name: stored.metadata.name ?? '' }, progress);
    if (status.phase !== 'Accepted') {
      await refused();
      throw new AppError('InvitationRefused', `The target refuses (${status.reason}): ${status.message}.`);
    }
    const granted = await receiver.open(status.access ?? '').then(parseGrant, () => undefined);
    if (granted !== undefined) return granted;
    throw new AppError(
      'InvitationRefused',
      'The target has accepted, and its answer holds no token that this cluster can read. Update Isthmus there or ' +
        'here to the same version, and ask for another token.',
    );
  } catch (error) {
    throw explained(error, server);
  } finally {
    await target.transport.close();
  }
}

/** One request per token and key: the response to an earlier one counts, unless it was a rejection. */
async function request(
  target: ClusterClient, namespace: string, spec: JoinRequest['spec'], signal: AbortSignal,
): Promise<JoinRequest> {
  let refused: JoinRequest | undefined;
  for (const name of joinRequestNames(spec.invitation)) {
    try {
      return await target.create(JOIN_REQUESTS, { metadata: { namespace, name }, spec } as JoinRequest, signal);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    const before = await target.get<JoinRequest>(JOIN_REQUESTS, { namespace, name }, signal);
    if (joinKeyOf(before.spec.publicKey) !== joinKeyOf(spec.publicKey)) continue;
    if (before.status?.phase !== 'Refused') return before;
    refused = before;
  }
  if (refused !== undefined) return refused;
  throw new AppError(
    'InvitationRefused',
    `The invitation was used ${MAX_JOIN_REQUESTS} times, and not by this cluster. Ask for another token.`,
  );
}

async function untilAnswered(
  target: ClusterClient, at: { readonly namespace: string; readonly name: string }, { tell, signal }: Progress,
): Promise<JoinRequestStatus> {
  let pending: string | undefined;
  const look = async (): Promise<JoinRequestStatus | undefined> => {
    const { status } = await target.get<JoinRequest>(JOIN_REQUESTS, at, signal);
    if (status?.phase === 'Pending' && pending !== status.message) tell(`waiting: ${(pending = status.message)}`);
    return status === undefined || status.phase === 'Pending' ? undefined : status;
  };
  const answer = (await pollUntil(look, ANSWER, signal))
    ?? (pending === undefined ? undefined : await pollUntil(look, APPROVAL, signal));
  if (answer !== undefined) return answer;
  throw new AppError(
    'Timeout',
    pending
      ?? 'Nothing answered in the target: start Isthmus there ("isthmus run", with the component peering) and ' +
        'try again.',
  );
}

function explained(error: unknown, server: string): unknown {
  if (isUnauthorized(error)) {
    return new AppError(
      'InvitationRefused',
      'The target does not know this invitation any more: it was used, withdrawn, or has expired. Ask for another one.',
      { cause: error },
    );
  }
  if (!(error instanceof UnreachableError)) return error;
  return new AppError(
    'InvitationRefused',
    `${server} cannot be used as the token says: ${failureText(error)} Try again with the same token, or ask for ` +
      'another one with "--server" where that address is not reachable from here.',
    { cause: error },
  );
}
