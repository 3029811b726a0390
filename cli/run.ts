// `isthmus run`: the components of one cluster in one process. Composition only: what is shared is made here and handed down.
import { Command, Option } from 'commander';
import type { Logger } from 'pino';
import { DEFAULT_INSTALL_NAMESPACE } from '../api/keys.ts';
import type { Pod } from '../api/core.ts';
import { startDelegateController } from '../delegate-controller/main.ts';
import { ApiError } from '../kubernetes/api-error.ts';
import { onAbort } from '../kubernetes/abort.ts';
import { delay } from '../kubernetes/backoff.ts';
import { EventRecorder } from '../kubernetes/event-recorder.ts';
import type { Informer } from '../kubernetes/informer.ts';
import type { ClusterClient } from '../kubernetes/cluster-client.ts';
import { openCluster, userAgent, type OpenCluster } from '../kubernetes/open-cluster.ts';
import { proxyPods } from '../kubernetes/proxy-pods.ts';
import { SigningKeyStore } from '../kubernetes/signing-key-store.ts';
import { TargetClusters } from '../kubernetes/target-clusters.ts';
import { readClusterId } from '../kubernetes/target-session.ts';
import type { ProxyPod } from '../model/proxy-pod.ts';
import { environment } from '../process/config.ts';
import { AppError, messageOf } from '../process/errors.ts';
import { aborted, Shutdown, untilStopped } from '../process/lifecycle.ts';
import { startHealthServer, type ReadyChecks } from '../process/health-server.ts';
import { createLogger, type LogLevel } from '../process/logger.ts';
import { collectProcessMetrics } from '../process/metrics.ts';
import { startTracing, traceSettings } from '../process/tracing.ts';
import { startPeering } from '../peering/main.ts';
import { FollowRules } from '../scheduler/follow-rules-client.ts';
import { startScheduler } from '../scheduler/main.ts';
import { PlacementInputs } from '../scheduler/placement-inputs-client.ts';
import type { SchedulingOptions } from '../scheduler/scheduling-controller.ts';
import type { ScoreWeights } from '../scheduler/score-weights.ts';
import { DecisionLogFile } from './decision-log-file.ts';
import { announcedKubelet, serveKubeletApi, withKubeletOptions, type KubeletFlags } from './kubelet-api.ts';
import { installFirst, joinTargets } from './run-first.ts';
import { parseGateways, parseLease, parsePort, parseScoreWeights, parseSeconds } from './run-flags.ts';
import { campaign, leasedComponents, leaseTimings } from './leadership.ts';
import { startVirtualNode } from '../virtual-node/main.ts';
import { startWebhook, type WebhookOptions } from '../webhook/main.ts';

const COMPONENTS = ['webhook', 'scheduler', 'delegate-controller', 'virtual-node', 'kubelet-api', 'peering'] as const;
/** A part of Isthmus that can run in a process of its own. */
export type Component = (typeof COMPONENTS)[number];

const DEFAULT_WEBHOOK_PORT = 9443;
/** How often the cluster is asked for its identity while it cannot be reached at the start, in ms. */
const IDENTITY_RETRY_MS = 1_000;

interface CertificateFlags {
  readonly webhookCertificateSecret?: string;
  readonly webhookCertificateFile?: string;
  readonly webhookKeyFile?: string;
}

interface RunOptions extends CertificateFlags, KubeletFlags {
  readonly webhookClientCaFile?: string;
  readonly webhookDrainSeconds: number;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace: string;
  readonly components: readonly Component[];
  readonly webhookHost: string;
  readonly webhookPort: number;
  readonly target: boolean;
  readonly leaderElect: boolean;
  readonly healthHost: string;
  readonly healthPort?: number;
  readonly logLevel: LogLevel;
  readonly scoreWeights?: Partial<ScoreWeights>;
  readonly region?: string;
  readonly zone?: string;
  readonly decisionLog?: string;
  readonly gateway?: readonly URL[];
  readonly install?: boolean;
  readonly webhookUrl?: string;
  readonly join?: readonly string[];
  readonly failoverLeaseSeconds?: number;
}

