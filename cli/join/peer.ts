// `isthmus peer`: lets a source cluster run pods in a target cluster.
import { Command, Option } from 'commander';
import type { DelegationMode } from '../../api/kinds/cluster-target.ts';
import { DEFAULT_TOKEN_SECONDS } from '../../api/kinds/invitation.ts';
import { DEFAULT_INSTALL_NAMESPACE } from '../../api/objects/keys.ts';
import type { GatewayRoute } from '../../kubernetes/connect/gateway-dialer.ts';
import { openCluster, userAgent } from '../../kubernetes/client/open-cluster.ts';
import type { Peering } from '../../peering/access/target-access.ts';
import { AppError } from '../../process/errors.ts';
import { untilStopped } from '../../process/lifecycle.ts';
import type { Progress } from '../clusters/apply-objects.ts';
import { gatewayRoute, podPlaneCluster, withGatewayRoute, type GatewayFlags } from '../clusters/gateway-route.ts';
import { grantsOf, withGrantFlags, type GrantFlags } from './grant-flags.ts';
import { requireLabel } from '../output/object-names.ts';
import { MIN_TOKEN_SECONDS, peerClusters, type PeerCluster, type PeeringRequest } from './peer-clusters.ts';
import { untilTargetReady, type Readiness } from '../clusters/target-readiness.ts';

interface PeerFlags extends GatewayFlags, GrantFlags {
  readonly sourceKubeconfig: string;
  readonly sourceContext?: string;
  readonly targetKubeconfig: string;
  readonly targetContext?: string;
  readonly name: string;
  readonly namespace?: string;
  readonly installNamespace: string;
  readonly targetServer?: string;
  readonly tokenSeconds: number;
  readonly delegation?: DelegationMode;
}

/** The command for commander. */
export function peerCommand(): Command {
  return withGrantFlags(withGatewayRoute(new Command('peer')))
    .description(
      'Allow a source cluster to run pods in a target cluster. Both need "isthmus install" first, except the ' +
        'target with --delegation Pod. Can be repeated.',
    )
    .requiredOption('--source-kubeconfig <file>', 'kubeconfig of the source, with administrator permissions')
    .option('--source-context <name>', 'context within it; default: its current-context')
    .requiredOption('--target-kubeconfig <file>', 'kubeconfig of the target, with administrator permissions')
    .option('--target-context <name>', 'context within it; default: its current-context')
    .requiredOption('--name <name>', 'name of the target in the source')
    .option(
      '--namespace <name>', 'peer this namespace only (Target and Source instead of ClusterTarget and ClusterSource)',
    )
    .option(
      '--install-namespace <name>', 'namespace that Isthmus is installed in, in both clusters',
      DEFAULT_INSTALL_NAMESPACE,
    )
    .option(
      '--target-server <url>',
      "https URL at which the source reaches the target's API server; default: the kubeconfig's",
    )
    .option(
      '--token-seconds <number>', `lifetime of the token, which the source renews; at least ${MIN_TOKEN_SECONDS}`,
      parseTokenSeconds, DEFAULT_TOKEN_SECONDS,
    )
    .addOption(
      new Option(
        '--delegation <mode>',
        'Pod: the target does not need Isthmus, the source writes pods there itself; detected by default',
      ).choices(['PodChaperon', 'Pod']),
    )
    .action(runPeer);
}

/** Checks the flags. Throws AppError `BadInput` that names the one that is wrong. */
export function peerOptions(
  flags: Pick<
    PeerFlags,
    'name' | 'namespace' | 'installNamespace' | 'targetServer' | 'tokenSeconds' | 'delegation' | keyof GrantFlags
  >,
): Omit<PeeringRequest, 'source' | 'target'> {
  requireLabel('--name', flags.name);
  requireLabel('--install-namespace', flags.installNamespace);
  if (flags.namespace !== undefined) requireLabel('--namespace', flags.namespace);
  if (flags.targetServer !== undefined) requireServer('--target-server', flags.targetServer);
  const { name, namespace, installNamespace, targetServer, tokenSeconds, delegation } = flags;
  if (namespace !== undefined && delegation === 'Pod') {
    throw new AppError(
      'BadInput',
      '--delegation Pod is for whole clusters: the source must see the nodes of the target. Leave out --namespace, ' +
        'or install Isthmus in the target.',
    );
  }
  return {
    name, namespace, installNamespace, targetServer, tokenSeconds, delegation, grants: grantsOf(flags, namespace),
  };
}

/** A life that API servers grant. Throws AppError `BadInput`. */
export function parseTokenSeconds(text: string): number {
  const seconds = Number(text);
  if (Number.isInteger(seconds) && seconds >= MIN_TOKEN_SECONDS) return seconds;
  throw new AppError(
    'BadInput', `--token-seconds takes a whole number of at least ${MIN_TOKEN_SECONDS}, not "${text}".`,
  );
}

/** An https URL without a password. Throws AppError `BadInput` that names the flag. */
export function requireServer(flag: string, text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '') {
    throw new AppError('BadInput', `${flag} must be https://HOST:PORT, not ${JSON.stringify(text)}.`);
  }
}

async function runPeer(flags: PeerFlags): Promise<void> {
  const options = peerOptions(flags);
  const route = gatewayRoute(flags);
  const member = podPlaneCluster(flags);
  const progress: Progress = { tell: (line) => console.log(line), signal: untilStopped() };
  const source = await openPeer('source cluster', flags.sourceKubeconfig, flags.sourceContext);
  const target = await openPeer('target cluster', flags.targetKubeconfig, flags.targetContext, route);
  try {
    const peering = await peerClusters(
      { ...options, source, target, gatewayCluster: route?.clusterId, podPlaneCluster: member }, progress,
    );
    progress.tell('waiting for the target to become Ready');
    console.log(outcomeText(peering, await untilTargetReady(source.client, peering, progress.signal)));
  } finally {
    await Promise.all([source.client.transport.close(), target.client.transport.close()]);
  }
}

async function openPeer(
  role: string, kubeconfigPath: string, context: string | undefined, gateway?: GatewayRoute,
): Promise<PeerCluster> {
  const cluster = await openCluster({ kubeconfigPath, context, gateway, userAgent: userAgent('peer') });
  return { ...cluster, label: `${role} (${kubeconfigPath})` };
}

/** The outcome of the peering, as text. */
export function outcomeText(peering: Peering, readiness: Readiness): string {
  const what =
    peering.namespace === undefined ? `ClusterTarget ${peering.name}` : `Target ${peering.namespace}/${peering.name}`;
  if (readiness.kind === 'ready') return `${what} is Ready.`;
  if (readiness.kind === 'not-ready') {
    return `${what} is peered, but not Ready (${readiness.reason}): ${readiness.message}`;
  }
  return `${what} is peered, but nothing in the source has looked at it so far. Unless Isthmus is running there, ` +
    'start it with "isthmus run".';
}
