// `isthmus gateway join` and `leave`: membership of a cluster in a clusterset.
import { Command } from 'commander';
import type { Secret } from '../../api/objects/core.ts';
import { BROKER_COPY_LABEL, DEFAULT_INSTALL_NAMESPACE, OWN_ENDPOINT_LABEL } from '../../api/objects/keys.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { CLUSTERSET_MEMBERS, CLUSTERSET_ENDPOINTS, NAMESPACES, SECRETS } from '../../api/resource-types.ts';
import { EXPORTED_SERVICES } from '../../api/kinds/service-discovery.ts';
import { askBroker, type BrokerAccess } from '../../gateway/broker/broker-request.ts';
import { GATEWAY_SECRET, readGatewaySecret, toGatewaySecret } from '../../gateway/broker/gateway-secret.ts';
import { isForbidden, isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { isClusterId } from '../../model/network/gateway-names.ts';
import { createSigningRequest } from '../../process/crypto/certificate-authority.ts';
import { AppError } from '../../process/errors.ts';
import { readBrokerToken } from '../../process/crypto/signed-token.ts';
import {
  withCluster as withOwnCluster, withClusterFlags, type ClusterFlags as OwnClusterFlags,
} from '../clusters/cluster-flags.ts';
import { isOfIsthmus, removeOwn } from '../clusters/own-objects.ts';
import { collect } from '../clusters/run-flags.ts';
import { listIfServed, orNotFound } from '../clusters/served-objects.ts';

/** Which cluster, and where Isthmus is in it. */
export interface ClusterFlags extends OwnClusterFlags {
  readonly namespace: string;
}

interface JoinFlags extends ClusterFlags {
  readonly clusterId: string;
  readonly address: readonly string[];
  readonly clusterCidr: readonly string[];
  readonly serviceCidr: readonly string[];
}

/** Adds the options by which every gateway command finds its cluster. */
export function withClusterOptions(command: Command, which?: string, otherwise?: string): Command {
  return withClusterFlags(command, which, otherwise)
    .option('--namespace <name>', 'install namespace', DEFAULT_INSTALL_NAMESPACE);
}

/** Runs work with a client of the cluster that the options name, and closes it. */
export async function withCluster<T>(
  flags: ClusterFlags, work: (client: ClusterClient, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return withOwnCluster(flags, 'gateway-cli', ({ client }, signal) => work(client, signal));
}

/** The command `gateway join`. */
export function gatewayJoinCommand(): Command {
  return withClusterOptions(new Command('join'))
    .description('make this cluster a member of a clusterset, with a token of "isthmus broker token"')
    .argument('<token>', 'the token')
    .requiredOption('--cluster-id <id>', 'ID of this cluster in the clusterset, a DNS label')
    .option(
      '--address <host:port>',
      'address at which gateways of other clusters reach this one, repeated; omit it if it can only dial out',
      collect, [],
    )
    .option('--cluster-cidr <range>', 'pod range, repeated', collect, [])
    .option('--service-cidr <range>', 'Service range, repeated', collect, [])
    .action((token: string, flags: JoinFlags) => withCluster(
      flags, async (client, signal) => console.log(await join(client, { ...flags, token }, signal)),
    ));
}

/** Joins: the key is generated here, and only the signing request leaves. Throws AppError. */
export async function join(
  client: ClusterClient,
  { token: given, clusterId, namespace, address, clusterCidr, serviceCidr }: JoinFlags & { readonly token: string },
  signal: AbortSignal,
): Promise<string> {
  if (!isClusterId(clusterId)) {
    throw new AppError('BadInput', `--cluster-id must be a DNS label of at most 63 characters, not "${clusterId}".`);
  }
  const token = given.replaceAll(/\s/g, ''); // terminals and mails wrap it
  const claims = readBrokerToken(token);
  if (claims === undefined) {
    throw new AppError('BadInput', 'The token of the broker is not valid; create one with "isthmus broker token".');
  }
  const { request, key } = await createSigningRequest({ commonName: clusterId });
  const body = {
    token, clusterId, signingRequest: request, addresses: address, clusterCIDR: clusterCidr, serviceCIDR: serviceCidr,
  };
  const { brokerUrl, authority } = claims;
  const secretOf = (certificate: string) =>
    toGatewaySecret(namespace, { clusterId, certificate, key, authority, brokerUrl, addresses: address });
  await requireNamespace(client, namespace, signal);
  await requireWritableSecret(client, secretOf(''), signal);
  const { certificate } = await askBroker<{ readonly certificate: string }>(
    { brokerUrl, authority }, { method: 'POST', path: '/v1/join', body }, signal,
  );
  await client.apply(SECRETS, secretOf(certificate), 'isthmus-gateway-join', signal).catch(async (error: unknown) => {
    // without its certificate nobody could free the ID but the broker's administrator; also when this is interrupted
    const access = { brokerUrl, authority, identity: { certificate, key, authority } };
    await sayGoodbye(access, clusterId, new AbortController().signal).catch(() => undefined);
    throw error;
  });
  return `"${clusterId}" has joined. Run its gateway: isthmus gateway ` +
    `run${address.length === 0 ? ' --listen none' : ''}`;
}

/** The broker would give away the ID, to a cluster that cannot store its certificate. */
async function requireNamespace(client: ClusterClient, name: string, signal: AbortSignal): Promise<void> {
  try {
    await client.get(NAMESPACES, { name }, signal);
  } catch (error) {
    if (isNotFound(error)) throw new AppError(
      'NotFound', `This cluster has no namespace ${name}: run "isthmus install" first. Nothing was changed.`,
      { cause: error },
    );
    if (!isForbidden(error)) throw error;
  }
}

/** The broker takes a token once: what would refuse the Secret is asked before. */
async function requireWritableSecret(client: ClusterClient, secret: Secret, signal: AbortSignal): Promise<void> {
  const { namespace, name = '' } = secret.metadata;
  const found = await client.get(SECRETS, { namespace, name }, signal).catch(unless(isNotFound));
  if (found === undefined) return void (await client.dryRunCreate(SECRETS, secret, signal));
  if (!isMembership(found)) throw new AppError(
    'BadInput',
    `Secret ${namespace}/${name} was not created by Isthmus: rename it, or join with another --namespace. ` +
      'Nothing was changed.',
  );
}

/** Whether a Secret holds a membership, from `gateway join` or created by hand without a broker. */
function isMembership(secret: Secret): boolean {
  return isOfIsthmus(secret) || readGatewaySecret(secret.data ?? {}).kind === 'credentials';
}

/** The command `gateway leave`. */
export function gatewayLeaveCommand(): Command {
  return withClusterOptions(new Command('leave'))
    .description(
      'leave the clusterset: the broker removes this cluster, its peers close their connections, its Secret and ' +
        'copies are removed',
    )
    .option('--force', 'leave even if the broker cannot be reached; then revoke this cluster there')
    .action((flags: ClusterFlags & { readonly force?: boolean }) => withCluster(
      flags, async (client, signal) => console.log(await leave(client, flags, signal)),
    ));
}

/**
 * Leaves. Throws AppError `NotFound` for a cluster that is not a member, `BadInput` when the Secret of that name is
 * somebody else's.
 */
export async function leave(
  client: ClusterClient, { namespace, force }: ClusterFlags & { readonly force?: boolean }, signal: AbortSignal,
): Promise<string> {
  const secret = await client.get(SECRETS, { namespace, name: GATEWAY_SECRET }, signal)
    .catch(orNotFound(`This cluster is not a member: there is no Secret ${namespace}/${GATEWAY_SECRET}.`));
  if (!isMembership(secret)) {
    throw new AppError(
      'BadInput',
      `This cluster is not a member: Secret ${namespace}/${GATEWAY_SECRET} was not created by Isthmus and stays as ` +
        'it is.',
    );
  }
  const parsed = readGatewaySecret(secret.data ?? {});
  if (parsed.kind === 'credentials' && parsed.credentials.brokerUrl !== undefined) {
    const { credentials } = parsed;
    const access = {
      brokerUrl: parsed.credentials.brokerUrl, authority: credentials.authority, identity: credentials,
    };
    await sayGoodbye(access, credentials.clusterId, signal).catch((error: unknown) => {
      if (force === true) return;
      if (!(error instanceof AppError)) throw error;
      const remedy = 'Where the broker is gone, or has removed this cluster already, leave with --force.';
      throw new AppError(error.code, `${error.message} ${remedy}`, { cause: error });
    });
  }
  await removeCopies(client, namespace, signal);
  // last: while it is there, leaving can be begun again
  await removeOwn(client, { type: SECRETS, at: { namespace, name: GATEWAY_SECRET } }, isMembership, signal);
  return 'This cluster is no longer a member.';
}

async function sayGoodbye(access: BrokerAccess, clusterId: string, signal: AbortSignal): Promise<void> {
  await askBroker(access, { method: 'DELETE', path: `/v1/clusters/${clusterId}` }, signal);
}

async function removeCopies(client: ClusterClient, namespace: string, signal: AbortSignal): Promise<void> {
  const copies =
    [
      CLUSTERSET_MEMBERS, CLUSTERSET_ENDPOINTS, EXPORTED_SERVICES,
    ].map((type): [ResourceType, string] => [type, BROKER_COPY_LABEL]);
  for (const [type, label] of [...copies, [CLUSTERSET_ENDPOINTS, OWN_ENDPOINT_LABEL] as const]) {
    const found = await listIfServed(client, type, signal, { namespace, labelSelector: `${label}=true` });
    for (const { metadata: { name = '', uid = '' } } of found) {
      await client.delete(type, { namespace, name }, { preconditions: { uid } }, signal).catch(unless(isNotFound));
    }
  }
}
