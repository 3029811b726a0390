// `isthmus broker`: the server that keeps the members of a clusterset. It is deployed into any cluster that its members
// can reach over HTTPS.
import { Command } from 'commander';
import type { Secret } from '../../api/objects/core.ts';
import { CLUSTERSET_MEMBERS, SECRETS } from '../../api/resource-types.ts';
import { CERTIFICATE_DAYS, issuedSerials, revokeAll } from '../../gateway/broker/broker-protocol.ts';
import { startBroker } from '../../gateway/broker/broker-server.ts';
import { parseAddress } from '../../gateway/protocol/allowed-services.ts';
import { KubernetesMemberStore, removeMember } from '../../gateway/broker/member-store.ts';
import { isAlreadyExists, isConflict, isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { customResourceDefinitions } from '../../manifests/objects/crds.ts';
import { toYaml } from '../../manifests/files.ts';
import {
  BROKER_SECRET, brokerManifests, DEFAULT_BROKER_NAMESPACE, TUNNEL_PORT,
} from '../../manifests/objects/gateway.ts';
import { DEFAULT_IMAGE } from '../../manifests/objects/workloads.ts';
import { PART_OF } from '../../model/access/rbac-objects.ts';
import { isClusterId } from '../../model/network/gateway-names.ts';
import {
  createAuthority, loadAuthority, type CertificateRequest, type KeyPair,
} from '../../process/crypto/certificate-authority.ts';
import { AppError } from '../../process/errors.ts';
import { serveHealth } from '../../process/health-server.ts';
import { createTokenKey, MAX_BROKER_TOKEN_SECONDS, signBrokerToken } from '../../process/crypto/signed-token.ts';
import { runService } from '../../process/lifecycle.ts';
import { createLogger, type LogLevel } from '../../process/logger.ts';
import { applyObjects } from '../clusters/apply-objects.ts';
import { withClusterFlags } from '../clusters/cluster-flags.ts';
import { withCluster, type ClusterFlags } from './gateway-membership.ts';
import { withoutOwnNamespace } from '../install/install-namespace.ts';
import { isOfIsthmus, requireOwn } from '../clusters/own-objects.ts';
import { healthPortOption, logLevelOption } from '../clusters/run-flags.ts';
import { EVERY_ADDRESS, hostPort } from '../../model/network/socket-address.ts';
import { orNotFound } from '../clusters/served-objects.ts';

const AUTHORITY_DAYS = 3_650;
const SERVING_DAYS = 90;
/** How often a running broker gets another serving certificate: it may run for longer than one is valid. */
const RENEWAL_MS = 24 * 3_600_000;

/** The command for commander. */
export function brokerCommand(): Command {
  return new Command('broker').description(
    'the server that keeps the members of a clusterset',
  ).addCommand(deployCommand()).addCommand(runCommand()).addCommand(tokenCommand()).addCommand(revokeCommand());
}

function forBroker(command: Command): Command {
  return withClusterFlags(command).option('--namespace <name>', 'namespace of the broker', DEFAULT_BROKER_NAMESPACE);
}

// --- the broker's state

interface BrokerState {
  readonly url: string;
  readonly authority: KeyPair;
  readonly tokenKey: string;
}

function toBrokerSecret(namespace: string, { url, authority, tokenKey }: BrokerState): Secret {
  const texts = { url, 'ca.crt': authority.certificate, 'ca.key': authority.key, 'token.key': tokenKey };
  const data =
    Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]));
  return {
    apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name: BROKER_SECRET, labels: PART_OF }, type: 'Opaque',
    data,
  };
}

async function readBrokerState(
  client: ClusterClient, namespace: string, signal: AbortSignal,
): Promise<BrokerState | undefined> {
  const secret = await client.get(SECRETS, { namespace, name: BROKER_SECRET }, signal).catch(unless(isNotFound));
  if (secret === undefined) return undefined;
  const text = (key: string) => Buffer.from(secret.data?.[key] ?? '', 'base64').toString('utf8');
  if (['url', 'ca.crt', 'ca.key', 'token.key'].some((key) => text(key) === '')) throw new AppError(
    'BadInput',
    `Secret ${namespace}/${BROKER_SECRET} is none of a broker: it lacks url, ca.crt, ca.key or token.key. Rename it, ` +
      'or name another namespace with --namespace.',
  );
  return {
    url: text('url'), authority: { certificate: text('ca.crt'), key: text('ca.key') }, tokenKey: text('token.key'),
  };
}

