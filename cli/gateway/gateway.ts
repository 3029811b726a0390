// `isthmus gateway`: the command group of a cluster's gateway.
import { Command } from 'commander';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parse, stringify } from 'yaml';
import { CLUSTERSET_ENDPOINTS, CLUSTERSET_GATEWAYS, SECRETS } from '../../api/resource-types.ts';
import { GATEWAY_SECRET, readGatewaySecret, type ParsedCredentials } from '../../gateway/broker/gateway-secret.ts';
import { withAbsolutePaths } from '../../kubernetes/credentials/kubeconfig.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { readKubeconfigFile } from '../../kubernetes/client/open-cluster.ts';
import { CONNECT_PORT } from '../../manifests/objects/gateway.ts';
import { isRecord } from '../../model/objects/json-values.ts';
import { FOR_KUBECTL } from '../../model/objects/yaml-limits.ts';
import { gatewayName, isClusterId } from '../../model/network/gateway-names.ts';
import { AppError, reasonOf } from '../../process/errors.ts';
import { exitWith } from '../../process/lifecycle.ts';
import { wholeNumber } from '../clusters/run-flags.ts';
import { checkGateway, checkLines, type Check } from './gateway-checks.ts';
import {
  gatewayJoinCommand, gatewayLeaveCommand, withCluster, withClusterOptions, type ClusterFlags,
} from './gateway-membership.ts';
import { measurePath, openPath, type GatewayPath } from './gateway-path.ts';
import { gatewayNodeCommand } from './gateway-node.ts';
import { gatewayRotateKeyCommand } from './gateway-rotate-key.ts';
import type { Verification } from './clusterset-checks.ts';
import { clustersetChecks, withVerifications } from './gateway-verify.ts';
import { gatewayRunCommand } from './gateway-run.ts';
import { connectionsTable, endpointsTable, gatewaysTable } from './gateway-table.ts';

const DEFAULT_ENDPOINT = `http://127.0.0.1:${CONNECT_PORT}`;

/** The command for commander. */
export function gatewayCommand(): Command {
  return new Command('gateway')
    .description('the encrypted gateway between the clusters of a clusterset')
    .addCommand(gatewayRunCommand())
    .addCommand(gatewayNodeCommand())
    .addCommand(gatewayRotateKeyCommand())
    .addCommand(gatewayJoinCommand())
    .addCommand(gatewayLeaveCommand())
    .addCommand(showCommand())
    .addCommand(diagnoseCommand())
    .addCommand(verifyCommand())
    .addCommand(benchmarkCommand())
    .addCommand(kubeconfigCommand());
}

function showCommand(): Command {
  const show = new Command('show').description('what the gateways of this cluster know');
  const table = (
    name: string, description: string,
    make: (client: ClusterClient, namespace: string, signal: AbortSignal) => Promise<string>,
  ) =>
    show.addCommand(withClusterOptions(new Command(name)).description(description).action(
      (flags: ClusterFlags) =>
        withCluster(flags, async (client, signal) => console.log(await make(client, flags.namespace, signal))),
    ));
  table('connections',
    'the gateway connections to other clusters', async (client, namespace, signal) => connectionsTable(
    await client.list(CLUSTERSET_GATEWAYS, { namespace }, signal),
  ));
  table('endpoints', 'show the endpoints of the gateways of all members', async (client, namespace, signal) => {
    const secret = await readSecret(client, namespace, signal);
    return endpointsTable(secret?.kind === 'credentials' ? secret.credentials.clusterId : '', await client.list(
      CLUSTERSET_ENDPOINTS, { namespace }, signal,
    ));
  });
  table('gateways', 'the gateway processes of this cluster', async (client, namespace, signal) => gatewaysTable(
    await client.list(CLUSTERSET_GATEWAYS, { namespace }, signal),
  ));
  return show;
}

async function readSecret(
  client: ClusterClient, namespace: string, signal: AbortSignal,
): Promise<ParsedCredentials | undefined> {
  const secret = await client.get(SECRETS, { namespace, name: GATEWAY_SECRET }, signal).catch(unless(isNotFound));
  return secret && readGatewaySecret(secret.data ?? {});
}

async function checksOf(flags: ClusterFlags, peers: readonly string[]): Promise<readonly Check[]> {
  return withCluster(flags, async (client, signal) =>
    checkGateway({
      secret: await readSecret(client, flags.namespace, signal),
      gateways: await client.list(
        CLUSTERSET_GATEWAYS, { namespace: flags.namespace }, signal,
      ), nowMs: client.transport.clock.now(), peers,
    }),
  );
}

function report(checks: readonly Check[]): void {
  console.log(checkLines(checks));
  if (checks.some(({ holds }) => !holds)) exitWith(1);
}

function diagnoseCommand(): Command {
  return withClusterOptions(new Command('diagnose'))
    .description('check everything that this cluster needs to reach the others; exits with 1 if something is wrong')
    .action(async (flags: ClusterFlags) => report(await checksOf(flags, [])));
}

interface VerifyFlags extends ClusterFlags {
  readonly endpoint: string;
  readonly otherKubeconfig?: string;
  readonly otherContext?: string;
  readonly otherEndpoint?: string;
  readonly only: readonly Verification[];
  readonly dns?: string;
}

function verifyCommand(): Command {
  return withVerifications(withClusterOptions(new Command('verify')))
    .description(
      'test each step of the route to another cluster, with its kubeconfig also the way back; exits with 1 if one ' +
        'fails',
    )
    .argument('<cluster>', 'ID of the other cluster')
    .option('--endpoint <url>', 'CONNECT endpoint of the gateway of this cluster', DEFAULT_ENDPOINT)
    .option('--other-kubeconfig <file>', 'kubeconfig of the other cluster')
    .option('--other-context <name>', 'context within it')
    .option('--other-endpoint <url>', "CONNECT endpoint of the other cluster's gateway")
    .action(verify);
}

