// The flags of `isthmus run`, and each component's options from them.
import { Option, type Command } from 'commander';
import { DEFAULT_INSTALL_NAMESPACE } from '../../api/objects/keys.ts';
import { AppError } from '../../process/errors.ts';
import type { LogLevel } from '../../process/logger.ts';
import type { SchedulerOptions } from '../../scheduler/main.ts';
import type { ScoreWeights } from '../../model/proxy/score-weights.ts';
import type { WebhookOptions } from '../../webhook/main.ts';
import { withKubeletOptions, type KubeletFlags } from './kubelet-api.ts';
import { withAccessOptions, type AccessFlags } from './local-access-options.ts';
import { withTenantOptions, type TenantFlags } from './tenant-limits.ts';
import {
  gatewayOption, healthPortOption, logLevelOption, parseNamespaces, parsePort, parseScoreWeights,
  parseSeconds, wholeNumber,
} from '../clusters/run-flags.ts';
import { OR_OWN_ACCOUNT, withClusterFlags, type ClusterFlags } from '../clusters/cluster-flags.ts';
import { EVERY_ADDRESS } from '../../model/network/socket-address.ts';

const COMPONENTS =
  ['webhook', 'scheduler', 'delegate-controller', 'virtual-node', 'kubelet-api', 'peering', 'discovery'] as const;
/** A component of Isthmus that can run in its own process. */
export type Component = (typeof COMPONENTS)[number];

const DEFAULT_WEBHOOK_PORT = 9443;
const SHORTEST_LEASE_SECONDS = 5;

interface CertificateFlags {
  readonly webhookCertificateSecret?: string;
  readonly webhookCertificateFile?: string;
  readonly webhookKeyFile?: string;
}

/** The options, as they were given. */
export interface RunOptions extends ClusterFlags, CertificateFlags, KubeletFlags, TenantFlags, AccessFlags {
  readonly webhookClientCaFile?: string;
  readonly webhookDrainSeconds: number;
  readonly writeSourceManifest?: boolean;
  readonly namespace: string;
  readonly components: readonly Component[];
  readonly webhookHost: string;
  readonly webhookPort: number;
  readonly target: boolean;
  readonly source: boolean;
  readonly leaderElect: boolean;
  readonly healthHost: string;
  readonly healthPort?: number;
  readonly logLevel: LogLevel;
  readonly scoreWeights?: Partial<ScoreWeights>;
  readonly region?: string;
  readonly zone?: string;
  readonly decisionLog?: string;
  readonly clusterProfiles?: readonly string[];
  readonly gateway?: readonly URL[];
  readonly install?: boolean;
  readonly webhookUrl?: string;
  readonly join?: readonly string[];
  readonly failoverLeaseSeconds?: number;
}

/** Adds the options to a command. */
export function withRunOptions(command: Command): Command {
  command.description('Run the components of Isthmus for one cluster, as a source and as a target.');
  const own = withPlacementOptions(withWebhookOptions(withProcessOptions(command)));
  return withAccessOptions(withTenantOptions(withKubeletOptions(own)));
}

/** Which cluster the process works for, with what, and as what. */
function withProcessOptions(command: Command): Command {
  return withClusterFlags(command, 'the cluster', OR_OWN_ACCOUNT)
    .option('--namespace <name>', 'namespace that Isthmus is installed in', DEFAULT_INSTALL_NAMESPACE)
    .option('--install', 'run "isthmus install" first; needs administrator permissions')
    .option(
      '--webhook-url <url>',
      'with --install: https URL at which the API server reaches this webhook, if it runs outside the cluster',
    )
    .option(
      '--join <tokens...>',
      'then join with these tokens from "isthmus invite"; targets that have already joined are skipped',
    )
    .addOption(
      new Option('--components <list>', `comma separated, of ${COMPONENTS.join(', ')}`).argParser(parseComponents)
        .default(COMPONENTS, 'all'),
    )
    .addOption(gatewayOption())
    .option(
      '--no-target',
      'run no pods of other clusters here: saves watching the pods and nodes of a cluster that is only a source',
    )
    .option(
      '--no-source',
      'send no pods of this cluster elsewhere: a cluster that is only a target then needs no permissions of a source',
    )
    .option('--no-leader-elect', 'run without leader election; only if there can be no second replica')
    .option('--health-host <address>', 'address of /healthz, /readyz and /metrics', EVERY_ADDRESS)
    .addOption(healthPortOption())
    .option(
      '--failover-lease-seconds <number>',
      "how long this source's lease lasts in a target that fences its pods; see docs/failover.md",
      wholeNumber('--failover-lease-seconds', SHORTEST_LEASE_SECONDS, 86_400),
    )
    .addOption(logLevelOption());
}

