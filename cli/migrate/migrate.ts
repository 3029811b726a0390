// `isthmus migrate`: migrates a cluster from a running Admiralty to Isthmus, and back.
import { Command } from 'commander';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { DEPLOYMENTS, MUTATING_WEBHOOK_CONFIGURATIONS } from '../../api/resource-types.ts';
import { detectAdmiralty } from '../../targets/admiralty/admiralty-detection.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { openCluster, userAgent } from '../../kubernetes/client/open-cluster.ts';
import { readClusterId } from '../../kubernetes/client/cluster-id.ts';
import { AppError } from '../../process/errors.ts';
import {
  ADMIRALTY_COMPONENTS, findAdmiralty, type AdmiraltyInstallation, type Deployment,
} from './admiralty-installation.ts';
import type { Progress } from '../clusters/apply-objects.ts';
import {
  targetText, withCluster, withClusterFlags, withInstallNamespace, type ClusterFlags,
} from '../clusters/cluster-flags.ts';
import { installOptions } from '../install/install.ts';
import {
  migrationTarget, targetsOf, type Migration, type MigrationTarget, type NamedTarget, type Step,
} from './migration.ts';
import { installedBy, returnSteps, takeoverSteps } from './migration-steps.ts';
import { requireSameClusters } from './migrate-targets.ts';
import { requirePreconditions, targetFiles } from '../takeover/preconditions.ts';

interface MigrateFlags extends ClusterFlags {
  readonly installNamespace: string;
  readonly target?: readonly string[];
  readonly dryRun?: true;
}

interface TakeoverFlags extends MigrateFlags {
  readonly webhookUrl?: string;
  readonly install?: true;
  readonly targetsLater?: true;
}

/** To Isthmus or back. */
interface Direction {
  readonly stepsFor: (isSource: boolean) => readonly Step[];
  /** Throws AppError where the steps must not begin. */
  readonly check: (migration: Migration) => Promise<void>;
  /** What to do where there is no Admiralty. */
  readonly withoutAdmiralty: string;
}

/** The command for commander. */
export function migrateCommand(): Command {
  return new Command('migrate')
    .description(
      'Take a cluster over from Admiralty 0.14 to 0.17, which is live, and back. No pod is lost; each command can ' +
        'be interrupted and repeated.',
    )
    .addCommand(
      withFlags(new Command('admiralty').description(
        'Migrate this cluster from Admiralty: targets first, then their sources. Nothing of the release of Admiralty ' +
          'is deleted; run "helm uninstall" when you are satisfied.',
      ))
        .option('--webhook-url <url>', 'https URL of a webhook outside the cluster')
        .option('--install', 'without Helm: install the same as "isthmus install" where Isthmus is not installed')
        .option('--targets-later', 'in a source: migrate it although Admiralty still runs in targets')
        .action((flags: TakeoverFlags) => migrate(flags, takeover(flags))),
    )
    .addCommand(
      withFlags(new Command('rollback').description(
        'Return this cluster to Admiralty: sources first, then their targets. Isthmus then stands by.',
      )).action((flags: MigrateFlags) => migrate(flags, ROLLBACK)),
    );
}

function withFlags(command: Command): Command {
  return withInstallNamespace(withClusterFlags(command))
    .option(
      '--target <name=file...>',
      "in a source, for each of its targets: NAME or NAMESPACE/NAME, and an administrator's kubeconfig",
    )
    .option('--dry-run', 'print what exists and what would be done, and change nothing');
}

function takeover(flags: TakeoverFlags): Direction {
  const { installNamespace, webhookUrl, install, targetsLater = false } = flags;
  return {
    stepsFor: (isSource) => takeoverSteps(
      { isSource, targetsLater, install: installOptions({ namespace: installNamespace, webhookUrl }) },
    ),
    check: async (migration) => requirePreconditions({
      installed: await installedBy(migration), installNamespace, mayInstall: install === true, targetsLater,
      admiraltyTargets:
        migration.targets.filter(({ isAdmiraltyThere }) => isAdmiraltyThere).map(({ ref }) => targetText(ref)),
    }),
    withoutAdmiralty: 'Use "isthmus install".',
  };
}

