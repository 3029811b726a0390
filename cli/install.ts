// `isthmus install`: makes a cluster ready to be a source, a target, or both.
import { Command, Option } from 'commander';
import type { Condition, KubernetesObject } from '../api/core.ts';
import { DEFAULT_INSTALL_NAMESPACE } from '../api/keys.ts';
import { CUSTOM_RESOURCE_DEFINITIONS, type ResourceType } from '../api/resource-types.ts';
import type { ClusterClient } from '../kubernetes/cluster-client.ts';
import { openCluster, userAgent } from '../kubernetes/open-cluster.ts';
import { customResourceDefinitions, serviceDiscoveryDefinitions } from '../manifests/crds.ts';
import { toYaml } from '../manifests/files.ts';
import { serviceDiscoveryAccess } from '../manifests/service-discovery.ts';
import { PART_OF } from '../model/rbac-objects.ts';
import { installManifests, type InstallOptions } from '../manifests/install.ts';
import { WEBHOOK_PATH } from '../manifests/webhook-configuration.ts';
import { AppError } from '../process/errors.ts';
import { untilStopped } from '../process/lifecycle.ts';
import { applyObjects, lookFor, type Progress } from './apply-objects.ts';
import { requireLabel } from './object-names.ts';

/** Field manager of what `isthmus install` applies; the webhook's CA belongs to another one and stays. */
export const INSTALL_FIELD_MANAGER = 'isthmus-install';
const ESTABLISHED_PATIENCE = { forMs: 30_000, everyMs: 100 };

type DefinitionWithStatus = KubernetesObject & { readonly status?: { readonly conditions?: readonly Condition[] } };

interface InstallFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace: string;
  readonly webhookUrl?: string;
  readonly failurePolicy?: 'Fail' | 'Ignore';
  readonly dryRun?: boolean;
  readonly liqoLabels?: boolean;
  readonly serviceDiscovery?: boolean;
}

/** The command for commander. */
export function installCommand(): Command {
  return new Command('install')
    .description('Install the kinds, the access rules and the webhook configuration into a cluster, as source or target. Can be repeated.')
    .option('--kubeconfig <file>', 'kubeconfig of the cluster; as kubectl finds it when left out')
    .option('--context <name>', "context within the kubeconfig; its current-context when left out")
    .option('--namespace <name>', 'install namespace', DEFAULT_INSTALL_NAMESPACE)
    .option('--webhook-url <url>', `https URL of a webhook outside of the cluster; without a path ${WEBHOOK_PATH} is added`)
    .addOption(new Option('--failure-policy <policy>', 'what becomes of elected pods while the webhook is away: refused, or run here like any other').choices(['Fail', 'Ignore']))
    .option('--liqo-labels', 'elect the pods of namespaces with label liqo.io/enabled=true or liqo.io/scheduling-enabled=true')
    .option('--service-discovery', 'also ServiceExport and ServiceImport, unless something else in this cluster serves them; see docs/services.md')
    .option('--dry-run', 'print the objects as YAML and change nothing')
    .action(runInstall);
}

async function runInstall(flags: InstallFlags): Promise<void> {
  const options = installOptions(flags);
  if (flags.dryRun === true) return console.log(toYaml([...installManifests(options), ...(flags.serviceDiscovery === true ? serviceDiscoveryDefinitions() : [])]));
  const { client } = await openCluster({ kubeconfigPath: flags.kubeconfig, context: flags.context, userAgent: userAgent('install') });
  try {
    const progress = { tell: (line: string) => console.log(line), signal: untilStopped() };
    await installInto(client, options, progress);
    if (flags.serviceDiscovery === true) await installServiceDiscovery(client, options.installNamespace, progress);
    console.log(nextSteps(options));
  } finally {
    await client.transport.close();
  }
}

