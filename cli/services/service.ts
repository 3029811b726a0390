// `isthmus service`: Services of all clusters of a clusterset. Exports are ServiceExports of the Multi-Cluster Services
// API, so kubectl does the same.
import { isIP } from 'node:net';
import { Command, Option } from 'commander';
import type { Condition } from '../../api/objects/core.ts';
import { SERVICES } from '../../api/resource-types.ts';
import { SERVICE_EXPORTS, SERVICE_IMPORTS, type ServiceExport } from '../../api/kinds/service-discovery.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { SERVICE_DISCOVERY } from '../../manifests/objects/service-discovery.ts';
import { CLUSTERSET_ZONE, serviceName } from '../../service-discovery/dns/dns-names.ts';
import { AppError } from '../../process/errors.ts';
import { pollUntil } from '../clusters/poll-until.ts';
import { wholeNumber } from '../clusters/run-flags.ts';
import { withCluster, withClusterFlags, withInstallNamespace, type ClusterFlags } from '../clusters/cluster-flags.ts';
import { requireLabel } from '../output/object-names.ts';
import { serviceRunCommand } from './service-run.ts';
import { servicesTable } from './service-table.ts';
import { parseAddress } from '../../gateway/protocol/allowed-services.ts';
import { orNotFound } from '../clusters/served-objects.ts';

interface ServiceFlags extends ClusterFlags {
  readonly namespace: string;
}

const FIELD_MANAGER = 'isthmus-service-export';
const orMissingKinds = orNotFound(
  'This cluster does not serve ServiceExport and ServiceImport, or not the namespace: run "isthmus install ' +
    '--service-discovery".',
);

/** The command for commander. */
export function serviceCommand(): Command {
  return new Command('service')
    .description('Services of all clusters: export them, see them, serve clusterset.local')
    .addCommand(serviceRunCommand())
    .addCommand(exportCommand())
    .addCommand(unexportCommand())
    .addCommand(listCommand())
    .addCommand(stubCommand());
}

function forService(name: string, description: string): Command {
  return withClusterFlags(new Command(name)).description(description).argument(
    '<service>', 'name of the Service',
  ).option('-n, --namespace <name>', 'its namespace', 'default');
}

function exportCommand(): Command {
  return forService('export', 'export a Service to all clusters; waits until it is published')
    .option('--wait-seconds <number>', 'how long to wait; 0: not at all', wholeNumber('--wait-seconds', 0, 3_600), 15)
    .action((name: string, flags: ServiceFlags & { readonly waitSeconds: number }) => withCluster(
      flags, 'service',
      async ({ client }, signal) => console.log(await exportService(client, { ...flags, name }, signal)),
    ));
}

/** Which Service to export. */
export interface ExportRequest {
  readonly namespace: string;
  readonly name: string;
  readonly waitSeconds: number;
}

/** Exports a Service; returns the status. Throws AppError `NotFound` when the Service or the CRDs are missing. */
export async function exportService(
  client: ClusterClient, { namespace, name, waitSeconds }: ExportRequest, signal: AbortSignal,
): Promise<string> {
  requireLabel('The name of a Service', name);
  if ((await client.get(SERVICES, { namespace, name }, signal).catch(unless(isNotFound))) === undefined) {
    throw new AppError('NotFound', `There is no Service ${namespace}/${name} here.`);
  }
  await client.apply(SERVICE_EXPORTS, { metadata: { namespace, name } }, FIELD_MANAGER, signal)
    .catch(orMissingKinds);
  const look = async () => {
    const { status } = await client.get(SERVICE_EXPORTS, { namespace, name }, signal);
    return isSettled(status?.conditions) ? status : undefined;
  };
  const status =
    waitSeconds > 0 ? await pollUntil(look, { forMs: waitSeconds * 1_000, everyMs: 200 }, signal) : undefined;
  return exportText(
    { namespace, name }, status ?? (await client.get(SERVICE_EXPORTS, { namespace, name }, signal)).status,
  );
}

function isSettled(conditions: readonly Condition[] = []): boolean {
  return conditions.some(({ type, status, reason }) => type === 'Ready' && (status === 'True' || reason === 'Failed'));
}