async function verify(clusterId: string, flags: VerifyFlags): Promise<void> {
  const { endpoint, otherKubeconfig, otherContext, otherEndpoint, namespace } = flags;
  const tries = flags.only.includes('connectivity');
  const checks: Check[] = [
    ...(tries ? [...(await checksOf(flags, [clusterId])), await tryPath(endpoint, clusterId)] : []),
    ...(await clustersetChecks(flags)),
  ];
  if (otherKubeconfig !== undefined && tries) {
    const own = await withCluster(flags, async (client, signal) => readSecret(client, namespace, signal));
    const ownId = own?.kind === 'credentials' ? own.credentials.clusterId : '';
    const back = await checksOf(
      { kubeconfig: otherKubeconfig, namespace, ...(otherContext !== undefined && { context: otherContext }) }, [ownId],
    );
    checks.push(...back.map((check) => ({ ...check, what: `in ${clusterId}: ${check.what}` })));
    if (otherEndpoint !== undefined) checks.push(
      { ...(await tryPath(otherEndpoint, ownId)), what: `in ${clusterId}: the API server of ${ownId} answers` },
    );
  }
  report(checks);
}

async function tryPath(endpoint: string, clusterId: string): Promise<Check> {
  const what = `the API server of ${clusterId} answers through the gateway`;
  try {
    const { get, close } = await openPath({ endpoint: toUrl(endpoint), clusterId });
    const { status, ms } = await get('/version');
    close();
    return { what, holds: true, detail: `HTTP ${status} in ${ms.toFixed(1)} ms` };
  } catch (error) {
    return { what, holds: false, detail: reasonOf(error) };
  }
}

function benchmarkCommand(): Command {
  return new Command('benchmark')
    .description('measure latency and throughput to another cluster')
    .argument('<cluster>', 'ID of the other cluster')
    .option('--endpoint <url>', 'CONNECT endpoint of the gateway of this cluster', DEFAULT_ENDPOINT)
    .option('--calls <number>', 'how many calls', wholeNumber('--calls', 1, 1_000_000), 200)
    .action(
      async (clusterId: string, { endpoint, calls }: { readonly endpoint: string; readonly calls: number }) =>
        console.log(await benchmark({ endpoint: toUrl(endpoint), clusterId }, calls)),
    );
}

async function benchmark(path: GatewayPath, calls: number): Promise<string> {
  if (!isClusterId(path.clusterId)) throw new AppError('BadInput', `"${path.clusterId}" is not a valid cluster ID.`);
  return measurePath(path, calls).catch((error: unknown) => {
    const { endpoint, clusterId } = path;
    throw new AppError(
      'Unreachable',
      `Cannot reach ${clusterId} through ${endpoint.origin}: ${reasonOf(error)}. Run "isthmus gateway diagnose".`,
      { cause: error },
    );
  });
}

function kubeconfigCommand(): Command {
  return new Command('kubeconfig')
    .description(
      'print a kubeconfig for kubectl to reach another cluster through the gateway; with the credentials of the ' +
        'given kubeconfig',
    )
    .argument('<cluster>', 'ID of the other cluster')
    .requiredOption('--kubeconfig <file>', 'kubeconfig of the other cluster; its server is ignored')
    .option('--endpoint <url>', 'CONNECT endpoint of the gateway of this cluster', DEFAULT_ENDPOINT)
    .action(
      async (
        clusterId: string, { kubeconfig, endpoint }: { readonly kubeconfig: string; readonly endpoint: string },
      ) => {
        const text = await readKubeconfigFile(kubeconfig, (path) => readFile(path, 'utf8'));
        console.log(throughGateway(text, clusterId, toUrl(endpoint), resolve(dirname(kubeconfig))));
      },
    );
}

type Named = Readonly<Record<string, unknown>> & { readonly cluster?: Readonly<Record<string, unknown>> };

/**
 * The kubeconfig with its clusters reached through the gateway: TLS still verifies the original server name. It may be
 * put anywhere, so paths that are relative to its `folder` become absolute. Throws AppError `BadInput`.
 */
export function throughGateway(text: string, clusterId: string, endpoint: URL, folder: string): string {
  if (!isClusterId(clusterId)) throw new AppError('BadInput', `"${clusterId}" is not a valid cluster ID.`);
  const config = withAbsolutePaths(parseKubeconfig(text), folder) as { readonly clusters?: readonly Named[] };
  const clusters = (config.clusters ?? []).map((entry) => {
    const named = entry.cluster?.['server'];
    const server = typeof named === 'string' ? named : '';
    const expected = entry.cluster?.['tls-server-name']
      ?? (URL.canParse(server) ? new URL(server).hostname.replace(/^\[|\]$/g, '') : undefined);
    const through = {
      ...entry.cluster, server: `https://${gatewayName(clusterId)}:443`, 'proxy-url': endpoint.origin,
      ...(expected !== undefined && { 'tls-server-name': expected }),
    };
    return { ...entry, cluster: through };
  });
  return stringify({ ...config, clusters }, FOR_KUBECTL);
}

function parseKubeconfig(text: string): Readonly<Record<string, unknown>> {
  let config: unknown;
  try {
    config = parse(text, { maxAliasCount: 10, logLevel: 'error' });
  } catch {
    config = undefined; // the parser's message may quote a token
  }
  if (isRecord(config) && Array.isArray(config['clusters'])) return config;
  throw new AppError('KubeconfigInvalid', 'This is not a kubeconfig: it is not a YAML mapping with clusters.');
}

function toUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:') throw new AppError('BadInput', `--endpoint takes http://HOST:PORT, not "${text}".`);
  return url;
}
