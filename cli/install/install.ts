// `isthmus install`: prepares a cluster to be a source, a target, or both.
import { Command, Option } from 'commander';
import { POD_PATH } from '../../api/admission-rules.ts';
import type { Condition, KubernetesObject } from '../../api/objects/core.ts';
import { DEFAULT_INSTALL_NAMESPACE } from '../../api/objects/keys.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { SERVICE_EXPORTS } from '../../api/kinds/service-discovery.ts';
import {
  CLUSTER_TARGETS, CUSTOM_RESOURCE_DEFINITIONS, TARGETS, VALIDATING_ADMISSION_POLICIES,
} from '../../api/resource-types.ts';
import { detectAdmiralty } from '../../targets/admiralty/admiralty-detection.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { customResourceDefinitions, serviceDiscoveryCrds } from '../../manifests/objects/crds.ts';
import type { InstallRole } from '../../manifests/objects/component-permissions.ts';
import { toYaml } from '../../manifests/files.ts';
import { admiraltyRoles } from '../../manifests/objects/rbac.ts';
import { serviceDiscoveryAccess } from '../../manifests/objects/service-discovery.ts';
import { isLive, signsText } from '../../model/naming/live-admiralty.ts';
import { MAX_INSTALL_NAMESPACE } from '../../model/access/key-namespace.ts';
import { PART_OF } from '../../model/access/rbac-objects.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import { installManifests, type InstallOptions } from '../../manifests/install.ts';
import { AppError } from '../../process/errors.ts';
import { applyObjects, objectName, typeOf, type Progress } from '../clusters/apply-objects.ts';
import { withCluster, withClusterFlags, type ClusterFlags } from '../clusters/cluster-flags.ts';
import { pollUntil } from '../clusters/poll-until.ts';
import { ensureNamespaces } from './install-namespace.ts';
import { withoutKeptDefinition } from './kept-definitions.ts';
import { keepWebhookUrl, moveWebhooks } from './webhook-address.ts';
import { requireLabel } from '../output/object-names.ts';
import { isOfIsthmus, removeOwn, requireOwn } from '../clusters/own-objects.ts';
import { listIfServed, orNotFound } from '../clusters/served-objects.ts';

/** Field manager of `isthmus install`; the webhook's CA bundle has another one and stays. */
export const INSTALL_FIELD_MANAGER = 'isthmus-install';
const ESTABLISHED_POLLING = { forMs: 30_000, everyMs: 100 };

type DefinitionWithStatus = KubernetesObject & {
  readonly spec?: { readonly versions?: readonly { readonly name: string }[] };
  readonly status?: { readonly conditions?: readonly Condition[] };
};

interface InstallFlags extends ClusterFlags {
  readonly namespace: string;
  readonly webhookUrl?: string;
  readonly failurePolicy?: 'Fail' | 'Ignore';
  readonly role: InstallRole;
  readonly dryRun?: boolean;
  readonly liqoLabels?: boolean;
  readonly serviceDiscovery?: boolean;
  readonly admiraltyRoles?: boolean;
}

/** The command for commander. */
export function installCommand(): Command {
  const command = new Command('install').description(
    'Install the CRDs, RBAC and webhook configuration into a cluster, as source or target. Can be repeated.',
  );
  return withClusterFlags(command, 'the cluster')
    .option('--namespace <name>', 'install namespace', DEFAULT_INSTALL_NAMESPACE)
    .addOption(
      new Option(
        '--role <role>',
        'source: its pods may run elsewhere; target: it runs pods of other clusters; or both. Grants only the ' +
          'permissions of that role',
      ).choices(['source', 'target', 'both']).default('both'),
    )
    .option(
      '--webhook-url <url>',
      `https URL of a webhook outside the cluster; without a path ${POD_PATH} is added; a URL in force stays ` +
        'when this is left out',
    )
    .addOption(
      new Option(
        '--failure-policy <policy>',
        'what happens to elected pods while the webhook is down: Fail denies them, Ignore runs them in this cluster',
      ).choices(['Fail', 'Ignore']),
    )
    .option(
      '--liqo-labels',
      'elect the pods of namespaces with label liqo.io/enabled=true or liqo.io/scheduling-enabled=true',
    )
    .option(
      '--service-discovery',
      'also install ServiceExport and ServiceImport, unless this cluster already serves them; see docs/services.md',
    )
    .option(
      '--admiralty-roles',
      "also the ClusterRoles admiralty-source and admiralty-cluster-summary-viewer, " +
        "for bindings that were made by hand",
    )
    .option('--dry-run', 'print the objects as YAML and change nothing')
    .action(runInstall);
}

