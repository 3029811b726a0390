// The order of a takeover and of its rollback (ADR 0049). Each step finds what remains to be done, so that either
// command can be interrupted and repeated.
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import {
  CLUSTER_ROLES, CLUSTER_SUMMARIES, MUTATING_WEBHOOK_CONFIGURATIONS, VALIDATING_ADMISSION_POLICIES,
  VALIDATING_ADMISSION_POLICY_BINDINGS,
} from '../../api/resource-types.ts';
import { CLUSTER_SUMMARY_NAME } from '../../api/objects/own-names.ts';
import { PROXY_POLICY_NAMES, proxyPolicyManifests } from '../../manifests/policies/proxy-policy.ts';
import { installManifests, type InstallOptions } from '../../manifests/install.ts';
import {
  packagedWebhookConfiguration, WEBHOOK_CONFIGURATION_NAME,
} from '../../manifests/objects/webhook-configuration.ts';
import { AppError } from '../../process/errors.ts';
import { applyObjects } from '../clusters/apply-objects.ts';
import { INSTALL_FIELD_MANAGER } from '../install/install.ts';
import { withoutKeptDefinition } from '../install/kept-definitions.ts';
import type { InstalledBy } from '../takeover/preconditions.ts';
import { returnFollowed, takeFollowed } from './migrate-followed.ts';
import { deletePendingCandidates, releaseChaperons } from './migrate-chaperons.ts';
import { orphanedPods, returnPods, takePods } from './migrate-pods.ts';
import { startProcess, stopProcess, untilLeading, untilStandby } from './migrate-processes.ts';
import { keepCrds, restoreReleases } from './migrate-release.ts';
import { grantKubeconfigAccess, requireReady } from './migrate-targets.ts';
import {
  grantAdmiraltyPermissions, removeOurPermissions, takePermissions, untilPermissionsReturned,
} from './migrate-permissions.ts';
import {
  restoreAdmiraltyWebhook, disableAdmiraltyWebhook, restoreAdmiraltyConfiguration, switchWebhook, untilWebhookAnswers,
} from './migrate-webhook.ts';
import { writeRecord, type Migration, type Step } from './migration.ts';

const UNDER_WAY = 'A migration from Admiralty is under way';
const TAKEN_BACK = 'The migration from Admiralty was rolled back; "isthmus migrate admiralty" starts it again';

/** Options of a migration. */
export interface TakeoverOptions {
  readonly install: InstallOptions;
  /** The cluster has targets. */
  readonly isSource: boolean;
  /** Targets may be migrated after their source. */
  readonly targetsLater: boolean;
}

/** The steps by which Isthmus takes over. */
export function takeoverSteps({ install, isSource, targetsLater }: TakeoverOptions): readonly Step[] {
  const common: readonly Step[] = [
    { title: "keep the CRDs of Admiralty through an uninstall of it", run: keepCrds },
    { title: 'install Isthmus beside it', run: (migration) => installBeside(migration, install, isSource) },
  ];
  return [...common, ...(isSource ? sourceTakeover(install, targetsLater) : targetTakeover())];
}

function sourceTakeover(install: InstallOptions, targetsLater: boolean): readonly Step[] {
  return [
    { title: 'have the components of Isthmus stand by', run: standByForTakeover },
    {
      title: 'wait until the webhook of Isthmus serves',
      run: async (migration) => void (await untilWebhookAnswers(migration)),
    },
    {
      title: "stop Admiralty's restarter and proxy scheduler; pods are still admitted, and wait",
      run: (migration) => stopAll(migration, ['restarter', 'proxy-scheduler']),
    },
    { title: "switch admission to Isthmus's webhook", run: switchWebhook },
    {
      title: "stop Admiralty's controllers and candidate scheduler",
      run: (migration) => stopAll(migration, ['controller-manager', 'candidate-scheduler']),
    },
    { title: 'recreate candidates that wait for that scheduler', run: deletePendingCandidates },
    { title: 'take over the permissions of sources', run: takePermissions },
    { title: 'let Isthmus read the kubeconfigs of its targets', run: grantKubeconfigAccess },
    { title: 'take over what follows pods', run: takeFollowed },
    { title: 'take over proxies, PodChaperons and delegates', run: takePods },
    { title: 'activate the components of Isthmus', run: (migration) => letAct(migration, install) },
    { title: 'check that everything was migrated', run: verify },
    {
      title: 'check that Isthmus can use every target',
      run: (migration) => requireReady(migration, { targetsLater }),
    },
  ];
}

