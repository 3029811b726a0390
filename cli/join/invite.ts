// `isthmus invite`: the target's administrator invites one source by a token that holds everything it needs.
import { randomBytes } from 'node:crypto';
import { Command } from 'commander';
import type { SourceGrants } from '../../api/kinds/cluster-source.ts';
import type { Secret } from '../../api/objects/core.ts';
import {
  DEFAULT_TOKEN_SECONDS, invitationAccount, joinRequestNames, type Invitation,
} from '../../api/kinds/invitation.ts';
import { INVITATION_KEY_SECRET } from '../../api/objects/own-names.ts';
import {
  INVITATIONS, NAMESPACES, ROLE_BINDINGS, ROLES, SECRETS, SERVICE_ACCOUNTS, apiVersionOf,
} from '../../api/resource-types.ts';
import { isAlreadyExists, isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { OpenCluster } from '../../kubernetes/client/open-cluster.ts';
import { requestToken } from '../../kubernetes/client/service-account-token.ts';
import { readClusterId } from '../../kubernetes/client/cluster-id.ts';
import { KEY_NAMESPACE_REMEDY, keyNamespace } from '../../model/access/key-namespace.ts';
import { onlyNamed, PART_OF, role, roleBinding, rule, serviceAccount } from '../../model/access/rbac-objects.ts';
import { INVITATION_AUDIENCE, type InvitationData } from '../../peering/invitation/join-decision.ts';
import { AppError } from '../../process/errors.ts';
import { signToken, TOKEN_KEY_BYTES } from '../../process/crypto/signed-token.ts';
import { withCluster, withClusterFlags, withInstallNamespace, type ClusterFlags } from '../clusters/cluster-flags.ts';
import { grantsOf, withGrantFlags, type GrantFlags } from './grant-flags.ts';
import { requireLabel } from '../output/object-names.ts';
import { MIN_TOKEN_SECONDS } from './peer-clusters.ts';
import { parseTokenSeconds, requireServer } from './peer.ts';
import { orNotFound } from '../clusters/served-objects.ts';

/** Longest and default lifetime of an invitation, in minutes. */
const MAX_INVITATION_MINUTES = 15;
/** By how much the bearer token outlives its invitation, in s: a late source gets our reason and an Event. */
const BEARER_GRACE_SECONDS = 10 * 60;

interface InviteFlags extends ClusterFlags, GrantFlags {
  readonly name: string;
  readonly namespace?: string;
  readonly installNamespace: string;
  readonly server?: string;
  readonly minutes: number;
  readonly approval?: boolean;
  readonly tokenSeconds: number;
}

/** The offer. */
export interface InvitationOffer {
  /** Name for the target, which the source may change. */
  readonly targetName: string;
  /** The one namespace; all when missing. */
  readonly namespace?: string | undefined;
  readonly installNamespace: string;
  /** https URL of the target's API server as the source reaches it; the kubeconfig's when missing. */
  readonly server?: string | undefined;
  readonly minutes: number;
  readonly needsApproval: boolean;
  /** Life of the source's tokens, in s. */
  readonly tokenSeconds: number;
  /** Grants of the source; the defaults when missing. */
  readonly grants?: SourceGrants | undefined;
}

/** The command for commander. */
export function inviteCommand(): Command {
  const command = withGrantFlags(new Command('invite'))
    .description(
      'Invite a source to run pods in this cluster: prints a single-use token for "isthmus join". Run it in the ' +
        'target.',
    )
    .requiredOption('--name <name>', 'name of this cluster in the source');
  return withInstallNamespace(withClusterFlags(command).option('--namespace <name>', 'grant only this namespace'))
    .option(
      '--server <url>',
      "https URL at which the source reaches this cluster's API server; default: the kubeconfig's",
    )
    .option(
      '--minutes <number>', `how long the token is valid, at most ${MAX_INVITATION_MINUTES}`, parseMinutes,
      MAX_INVITATION_MINUTES,
    )
    .option('--approval', 'require "isthmus approve" before a source is admitted')
    .option(
      '--token-seconds <number>', `lifetime of the source's tokens, which it renews; at least ${MIN_TOKEN_SECONDS}`,
      parseTokenSeconds, DEFAULT_TOKEN_SECONDS,
    )
    .action(runInvite);
}

function parseMinutes(text: string): number {
  const minutes = Number(text);
  if (minutes > 0 && minutes <= MAX_INVITATION_MINUTES) return minutes;
  throw new AppError('BadInput', `--minutes takes a number of at most ${MAX_INVITATION_MINUTES}, not "${text}".`);
}

/** Checks the flags. Throws AppError `BadInput` that names the one that is wrong. */
function invitationOffer(flags: Omit<InviteFlags, keyof ClusterFlags>): InvitationOffer {
  const { name, namespace, installNamespace, server, minutes, approval = false, tokenSeconds } = flags;
  requireLabel('--name', name);
  requireLabel('--install-namespace', installNamespace);
  if (namespace !== undefined) requireLabel('--namespace', namespace);
  if (server !== undefined) requireServer('--server', server);
  return {
    targetName: name, namespace, installNamespace, server, minutes, needsApproval: approval, tokenSeconds,
    grants: grantsOf(flags, namespace),
  };
}

async function runInvite(flags: InviteFlags): Promise<void> {
  const offer = invitationOffer(flags);
  const { token, name } =
    await withCluster(flags, 'invite', (cluster, signal) => inviteSource(cluster, offer, signal));
  console.error(
    `Invitation ${name} holds for ${offer.minutes} minutes. Give this token to the administrator of the source, ` +
      'and to nobody else; there:',
  );
  console.error('  isthmus join TOKEN');
  if (offer.namespace === undefined && offer.grants?.namespaces === 'OptedIn') {
    console.error('Its pods run where a label of the namespace allows them; here:\n  isthmus allow namespace NAME');
  }
  if (offer.needsApproval) console.error(`Then, here:\n  isthmus approve ${name}`);
  console.log(token);
}

/**
 * Creates an invitation; returns its name and token.
 * @throws AppError `NotFound` when Isthmus or the namespace is missing, `KubeconfigInvalid` when the kubeconfig has no
 * CA for the API server, or a name for its certificate that the source does not get.
 */
export async function inviteSource(
  cluster: OpenCluster, offer: InvitationOffer, signal: AbortSignal,
): Promise<{ readonly name: string; readonly token: string }> {
  const { client, connection } = cluster;
  const certificateAuthority = connection.certificateAuthority;
  if (certificateAuthority === undefined || connection.insecure) {
    throw new AppError(
      'KubeconfigInvalid',
      "The kubeconfig needs certificate-authority-data: the source checks this cluster's certificate against it.",
    );
  }
  if (connection.serverName !== undefined && offer.server === undefined) throw new AppError(
    'KubeconfigInvalid',
    'The kubeconfig sets tls-server-name, which the source does not get; give --server with a host that is in the ' +
      "API server's certificate.",
  );
  const { installNamespace, namespace, targetName, tokenSeconds } = offer;
  if (namespace !== undefined) await client.get(NAMESPACES, { name: namespace }, signal)
    .catch(orNotFound(`This cluster has no namespace ${namespace}: create it first.`));
  const [key, issuer] =
    await Promise.all([invitationKey(client, keyNamespace(installNamespace), signal), readClusterId(client, signal)]);
  // by the clock of the cluster that will judge the token: that of this machine may be off
  const now = client.transport.clock.now();
  const expiresAt = new Date(now + offer.minutes * 60_000);
  const name = await storeInvitation(client, offer, expiresAt, signal);
  const seconds = Math.max(MIN_TOKEN_SECONDS, Math.ceil(offer.minutes * 60) + BEARER_GRACE_SECONDS);
  const { token: bearer } =
    await requestToken(client, { namespace: installNamespace, name: invitationAccount(name), seconds }, signal);
  const server = offer.server ?? connection.server.href.replace(/\/$/, '');
  const data: InvitationData = {
    server, certificateAuthority, bearer, installNamespace, targetName, ...(namespace !== undefined && { namespace }),
    tokenSeconds,
  };
  const times = { notBefore: Math.floor(now / 1_000), expiresAt: Math.floor(expiresAt.getTime() / 1_000) };
  return {
    name, token: await signToken({ issuer, audience: INVITATION_AUDIENCE, id: name, ...times, data: { ...data } }, key),
  };
}

/** One key for all invitations of this cluster, created with the first. */
async function invitationKey(client: ClusterClient, namespace: string, signal: AbortSignal): Promise<Uint8Array> {
  const at = { namespace, name: INVITATION_KEY_SECRET };
  const found = await client.get(SECRETS, at, signal).catch(unless(isNotFound));
  const key = Buffer.from(found?.data?.['key'] ?? '', 'base64');
  if (key.length === TOKEN_KEY_BYTES) return key;
  if (found !== undefined) throw new AppError(
    'BadInput',
    `Secret ${namespace}/${INVITATION_KEY_SECRET} holds no key of ${TOKEN_KEY_BYTES} bytes; delete it, and a new one ` +
      'is made.',
  );
  const secret: Secret = {
    metadata: { ...at, labels: PART_OF }, type: 'Opaque',
    data: { key: randomBytes(TOKEN_KEY_BYTES).toString('base64') },
  };
  try {
    await client.create(SECRETS, secret, signal);
  } catch (error) {
    if (isNotFound(error)) throw new AppError(
      'NotFound', `This cluster has no namespace ${namespace}: ${KEY_NAMESPACE_REMEDY}.`, { cause: error },
    );
    if (!isAlreadyExists(error)) throw error;
  }
  return invitationKey(client, namespace, signal);
}

/** The Invitation and an account that may only create a JoinRequest; it is deleted with the Invitation. */
async function storeInvitation(
  client: ClusterClient, offer: InvitationOffer, expiresAt: Date, signal: AbortSignal,
): Promise<string> {
  const { installNamespace: namespace, namespace: offered, needsApproval, tokenSeconds, grants } = offer;
  const name = `invitation-${randomBytes(5).toString('hex')}`;
  const spec: Invitation['spec'] = {
    expiresAt: expiresAt.toISOString(), approval: needsApproval ? 'Manual' : 'Automatic', tokenSeconds,
    ...(grants !== undefined && { grants }), ...(offered !== undefined && { namespace: offered }),
  };
  const invitation: Invitation = { metadata: { namespace, name, labels: PART_OF }, spec };
  const { metadata } = await client.create(INVITATIONS, invitation, signal)
    .catch(orNotFound('This cluster does not serve the kinds of Isthmus: run "isthmus install" first.'));
  const ownerReferences =
    [{ apiVersion: apiVersionOf(INVITATIONS), kind: INVITATIONS.kind, name, uid: metadata.uid ?? '' }];
  const owned = <T extends { readonly metadata: object }>(object: T): T =>
    ({ ...object, metadata: { ...object.metadata, ownerReferences } });
  const account = { namespace, name: invitationAccount(name) };
  await client.create(SERVICE_ACCOUNTS, owned(serviceAccount(account)), signal);
  const rules = [rule('isthmus.dev', ['joinrequests'], ['create']), onlyNamed(
    rule('isthmus.dev', ['joinrequests'], ['get']), joinRequestNames(name),
  )];
  await client.create(ROLES, owned(role(namespace, account.name, rules)), signal);
  await client.create(
    ROLE_BINDINGS, owned(roleBinding({ ...account, roleKind: 'Role', roleName: account.name }, [account])), signal,
  );
  return name;
}