async function runInstall(flags: InstallFlags): Promise<void> {
  const options = installOptions(flags);
  const more = [...(flags.serviceDiscovery === true ? serviceDiscoveryCrds() : []), ...(
    flags.admiraltyRoles === true ? admiraltyRoles() : []
  )];
  if (flags.dryRun === true) return console.log(toYaml([...installManifests(options), ...more]));
  await withCluster(flags, 'install', async ({ client }, signal) => {
    const progress = { tell: (line: string) => console.log(line), signal };
    await refuseBesideAdmiralty(client, progress);
    const kept = await keepWebhookUrl(client, options, progress);
    await installInto(client, kept, progress);
    if (flags.admiraltyRoles === true) await applyObjects(client, admiraltyRoles(), INSTALL_FIELD_MANAGER, progress);
    if (flags.serviceDiscovery === true) await installServiceDiscovery(client, options.installNamespace, progress);
    console.log(nextSteps(kept));
  });
}

/** Validates the flags. Throws AppError `BadInput` that names the invalid one. */
export function installOptions(flags: {
  readonly namespace: string; readonly webhookUrl?: string | undefined; readonly failurePolicy?: 'Fail' | 'Ignore';
  readonly liqoLabels?: boolean; readonly role?: InstallRole
}): InstallOptions {
  requireLabel('--namespace', flags.namespace);
  if (flags.namespace.length > MAX_INSTALL_NAMESPACE) throw new AppError(
    'BadInput', `--namespace takes at most ${MAX_INSTALL_NAMESPACE} characters: keys go into NAMESPACE-keys.`,
  );
  return {
    installNamespace: flags.namespace,
    webhookUrl: flags.webhookUrl === undefined ? undefined : webhookUrl(flags.webhookUrl),
    ...(flags.failurePolicy && { failurePolicy: flags.failurePolicy }),
    ...(flags.liqoLabels === true && { acceptsLiqoLabels: true }), ...(flags.role && { role: flags.role }),
  };
}

/** The URL for the API server; appends the webhook's path when there is none. Throws AppError `BadInput`. */
export function webhookUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:') {
    throw new AppError(
      'BadInput',
      `--webhook-url must be https://HOST:PORT, not ${JSON.stringify(text)}: API servers call webhooks over TLS only.`,
    );
  }
  // The API server rejects these as well, but without naming the flag.
  if (url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '') {
    throw new AppError('BadInput', '--webhook-url must not have a user, a query or a fragment.');
  }
  if (url.pathname === '/') url.pathname = POD_PATH;
  return url.href;
}

/**
 * Applies everything and waits until the cluster serves our CRDs. Takes over Admiralty's CRDs but for PodChaperons.
 * @throws AppError `NotFound` for an older Kubernetes, `BadInput` for objects of others under our names, `Timeout` when
 * the CRDs are not established within 30 s; what {@link ClusterClient} throws.
 */
export async function installInto(client: ClusterClient, options: InstallOptions, progress: Progress): Promise<void> {
  await client.listPage(VALIDATING_ADMISSION_POLICIES, {}, { limit: 1 }, progress.signal).catch(orNotFound(
    'This cluster does not serve ValidatingAdmissionPolicies: Isthmus needs Kubernetes 1.30 or newer. Nothing was ' +
      'changed.',
  ));
  const objects = await withoutKeptDefinition(
    client, installManifests(options).filter(({ kind }) => kind !== 'Namespace'), progress.signal,
  );
  const remedy = 'Rename or delete what is there, or install into another namespace with --namespace.';
  await requireOwn(client, objects.filter(({ kind }) => kind !== 'CustomResourceDefinition'), isOfIsthmus, {
    remedy, signal: progress.signal,
  });
  await ensureNamespaces(client, installManifests(options), INSTALL_FIELD_MANAGER, progress);
  await moveWebhooks(client, options, progress.signal);
  await applyObjects(client, objects, INSTALL_FIELD_MANAGER, progress);
  await removeOtherRole(client, options, progress);
  await Promise.all(customResourceDefinitions().map(
    ({ metadata: { name } }) => untilEstablished(client, name, progress.signal),
  ));
  progress.tell(`the cluster serves all ${customResourceDefinitions().length} kinds`);
}

/**
 * Removes objects of an installation for another role: a cluster that is only a source needs no permissions of a
 * target.
 */
async function removeOtherRole(
  client: ClusterClient, options: InstallOptions, { tell, signal }: Progress,
): Promise<void> {
  const wanted = new Set(installManifests(options).map(objectName));
  for (const object of installManifests({ ...options, role: 'both' }).filter((one) => !wanted.has(objectName(one)))) {
    const { namespace, name = '' } = object.metadata;
    if (
      (await removeOwn(client, { type: typeOf(object), at: { namespace, name } }, isOfIsthmus, signal)) === 'removed'
    ) tell(`removed ${objectName(object)}`);
  }
}