/** The command `run`. */
export function runCommand(): Command {
  return withKubeletOptions(new Command('run'))
    .description('run the components of Isthmus for one cluster, as its source and as a target of others')
    .option('--kubeconfig <file>', "kubeconfig of the cluster; kubectl's default, or the pod's ServiceAccount, when missing")
    .option('--context <name>', 'context within the kubeconfig')
    .option('--namespace <name>', 'namespace that Isthmus is installed in', DEFAULT_INSTALL_NAMESPACE)
    .option('--install', 'first do what "isthmus install" does; needs the rights of an administrator')
    .option('--webhook-url <url>', 'with --install: https URL of this webhook as the API server reaches it, where it runs outside of the cluster')
    .option('--join <tokens...>', 'then use up these tokens of "isthmus invite"; those of targets that are joined already are passed over')
    .option('--components <list>', `comma separated, of ${COMPONENTS.join(', ')}`, parseComponents, COMPONENTS)
    .option('--gateway <urls>', 'CONNECT endpoints of the gateways of this cluster, http://HOST:PORT, comma separated; for targets with spec.gateway', parseGateways)
    .option('--webhook-host <address>', 'address that the webhook listens on', '0.0.0.0')
    .option('--webhook-port <number>', 'port that the webhook listens on', parsePort('--webhook-port'), DEFAULT_WEBHOOK_PORT)
    .option('--webhook-certificate-secret <name>', "serve the certificate of this Secret (cert-manager's, say) instead of an own one")
    .option('--webhook-certificate-file <file>', 'serve the certificate of this file (PEM), read again when it changes')
    .option('--webhook-key-file <file>', 'its private key (PEM)')
    .option('--webhook-client-ca-file <file>', 'take reviews only from clients with a certificate of this authority (PEM); probes then go to --health-port')
    .option('--webhook-drain-seconds <number>', 'how long a stopping webhook goes on serving while it calls itself not ready', parseSeconds, 0)
    .option('--no-target', 'run no pods of other clusters here: saves following the pods and nodes of a cluster that is only a source')
    .option('--no-leader-elect', 'act without holding a Lease; only where there can be no second replica')
    .option('--health-host <address>', 'address of /healthz, /readyz and /metrics', '0.0.0.0')
    .option('--health-port <number>', 'port of /healthz, /readyz and /metrics; they are not served when missing', parsePort('--health-port'))
    .option('--score-weights <list>', 'weights of scores, cost=2,leastAllocated=0 say; placement policies and pods may say otherwise', parseScoreWeights)
    .option('--region <name>', 'region that this cluster is in, for the score locality')
    .option('--zone <name>', 'zone that this cluster is in, for the score locality')
    .option('--decision-log <file>', 'write each decision with what it was made on, for "isthmus replay"; a ring of two files of 64 MiB, - is standard output')
    .option('--failover-lease-seconds <number>', 'how long a sign of life of this source holds in a target that fences its pods; see docs/failover.md', parseLease)
    .addOption(new Option('--log-level <level>', 'least severity that is logged').choices(['debug', 'info', 'warn', 'error']).default('info'))
    .action((options: RunOptions) => run(options, untilStopped()));
}

/** Runs until the signal aborts, then stops in order: controllers first, the webhook last. */
async function run(options: RunOptions, asked: AbortSignal): Promise<void> {
  const ending = new AbortController();
  onAbort(asked, () => ending.abort(asked.reason));
  const { signal } = ending;
  const logger = createLogger(options.logLevel);
  const cluster = await openCluster({ kubeconfigPath: options.kubeconfig, context: options.context, userAgent: userAgentOf(options.components) });
  const shutdown = new Shutdown();
  shutdown.add({ name: 'connections', stop: () => cluster.client.transport.close() });
  const traces = traceSettings(environment().inherited);
  if (traces !== undefined) shutdown.add({ name: 'traces', ...startTracing(traces, logger) });
  try {
    if (options.install === true) await installFirst(cluster.client, options, logger, signal);
    await start(options, { cluster, logger, shutdown, onLost: (error) => ending.abort(error) }, signal);
    await joinTargets({ ...options, client: cluster.client, tokens: options.join ?? [] }, logger, signal);
    await aborted(signal);
    logger.info({ reason: String(signal.reason) }, 'stopping');
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await shutdown.run();
  }
  if (signal.reason instanceof AppError) throw signal.reason;
}