/** Checks the flags. Throws AppError `BadInput` that names the one that is wrong. */
export function installOptions(flags: { readonly namespace: string; readonly webhookUrl?: string | undefined; readonly failurePolicy?: 'Fail' | 'Ignore'; readonly liqoLabels?: boolean }): InstallOptions {
  requireLabel('--namespace', flags.namespace);
  return { installNamespace: flags.namespace, webhookUrl: flags.webhookUrl === undefined ? undefined : webhookUrl(flags.webhookUrl), ...(flags.failurePolicy && { failurePolicy: flags.failurePolicy }), ...(flags.liqoLabels === true && { acceptsLiqoLabels: true }) };
}

/** The URL for the API server; the webhook's path is added where none is given. Throws AppError `BadInput`. */
export function webhookUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:') {
    throw new AppError('BadInput', `--webhook-url must be https://HOST:PORT, not ${JSON.stringify(text)}: API servers call webhooks over TLS only.`);
  }
  // What the API server's validation refuses as well, only without a word about the flag.
  if (url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '') {
    throw new AppError('BadInput', '--webhook-url must not have a user, a query or a fragment.');
  }
  if (url.pathname === '/') url.pathname = WEBHOOK_PATH;
  return url.href;
}

/**
 * Applies everything and waits until the cluster serves our kinds.
 * @throws AppError `Timeout` when it does not within 30 s; what {@link ClusterClient} throws.
 */
export async function installInto(client: ClusterClient, options: InstallOptions, progress: Progress): Promise<void> {
  await applyObjects(client, installManifests(options), INSTALL_FIELD_MANAGER, progress);
  for (const definition of customResourceDefinitions()) await untilEstablished(client, definition.metadata.name, progress.signal);
  progress.tell(`the cluster serves all ${customResourceDefinitions().length} kinds`);
}

/** Kinds of the Multi-Cluster Services API that others have installed stay as they are. */
export async function installServiceDiscovery(client: ClusterClient, installNamespace: string, progress: Progress): Promise<void> {
  const existing = await client.list(CUSTOM_RESOURCE_DEFINITIONS, {}, progress.signal);
  const isForeign = (name: string) => existing.some(({ metadata }) => metadata.name === name && Object.entries(PART_OF).some(([key, value]) => metadata.labels?.[key] !== value));
  const definitions = serviceDiscoveryDefinitions().filter(({ metadata }) => !isForeign(metadata.name));
  await applyObjects(client, [...definitions, ...serviceDiscoveryAccess(installNamespace)], INSTALL_FIELD_MANAGER, progress);
  for (const { metadata } of serviceDiscoveryDefinitions()) await untilEstablished(client, metadata.name, progress.signal);
}

async function untilEstablished(client: ClusterClient, name: string, signal: AbortSignal): Promise<void> {
  const type: ResourceType<DefinitionWithStatus> = CUSTOM_RESOURCE_DEFINITIONS;
  let conditions: readonly Condition[] = [];
  const isEstablished = async (): Promise<true | undefined> => {
    conditions = (await client.get(type, { name }, signal)).status?.conditions ?? [];
    return conditions.some((condition) => condition.type === 'Established' && condition.status === 'True') || undefined;
  };
  if (await lookFor(isEstablished, ESTABLISHED_PATIENCE, signal)) return;
  const reasons = conditions.filter((condition) => condition.status === 'False').map((condition) => condition.message);
  throw new AppError('Timeout', `The API server does not serve ${name} after ${ESTABLISHED_PATIENCE.forMs / 1000} s. ${reasons.join('; ')}`.trim());
}

/** What to do after an installation, for people. */
export function nextSteps({ installNamespace, webhookUrl }: InstallOptions): string {
  const where = webhookUrl === undefined ? `in namespace ${installNamespace}` : `so that its webhook answers at ${webhookUrl}`;
  return [
    'Isthmus is installed. Next:',
    `  run it ${where}: isthmus run`,
    '  connect a source to a target: isthmus peer --source-kubeconfig A --target-kubeconfig B --name NAME',
    '  opt a namespace in: kubectl label namespace NAMESPACE multicluster-scheduler=enabled',
  ].join('\n');
}