function targetTakeover(): readonly Step[] {
  return [
    { title: 'wait until Isthmus acts beside Admiralty', run: untilTargetActs },
    {
      title: "stop Admiralty's restarter, proxy scheduler and controllers",
      run: (migration) => stopAll(migration, ['restarter', 'proxy-scheduler', 'controller-manager']),
    },
    { title: 'take over the permissions of sources', run: takePermissions },
    {
      title: "stop Admiralty's candidate scheduler; Isthmus answers its sources from now on",
      run: (migration) => stopAll(migration, ['candidate-scheduler']),
    },
    { title: 'recreate candidates that wait for that scheduler', run: deletePendingCandidates },
    { title: "make Admiralty's webhook match nothing", run: disableAdmiraltyWebhook },
  ];
}

/** The steps of a rollback, from wherever the migration stopped. */
export function returnSteps(isSource: boolean): readonly Step[] {
  const before: readonly Step[] = [
    { title: 'have the components of Isthmus stand by', run: (migration) => standBy(migration, isSource) },
    { title: "bind sources to Admiralty's roles, and remove ours", run: async (migration) => {
      await grantAdmiraltyPermissions(migration);
      await removeOurPermissions(migration);
    } },
    { title: 'release what Isthmus holds', run: releaseSummaryAndChaperons },
  ];
  const source: readonly Step[] = [
    { title: 'return proxies, PodChaperons and delegates', run: returnPods },
    { title: 'return what follows pods', run: returnFollowed },
    {
      title: "switch admission to Admiralty's configuration, which Isthmus still answers",
      run: restoreAdmiraltyConfiguration,
    },
    { title: "start Admiralty's controllers", run: (migration) => startProcess('controller-manager', migration) },
    { title: "switch admission to Admiralty's webhook", run: restoreAdmiraltyWebhook },
    { title: 'return what was admitted meanwhile', run: returnPods },
  ];
  const target: readonly Step[] = [
    { title: "start Admiralty's controllers", run: (migration) => startProcess('controller-manager', migration) },
    { title: "let the API server call Admiralty's webhook again", run: restoreAdmiraltyWebhook },
  ];
  const after: readonly Step[] = [
    { title: "wait for Admiralty's permissions of sources", run: untilPermissionsReturned },
    { title: "start Admiralty's schedulers and restarter", run: async (migration) => {
      for (const component of ['candidate-scheduler', 'proxy-scheduler', 'restarter'] as const) {
        await startProcess(component, migration);
      }
    } },
    { title: "restore Admiralty's release as Helm wrote it", run: restoreReleases },
  ];
  return [...before, ...(isSource ? source : target), ...after];
}

/** Also where an earlier takeover was finished and they act. */
async function standByForTakeover(migration: Migration): Promise<void> {
  await writeRecord(migration, { standby: UNDER_WAY });
  await untilStandby(migration);
}

async function stopAll(migration: Migration, components: readonly Parameters<typeof stopProcess>[0][]): Promise<void> {
  await Promise.all(components.map((component) => stopProcess(component, migration)));
}