async function requireBrokerState(client: ClusterClient, namespace: string, signal: AbortSignal): Promise<BrokerState> {
  const state = await readBrokerState(client, namespace, signal);
  if (state === undefined) throw new AppError(
    'NotFound',
    `There is no broker here: Secret ${namespace}/${BROKER_SECRET} is missing. Run "isthmus broker deploy".`,
  );
  return state;
}

// --- deploy

interface DeployFlags extends ClusterFlags {
  readonly url: string;
  readonly image: string;
  readonly workload: boolean;
  readonly dryRun?: boolean;
}

function deployCommand(): Command {
  return forBroker(new Command('deploy'))
    .description('deploy a broker into a cluster; can be repeated, and keeps its CA')
    .requiredOption('--url <url>', 'https URL at which all members reach it')
    .option('--image <image>', 'image of Isthmus', DEFAULT_IMAGE)
    .option(
      '--no-workload', 'only CRDs, namespace, RBAC and keys: the broker runs elsewhere, with "isthmus broker run"',
    )
    .option('--dry-run', 'print the objects as YAML, without keys, and change nothing')
    .action(deploy);
}

async function deploy(flags: DeployFlags): Promise<void> {
  const url = brokerUrl(flags.url);
  const manifests =
    brokerManifests(flags).filter(({ kind }) => flags.workload || (kind !== 'Deployment' && kind !== 'Service'));
  const objects = [
    ...customResourceDefinitions().filter(
      ({ spec }) => ['ClustersetMember', 'ClustersetEndpoint', 'ExportedService'].includes(spec.names.kind),
    ),
    ...manifests,
  ];
  if (flags.dryRun === true) return console.log(toYaml(objects));
  await withCluster(flags, async (client, signal) => {
    await readBrokerState(client, flags.namespace, signal); // a Secret of somebody else's stays
    await requireOwn(client, manifests.filter(({ kind }) => kind !== 'Namespace'), isOfIsthmus, {
      remedy: 'Name another namespace with --namespace, or rename or delete what is there.', signal,
    });
    await applyObjects(client, await withoutOwnNamespace(client, objects, signal), 'isthmus-broker-deploy', {
      tell: (line) => console.log(line), signal,
    });
    await storeBrokerState(client, { namespace: flags.namespace, url }, signal);
    console.log(`The broker will be reachable at ${url}. Next, let a cluster join: isthmus broker token`);
  });
}

/** Stores the URL, and keys with the first: two commands at once must not replace each other's CA. */
export async function storeBrokerState(
  client: ClusterClient, { namespace, url }: { readonly namespace: string; readonly url: string }, signal: AbortSignal,
): Promise<void> {
  const before = await readBrokerState(client, namespace, signal);
  if (before !== undefined) {
    await client.apply(SECRETS, toBrokerSecret(namespace, { ...before, url }), 'isthmus-broker-deploy', signal);
    return;
  }
  const { keyPair: authority } = await createAuthority('Isthmus clusterset', AUTHORITY_DAYS, new Date());
  const secret = toBrokerSecret(namespace, { url, authority, tokenKey: createTokenKey() });
  const created = await client.create(SECRETS, secret, signal).catch(unless(isAlreadyExists));
  if (created === undefined) await storeBrokerState(client, { namespace, url }, signal);
}

/** The URL in its normal form. Throws AppError `BadInput`. */
export function brokerUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:' && url.pathname === '/' && url.username === '' && url.search === '') return url.origin;
  throw new AppError('BadInput', `--url must be https://HOST[:PORT], not "${text}".`);
}

// --- run

interface BrokerRunFlags extends ClusterFlags {
  readonly listen: string;
  readonly certificateHours: number;
  readonly healthPort?: number;
  readonly logLevel: LogLevel;
}

/** A minute is for tests of renewals. */
function parseHours(text: string): number {
  const hours = Number(text);
  if (hours >= 1 / 60 && hours <= 8_760) return hours;
  throw new AppError('BadInput', `--certificate-hours takes a number from 1/60 (a minute) to 8760, not "${text}".`);
}

function runCommand(): Command {
  return forBroker(new Command('run'))
    .description('run the broker')
    .option('--listen <address>', 'HOST:PORT', hostPort(EVERY_ADDRESS, TUNNEL_PORT))
    .option(
      '--certificate-hours <number>', "lifetime of members' certificates, which they renew at two thirds",
      parseHours, 24 * CERTIFICATE_DAYS,
    )
    .addOption(healthPortOption())
    .addOption(logLevelOption())
    .action((flags: BrokerRunFlags) => withCluster(flags, (client, signal) => runBroker(client, flags, signal)));
}