function withWebhookOptions(command: Command): Command {
  return command
    .option('--webhook-host <address>', 'address that the webhook listens on', EVERY_ADDRESS)
    .option(
      '--webhook-port <number>', 'port that the webhook listens on', parsePort('--webhook-port'), DEFAULT_WEBHOOK_PORT,
    )
    .option(
      '--webhook-certificate-secret <name>',
      "serve the certificate in this Secret, for example cert-manager's, instead of a self-managed one",
    )
    .option('--webhook-certificate-file <file>', 'serve the certificate in this file (PEM); reloaded when it changes')
    .option('--webhook-key-file <file>', 'its private key (PEM)')
    .option(
      '--webhook-client-ca-file <file>',
      'accept reviews only from clients with a certificate of this CA (PEM); probes then go to --health-port',
    )
    .option(
      '--write-source-manifest',
      "keep a copy of the source pod in annotation sourcepod-manifest of proxy pods, for tools written " +
        "for Admiralty; Isthmus never reads it",
    )
    .option(
      '--webhook-drain-seconds <number>', 'how long a stopping webhook keeps serving while it reports not ready',
      parseSeconds, 0,
    );
}

function withPlacementOptions(command: Command): Command {
  return command
    .option(
      '--score-weights <list>',
      'weights of scores, for example cost=2,leastAllocated=0; placement policies and pods may override them',
      parseScoreWeights,
    )
    .option('--region <name>', 'region of this cluster, for the score locality')
    .option('--zone <name>', 'zone of this cluster, for the score locality')
    .option(
      '--decision-log <file>',
      'log each decision with its inputs, for "isthmus replay"; rotates between two files of 64 MiB; - is ' +
        'standard output',
    )
    .option(
      '--cluster-profiles <namespaces>',
      'publish ClusterTargets as ClusterProfiles in these namespaces, comma separated; see docs/export.md',
      parseNamespaces,
    );
}

function parseComponents(text: string): readonly Component[] {
  const names = text.split(',').map((name) => name.trim());
  return names.map((name) => {
    const component = COMPONENTS.find((known) => known === name);
    if (component === undefined) {
      throw new AppError('BadInput', `--components has no "${name}"; choose from ${COMPONENTS.join(', ')}.`);
    }
    return component;
  });
}

/** Options of the webhook. Throws AppError `BadInput` for two certificate sources, or half of one. */
export function webhookOptions(options: RunOptions): Omit<WebhookOptions, 'source' | 'logger'> {
  const { namespace, webhookHost, webhookPort, webhookClientCaFile, webhookDrainSeconds, writeSourceManifest } =
    options;
  return {
    installNamespace: namespace, host: webhookHost, port: webhookPort, clientAuthorityFile: webhookClientCaFile,
    drainMs: webhookDrainSeconds * 1_000,
    writesManifest: writeSourceManifest === true, certificates: certificateSource(options),
  };
}

function certificateSource(options: CertificateFlags): WebhookOptions['certificates'] {
  const { webhookCertificateSecret: name, webhookCertificateFile: certificate, webhookKeyFile: key } = options;
  if ((certificate === undefined) !== (key === undefined)) {
    throw new AppError(
      'BadInput', '--webhook-certificate-file and --webhook-key-file belong together; give both or neither.',
    );
  }
  if (certificate === undefined || key === undefined) return name === undefined
    ? { kind: 'own' }
    : { kind: 'secret', name };
  if (name !== undefined) throw new AppError(
    'BadInput', '--webhook-certificate-secret and --webhook-certificate-file are two sources; give one.',
  );
  return { kind: 'files', files: { certificate, key } };
}

/** Score weights and location of the source. */
export function placementOf({ scoreWeights, region, zone }: RunOptions): SchedulerOptions['placement'] {
  return {
    ...(scoreWeights && { weights: scoreWeights }),
    location: { ...(region !== undefined && { region }), ...(zone !== undefined && { zone }) },
  };
}