interface Running {
  readonly cluster: OpenCluster;
  readonly logger: Logger;
  readonly shutdown: Shutdown;
  readonly onLost: (error: AppError) => void;
}

async function start(options: RunOptions, running: Running, signal: AbortSignal): Promise<void> {
  const { cluster, logger, shutdown } = running;
  const { client: unfenced, connection } = cluster;
  const runs = (component: Component) => options.components.includes(component);
  const signingKeys = new SigningKeyStore({ client: unfenced, installNamespace: options.namespace, logger });
  const following = followKeys(options.components, signingKeys, signal);
  shutdown.add({ name: 'informers', stop: async () => void (await Promise.all(following)) });
  if (runs('webhook')) {
    const server = await startWebhook({ source: unfenced, signingKeys, logger, ...webhookOptions(options) }, signal);
    shutdown.add({ name: 'webhook', stop: () => server.close() });
  }
  const checks = checksAtStart(options.components, signingKeys);
  await serveHealth(options, checks, shutdown);
  const acting = options.components.filter((component) => component !== 'webhook');
  if (acting.length === 0) return;

  const led = leasedComponents(acting);
  const timings = leaseTimings(led, options.target);
  const leadership = options.leaderElect && led.length > 0 ? campaign({ client: unfenced, namespace: options.namespace, components: led, timings, logger, onLost: running.onLost }) : undefined;
  if (leadership !== undefined) shutdown.add({ name: 'leadership', stop: () => leadership.stop() });
  const client = leadership === undefined ? unfenced : unfenced.fencedBy(leadership.fence);
  const sourceId = await untilIdentified(cluster, logger, signal);
  const targets = new TargetClusters({
    source: client,
    sourceConnection: connection,
    sourceId,
    installNamespace: options.namespace,
    gateways: options.gateway,
    userAgent: userAgentOf(options.components),
    fence: leadership?.fence,
    logger,
  });
  const proxies = proxyPods({ client, logger });
  const events = new EventRecorder({ client, controller: 'isthmus.dev/scheduler', logger });
  following.push(targets.run(signal), proxies.run(signal), events.run(signal));
  Object.assign(checks, { targets: () => targets.hasSynced, proxies: () => proxies.hasSynced });
  const kubelet = runs('kubelet-api') ? serveKubeletApi(options, { source: unfenced, proxies, targets, logger, onLost: running.onLost }, signal) : undefined;
  if (kubelet !== undefined) shutdown.add(kubelet);
  await Promise.race([leadership?.leading, ...(leadership === undefined ? [] : [aborted(signal)])]);
  signal.throwIfAborted();
  Object.assign(checks, startActing(options, { ...running, client, sourceId, targets, proxies, signingKeys, events }, signal));
  logger.info({ components: options.components, cluster: sourceId }, 'running');
}

interface Acting extends Running {
  readonly client: ClusterClient;
  readonly sourceId: string;
  readonly targets: TargetClusters;
  readonly proxies: Informer<Pod, ProxyPod>;
  readonly signingKeys: SigningKeyStore;
  readonly events: EventRecorder;
}

/** What a process of these components waits for before it is ready: of what it does not follow yet, nothing is known. */
export function checksAtStart(components: readonly Component[], signingKeys: { readonly hasSynced: boolean }): Record<string, () => boolean> {
  const unknown = () => false;
  return {
    ...(usesKeys(components) && { 'signing-keys': () => signingKeys.hasSynced }),
    ...(components.some((component) => component !== 'webhook') && { targets: unknown, proxies: unknown }),
  };
}

/** Components that use no signing keys may not read them either. */
function followKeys(components: readonly Component[], signingKeys: SigningKeyStore, signal: AbortSignal): Promise<void>[] {
  return usesKeys(components) ? [signingKeys.run(signal)] : [];
}

function usesKeys(components: readonly Component[]): boolean {
  return components.includes('webhook') || components.includes('scheduler');
}