/** By what Isthmus was installed here: an upgrade by Helm would reject fields that others have applied. */
export async function installedBy({ client, signal }: Pick<Migration, 'client' | 'signal'>): Promise<InstalledBy> {
  const roles = await Promise.all(['isthmus-delegate-controller', 'isthmus-delegate-controller-source'].map(
    (name) => client.get(CLUSTER_ROLES, { name }, signal).catch(unless(isNotFound)),
  ));
  const namespace = roles.map((role) => role?.metadata.annotations?.['meta.helm.sh/release-namespace'])
    .find((found) => found !== undefined);
  if (namespace !== undefined) return { kind: 'chart', namespace };
  return { kind: roles.some((role) => role !== undefined) ? 'command' : 'nothing' };
}

/** An existing webhook of Isthmus stays; a new one matches pods only when told to. */
async function installBeside(migration: Migration, install: InstallOptions, isSource: boolean): Promise<void> {
  const { client, signal } = migration;
  if ((await installedBy(migration)).kind === 'chart') return migration.tell('  the chart is installed');
  const found = await client.get(MUTATING_WEBHOOK_CONFIGURATIONS, { name: WEBHOOK_CONFIGURATION_NAME }, signal)
    .catch(unless(isNotFound));
  const policies: readonly (string | undefined)[] =
    [VALIDATING_ADMISSION_POLICIES.kind, VALIDATING_ADMISSION_POLICY_BINDINGS.kind];
  const all = installManifests({ ...install, role: isSource ? 'both' : 'target' }).filter(({ kind, metadata }) => {
    if (kind === MUTATING_WEBHOOK_CONFIGURATIONS.kind) return false;
    // it rejects proxy pods created by Admiralty's webhook
    return !(isSource && policies.includes(kind) && PROXY_POLICY_NAMES.includes(metadata.name ?? ''));
  });
  const objects = await withoutKeptDefinition(client, all, signal);
  await applyObjects(client, objects, INSTALL_FIELD_MANAGER, { tell: () => undefined, signal });
  if (isSource && found === undefined) await applyObjects(
    client, [packagedWebhookConfiguration(install)], INSTALL_FIELD_MANAGER, { tell: () => undefined, signal },
  );
}

async function letAct(migration: Migration, install: InstallOptions): Promise<void> {
  await writeRecord(migration, {});
  if ((await installedBy(migration)).kind === 'chart') migration.tell(
    '  run "helm upgrade" of the chart once more: it adds the policy that protects what admission wrote to proxy pods',
  );
  else await applyObjects(migration.client, proxyPolicyManifests(install.installNamespace), INSTALL_FIELD_MANAGER, {
    tell: () => undefined, signal: migration.signal,
  });
  await untilLeading(migration, ['scheduler', 'delegate-controller', 'virtual-node']);
}

async function untilTargetActs(migration: Migration): Promise<void> {
  await writeRecord(migration, {});
  await untilLeading(migration, ['delegate-controller']);
}

async function verify(migration: Migration): Promise<void> {
  const stray = await orphanedPods(migration);
  if (stray.length > 0) {
    throw new AppError('StillInUse', `These pods have no proxy pod: ${stray.join(', ')}. Run the same command again.`);
  }
}

async function standBy(migration: Migration, isSource: boolean): Promise<void> {
  await writeRecord(migration, { standby: TAKEN_BACK, ...(isSource && { webhook: TAKEN_BACK }) })
    .catch(unless(isNotFound)); // without its namespace Isthmus does not run
  await untilStandby(migration);
  for (const type of [VALIDATING_ADMISSION_POLICY_BINDINGS, VALIDATING_ADMISSION_POLICIES]) {
    for (const name of PROXY_POLICY_NAMES) {
      await migration.client.delete(type, { name }, {}, migration.signal).catch(unless(isNotFound));
    }
  }
}

/** A summary with a timestamp would count as our heartbeat. */
async function releaseSummaryAndChaperons(migration: Migration): Promise<void> {
  const { client, signal } = migration;
  await client
    .patch(CLUSTER_SUMMARIES, { name: CLUSTER_SUMMARY_NAME }, { patchType: 'merge', patch: { observed: null } }, signal)
    .catch(unless(isNotFound));
  await releaseChaperons(migration);
}