async function runBroker(client: ClusterClient, flags: BrokerRunFlags, asked: AbortSignal): Promise<void> {
  const logger = createLogger(flags.logLevel);
  const listen = parseAddress(flags.listen);
  if (listen === undefined) throw new AppError('BadInput', `--listen takes HOST:PORT, not "${flags.listen}".`);
  const { url, authority: keys, tokenKey } = await requireBrokerState(client, flags.namespace, asked);
  const authority = await loadAuthority(keys);
  const serving = await authority.issue(servingRequest(url), new Date());
  const store = new KubernetesMemberStore(client, flags.namespace, logger);
  await runService(asked, async ({ signal, shutdown, fail }) => {
    const following = store.run(signal);
    shutdown.add({ name: 'members', stop: () => following });
    const broker = await startBroker({
      ...listen, url, authority, serving, tokenKey, store, certificateDays: flags.certificateHours / 24,
      now: () => new Date(), logger,
    });
    shutdown.add({ name: 'broker', stop: () => broker.close() });
    const renewal = setInterval(() => {
      authority.issue(servingRequest(url), new Date()).then((pair) => broker.serve(pair)).catch(fail);
    }, RENEWAL_MS);
    shutdown.add({ name: 'certificate', stop: async () => clearInterval(renewal) });
    await serveHealth({ port: flags.healthPort, checks: { members: () => store.hasSynced } }, shutdown);
    logger.info({ url, port: broker.port }, 'running');
  });
}

/** The broker's serving certificate for its URL. */
export function servingRequest(url: string): CertificateRequest {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  const isAddress = host.includes(':') || /^[\d.]+$/.test(host);
  return {
    commonName: 'isthmus-broker', days: SERVING_DAYS, usages: ['server'],
    ...(isAddress ? { ipAddresses: [host] } : { dnsNames: [host] }),
  };
}

// --- members

function tokenCommand(): Command {
  return forBroker(new Command('token'))
    .description('print a single-use token with which a cluster can join within 15 minutes')
    .option('--cluster-id <id>', 'the only cluster ID that may join with it')
    .action((flags: ClusterFlags & { readonly clusterId?: string }) => withCluster(
      flags, async (client, signal) => console.log(await makeToken(client, flags, signal)),
    ));
}

/** Creates a token of the broker. Throws AppError. */
export async function makeToken(
  client: ClusterClient, { namespace, clusterId }: Pick<ClusterFlags, 'namespace'> & { readonly clusterId?: string },
  signal: AbortSignal,
): Promise<string> {
  if (clusterId !== undefined && !isClusterId(clusterId)) {
    throw new AppError('BadInput', `--cluster-id must be a DNS label of at most 63 characters, not "${clusterId}".`);
  }
  const { url, authority, tokenKey } = await requireBrokerState(client, namespace, signal);
  // by the clock of the broker's cluster: that of this machine may be off
  const now = new Date(client.transport.clock.now());
  return signBrokerToken(
    tokenKey, { brokerUrl: url, authority: authority.certificate, ...(clusterId !== undefined && { clusterId }) },
    { now, seconds: MAX_BROKER_TOKEN_SECONDS },
  );
}

function revokeCommand(): Command {
  return forBroker(new Command('revoke'))
    .description('end the membership of a cluster at once: revokes its certificates and closes its sessions')
    .argument('<cluster>', 'ID of the cluster')
    .action((clusterId: string, flags: ClusterFlags) => withCluster(
      flags, async (client, signal) => console.log(await revoke(client, { ...flags, clusterId }, signal)),
    ));
}

/** Revokes all certificates of a member, and removes what it has published. Throws AppError `NotFound`. */
export async function revoke(
  client: ClusterClient, { namespace, clusterId }: Pick<ClusterFlags, 'namespace'> & { readonly clusterId: string },
  signal: AbortSignal,
): Promise<string> {
  const missing = orNotFound(`No cluster "${clusterId}" is known to this broker.`);
  const at = { namespace, name: clusterId };
  for (;;) {
    const cluster = await client.get(CLUSTERSET_MEMBERS, at, signal).catch(missing);
    const { resourceVersion } = cluster.metadata;
    // of this version only: a certificate that is issued meanwhile would not be among those that are revoked
    const patch = { metadata: { resourceVersion }, spec: revokeAll(cluster).spec };
    const revoked = await client.patch(CLUSTERSET_MEMBERS, at, { patchType: 'merge', patch }, signal)
      .catch(unless(isConflict));
    if (revoked === undefined) continue;
    await removeMember(client, namespace, clusterId);
    return `"${clusterId}" is revoked: ${issuedSerials(cluster).length} certificates are no longer valid.`;
  }
}