/** Starts the components that only the leader runs; gives which of their caches are complete. */
function startActing(options: RunOptions, acting: Acting, signal: AbortSignal): ReadyChecks {
  const { client, sourceId, targets, proxies, signingKeys, events, logger } = acting;
  const runs = (component: Component) => options.components.includes(component);
  const shared = { client, sourceId, targets, proxies, events, logger, takesPods: options.target, leaseSeconds: options.failoverLeaseSeconds };
  const inputs = new PlacementInputs(client, logger);
  if (runs('scheduler')) startScheduler({ ...shared, inputs, source: client, signingKeys, installNamespace: options.namespace, placement: placementOf(options), decisionLog: decisionLogOf(options, acting) }, signal);
  const checks = runs('delegate-controller') ? startDelegateController({ ...shared, installNamespace: options.namespace, rules: new FollowRules(inputs, targets) }, signal) : {};
  if (runs('scheduler') || runs('delegate-controller')) void inputs.run(signal);
  if (runs('virtual-node')) startVirtualNode({ ...shared, source: client, kubelet: announcedKubelet(options) }, signal);
  if (runs('peering')) startPeering({ ...shared, installNamespace: options.namespace }, signal);
  return checks;
}

async function serveHealth({ healthHost, healthPort }: RunOptions, checks: ReadyChecks, shutdown: Shutdown): Promise<void> {
  if (healthPort === undefined) return;
  collectProcessMetrics();
  const server = await startHealthServer({ host: healthHost, port: healthPort, checks });
  shutdown.add({ name: 'health server', stop: () => server.close() });
}

function webhookOptions(options: RunOptions): Omit<WebhookOptions, 'source' | 'signingKeys' | 'logger'> {
  const { namespace, webhookHost, webhookPort, webhookClientCaFile, webhookDrainSeconds } = options;
  return { installNamespace: namespace, host: webhookHost, port: webhookPort, clientAuthorityFile: webhookClientCaFile, drainMs: webhookDrainSeconds * 1_000, certificates: certificateSource(options) };
}

/** Where the webhook's certificate comes from. Throws AppError `BadInput` when the options name two sources or half of one. */
export function certificateSource(options: CertificateFlags): WebhookOptions['certificates'] {
  const { webhookCertificateSecret: name, webhookCertificateFile: certificate, webhookKeyFile: key } = options;
  if ((certificate === undefined) !== (key === undefined)) {
    throw new AppError('BadInput', '--webhook-certificate-file and --webhook-key-file belong together; give both or neither.');
  }
  if (certificate === undefined || key === undefined) return name === undefined ? { kind: 'own' } : { kind: 'secret', name };
  if (name !== undefined) throw new AppError('BadInput', '--webhook-certificate-secret and --webhook-certificate-file are two sources; give one.');
  return { kind: 'files', files: { certificate, key } };
}

/** Which cluster this is. Waits while its API server cannot be reached; it may be starting, too. */
async function untilIdentified({ client, connection }: OpenCluster, logger: Logger, signal: AbortSignal): Promise<string> {
  for (;;) {
    try {
      return await readClusterId(client, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ApiError && (error.status === 401 || error.status === 403)) throw error;
      logger.warn({ server: connection.server.host, error: messageOf(error) }, 'waiting for the API server');
      await delay(IDENTITY_RETRY_MS, signal);
    }
  }
}

function decisionLogOf({ decisionLog }: RunOptions, { logger, shutdown }: Running): DecisionLogFile | undefined {
  if (decisionLog === undefined) return undefined;
  const file = new DecisionLogFile(decisionLog, logger);
  shutdown.add({ name: 'decision log', stop: async () => file.close() });
  return file;
}

function placementOf({ scoreWeights, region, zone }: RunOptions): SchedulingOptions['placement'] {
  return { ...(scoreWeights && { weights: scoreWeights }), location: { ...(region !== undefined && { region }), ...(zone !== undefined && { zone }) } };
}

function userAgentOf(components: readonly Component[]): string {
  return userAgent(components.length === 1 ? String(components[0]) : 'run');
}

function parseComponents(text: string): readonly Component[] {
  const names = text.split(',').map((name) => name.trim());
  return names.map((name) => {
    const component = COMPONENTS.find((known) => known === name);
    if (component === undefined) throw new AppError('BadInput', `--components has no "${name}"; choose from ${COMPONENTS.join(', ')}.`);
    return component;
  });
}