/** The status of an export as text: its name, then what is wrong. */
export function exportText(
  { namespace, name }: { readonly namespace: string; readonly name: string }, status: ServiceExport['status'],
): string {
  const conditions = status?.conditions ?? [];
  const notes = conditions
    .filter(({ type, status: value }) => (type === 'Conflict' ? value === 'True' : value === 'False'))
    .map(({ type, reason, message }) => `  ${type} ${reason}: ${message}`);
  const waiting =
    conditions.length === 0 ? ['  no component has processed it yet: run "isthmus service run" in this cluster'] : [];
  return [`${namespace}/${name} is exported as ${serviceName({ namespace, name })}`, ...notes, ...waiting].join('\n');
}

function unexportCommand(): Command {
  return forService('unexport', 'a Service is this cluster\'s alone again')
    .action((name: string, flags: ServiceFlags) => withCluster(
      flags, 'service',
      async ({ client }, signal) => console.log(await unexportService(client, { ...flags, name }, signal)),
    ));
}

/** Ends an export. Throws AppError `NotFound` when there is none. */
export async function unexportService(
  client: ClusterClient, { namespace, name }: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<string> {
  await client.delete(SERVICE_EXPORTS, { namespace, name }, {}, signal)
    .catch(orNotFound(`${namespace}/${name} is not exported from here.`));
  return `${namespace}/${name} is exported no more.`;
}

function listCommand(): Command {
  return withClusterFlags(new Command('list'))
    .description('list the Services of all clusters, as seen from this one')
    .addOption(new Option('-n, --namespace <name>', 'only in this namespace'))
    .action((flags: ClusterFlags & { readonly namespace?: string }) => withCluster(
      flags, 'service', async ({ client }, signal) => console.log(await listServices(client, flags.namespace, signal)),
    ));
}

/** The table of all imports and exports. Throws AppError `NotFound` where the kinds are missing. */
export async function listServices(
  client: ClusterClient, namespace: string | undefined, signal: AbortSignal,
): Promise<string> {
  const [exports, imports] = await Promise
    .all([client.list(SERVICE_EXPORTS, { namespace }, signal), client.list(SERVICE_IMPORTS, { namespace }, signal)])
    .catch(orMissingKinds);
  return servicesTable(exports, imports);
}

interface StubFlags extends ClusterFlags {
  readonly installNamespace: string;
  readonly dns?: string;
}

function stubCommand(): Command {
  return withInstallNamespace(withClusterFlags(new Command('stub')))
    .description(`print the CoreDNS configuration that this cluster needs for ${CLUSTERSET_ZONE}; changes nothing`)
    .option('--dns <ip:port>', 'address at which pods reach "isthmus service run" outside the cluster')
    .action(async (flags: StubFlags) => console.log(dnsStub(
      flags.dns === undefined ? await dnsServiceAddress(flags, flags.installNamespace) : dnsAddress(flags.dns),
    )));
}

function dnsServiceAddress(flags: ClusterFlags, namespace: string): Promise<string> {
  return withCluster(flags, 'service', async ({ client }, signal) => {
    const service = await client.get(SERVICES, { namespace, name: SERVICE_DISCOVERY }, signal)
      .catch(unless(isNotFound));
    if (service?.spec?.clusterIP === undefined) throw new AppError(
      'NotFound',
      `There is no Service ${namespace}/${SERVICE_DISCOVERY}: install service discovery by the chart, or name the ` +
        'address of "isthmus service run" with --dns (docs/services.md).',
    );
    return service.spec.clusterIP;
  });
}

/** Throws AppError `BadInput` for what CoreDNS cannot forward to: a name, no port, or the address of all interfaces. */
export function dnsAddress(text: string): string {
  const host = parseAddress(text)?.host ?? '';
  if (isIP(host) === 0 || ['0.0.0.0', '::'].includes(host)) {
    throw new AppError('BadInput', `--dns must be IP:PORT as pods reach it, not ${JSON.stringify(text)}.`);
  }
  return text;
}

/** A server block of CoreDNS (plugin forward) with how to add it. */
export function dnsStub(address: string): string {
  return [
    '# Add this to key Corefile: kubectl -n kube-system edit configmap coredns. CoreDNS takes it up within a minute ' +
      'where its Corefile has "reload".',
    `${CLUSTERSET_ZONE}:53 {`, '    errors', '    cache 5', `    forward . ${address}`, '}',
  ].join('\n');
}