const ROLLBACK: Direction = {
  stepsFor: returnSteps,
  check: () => Promise.resolve(),
  withoutAdmiralty:
    'After "helm uninstall" of Admiralty this cluster cannot be returned to it, and Isthmus keeps running. To roll ' +
      'back, install Admiralty again first.',
};

async function migrate(flags: MigrateFlags, { stepsFor, check, withoutAdmiralty }: Direction): Promise<void> {
  await withCluster(flags, 'migrate', async ({ client }, signal) => {
    const progress = { tell: (line: string) => console.log(line), signal };
    const installation = await findInstallation(client, progress, withoutAdmiralty);
    const named = await targetsOf(client, signal);
    const opened = await openTargets(client, named, flags, signal);
    try {
      const migration: Migration = {
        ...progress, client, installNamespace: flags.installNamespace, installation,
        clusterId: await readClusterId(client, signal), targets: opened,
      };
      for (const line of describe(migration)) progress.tell(line);
      await requireSameClusters(migration, named);
      await check(migration);
      await runSteps(stepsFor(named.length > 0), migration, flags.dryRun === true);
    } finally {
      await Promise.all(
        opened.filter((target) => target.client !== client).map((target) => target.client.transport.close()),
      );
    }
  });
}

/** Runs the steps in order, with progress. Throws what the first failing one throws; earlier ones stay done. */
async function runSteps(steps: readonly Step[], migration: Migration, isDryRun: boolean): Promise<void> {
  for (const [index, { title, run }] of steps.entries()) {
    migration.tell(`${isDryRun ? 'would ' : ''}${index + 1}/${steps.length} ${title}`);
    if (!isDryRun) await run(migration);
  }
  migration.tell(isDryRun ? 'nothing was changed' : 'done');
}

async function findInstallation(
  client: ClusterClient, { signal }: Progress, otherwise: string,
): Promise<AdmiraltyInstallation> {
  const [deployments, configurations] = await Promise.all([
    client.list(DEPLOYMENTS as ResourceType<Deployment>, {}, signal),
    client.list(MUTATING_WEBHOOK_CONFIGURATIONS, {}, signal),
  ]);
  const found = findAdmiralty(deployments, configurations);
  if (found === undefined) throw new AppError(
    'NotFound',
    'No Admiralty is installed in this cluster: no Deployment and no webhook configuration of its chart was found. ' +
      otherwise,
  );
  return found;
}

async function openTargets(
  client: ClusterClient, named: readonly NamedTarget[], { target = [] }: MigrateFlags, signal: AbortSignal,
): Promise<readonly MigrationTarget[]> {
  const files = targetFiles(named.filter(({ object }) => object.spec.self !== true).map(({ ref }) => ref), target);
  return Promise.all(named.map(async ({ ref, object }) => {
    const opened = object.spec.self === true
      ? client
      : (await openCluster({ kubeconfigPath: files.get(targetText(ref)), userAgent: userAgent('migrate') })).client;
    const { leases } = object.spec.self === true ? { leases: [] } : await detectAdmiralty(opened, signal);
    return migrationTarget(ref, opened, leases.some((name) => name.endsWith('/admiralty-controller-manager')));
  }));
}

function describe({ installation, targets, clusterId }: Migration): readonly string[] {
  const found = ADMIRALTY_COMPONENTS.flatMap((component) => {
    const deployment = installation.deployments.get(component);
    return deployment === undefined ? [] : [
      `  ${component}: Deployment ${deployment.metadata.namespace}/${deployment.metadata.name}, ` +
        `${deployment.spec.replicas ?? 1} replicas`,
    ];
  });
  return [
    `Admiralty in cluster ${clusterId}:`, ...found,
    ...installation.webhooks.map(({ metadata }) => `  webhook: MutatingWebhookConfiguration ${metadata.name}`),
    `  roles of sources: ${installation.sourceRole}, ${installation.summaryViewerRole}`,
    ...targets.map(
      ({ key, isAdmiraltyThere }) =>
        `  ${key}: ${isAdmiraltyThere ? 'Admiralty is active there' : 'Admiralty is not active there'}`,
    ),
  ];
}