/**
 * In a source both webhooks would receive the same pods; in a target each PodChaperon gets one delegate, whoever
 * creates it.
 * @throws AppError `AdmiraltyActive` in a source.
 */
async function refuseBesideAdmiralty(client: ClusterClient, { tell, signal }: Progress): Promise<void> {
  const signs = await detectAdmiralty(client, signal);
  if (!isLive(signs)) return;
  const targets = [
    ...(await listIfServed(client, CLUSTER_TARGETS, signal)), ...(await listIfServed(client, TARGETS, signal)),
  ];
  const isSource = targets.length > 0;
  if (isSource) throw new AppError(
    'AdmiraltyActive',
    `Admiralty is running in this source: ${signsText(signs)}. Run "isthmus migrate admiralty" instead, which ` +
      'installs Isthmus and takes over its pods.',
  );
  tell(
    `warning: Admiralty is running in this cluster (${signsText(signs)}); "isthmus migrate admiralty" takes over ` +
      'what it has',
  );
}

/** Existing CRDs of the Multi-Cluster Services API from others stay unchanged. Throws AppError where they are older. */
export async function installServiceDiscovery(
  client: ClusterClient, installNamespace: string, progress: Progress,
): Promise<void> {
  const type: ResourceType<DefinitionWithStatus> = CUSTOM_RESOURCE_DEFINITIONS;
  const foreign = (await client.list(type, {}, progress.signal)).filter(({ metadata: { labels } }) =>
    Object.entries(PART_OF).some(([key, value]) => labels?.[key] !== value));
  const foreignOf = (name: string) => foreign.find(({ metadata }) => metadata.name === name);
  const names = serviceDiscoveryCrds().map(({ metadata: { name } }) => name);
  const old = names.filter((name) =>
    foreignOf(name)?.spec?.versions?.some((one) => one.name === SERVICE_EXPORTS.version) === false);
  if (old.length > 0) throw new AppError(
    'StillInUse',
    `${old.join(' and ')} of somebody else do not serve ${SERVICE_EXPORTS.version}, which service discovery uses: ` +
      'update what installed them, or delete them if nothing uses them.',
  );
  const definitions = serviceDiscoveryCrds().filter(({ metadata: { name } }) => foreignOf(name) === undefined);
  await applyObjects(
    client, [...definitions, ...serviceDiscoveryAccess(installNamespace)], INSTALL_FIELD_MANAGER, progress,
  );
  for (const name of names) await untilEstablished(client, name, progress.signal);
}

async function untilEstablished(client: ClusterClient, name: string, signal: AbortSignal): Promise<void> {
  const type: ResourceType<DefinitionWithStatus> = CUSTOM_RESOURCE_DEFINITIONS;
  let conditions: readonly Condition[] = [];
  const isEstablished = async (): Promise<true | undefined> => {
    conditions = (await client.get(type, { name }, signal)).status?.conditions ?? [];
    return findCondition(conditions, 'Established')?.status === 'True' || undefined;
  };
  if (await pollUntil(isEstablished, ESTABLISHED_POLLING, signal)) return;
  const reasons = conditions.filter((condition) => condition.status === 'False').map((condition) => condition.message);
  throw new AppError(
    'Timeout',
    `The API server does not serve ${name} after ${ESTABLISHED_POLLING.forMs / 1000} s. ${reasons.join('; ')}`.trim(),
  );
}

/** Next steps after an installation: what README says, with the names of this one. */
export function nextSteps({ installNamespace, webhookUrl, role = 'both' }: InstallOptions): string {
  const where =
    webhookUrl === undefined ? `in namespace ${installNamespace}` : `so that its webhook answers at ${webhookUrl}`;
  const isDefault = installNamespace === DEFAULT_INSTALL_NAMESPACE;
  const [named, offered] =
    isDefault ? ['', ''] : [` --namespace ${installNamespace}`, ` --install-namespace ${installNamespace}`];
  const only = { source: ' --no-target', target: ' --no-source', both: '' }[role];
  const invite = 'isthmus invite --name NAME --allow-namespace NAMESPACE';
  return [
    'Isthmus is installed. Next:',
    `  run it ${where}: isthmus run${only}${named}`,
    ...(role === 'source' ? [] : [
      `  invite a source, which joins with the token that this prints: ${invite}${offered}`,
    ]),
    ...(role === 'target' ? [] : [
      `  use a target, with the token that its "isthmus invite" printed: isthmus join TOKEN${offered}`,
      '  opt a namespace in: kubectl label namespace NAMESPACE multicluster-scheduler=enabled',
    ]),
  ].join('\n');
}
