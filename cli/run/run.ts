// `isthmus run`: the components of one cluster in one process. Composition only: shared dependencies are created here.
import { Command } from 'commander';
import type { Logger } from 'pino';
import type { Pod } from '../../api/objects/core.ts';
import { isForbidden, isUnauthorized, unless } from '../../kubernetes/flow/api-error.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import { EventRecorder } from '../../kubernetes/controller/event-recorder.ts';
import type { Informer } from '../../kubernetes/watch/informer.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { openCluster, userAgent, type OpenCluster } from '../../kubernetes/client/open-cluster.ts';
import type { OwnRanges } from '../../targets/own-ranges.ts';
import { proxyPods } from '../../targets/proxy-pods.ts';
import { Standby } from '../../targets/admiralty/standby.ts';
import { TargetClusters } from '../../targets/target-clusters.ts';
import { readClusterId } from '../../kubernetes/client/cluster-id.ts';
import { TenantRules } from '../../targets/access/tenant-rules.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { environment } from '../../process/config.ts';
import { messageOf, type AppError } from '../../process/errors.ts';
import { aborted, runService, shutdownMs, untilStopped, type Shutdown } from '../../process/lifecycle.ts';
import { serveHealth, type ReadyChecks } from '../../process/health-server.ts';
import { allowGarbageOf, spaceCollections } from '../../process/heap-growth.ts';
import { createLogger } from '../../process/logger.ts';
import { startTracing, traceSettings } from '../../process/tracing.ts';
import { FollowRules } from '../../scheduler/policies/follow-rules.ts';
import { PlacementInputs } from '../../scheduler/cache/placement-inputs.ts';
import { loadComponents, type ComponentModules } from './component-modules.ts';
import { DecisionLogFile } from './decision-log-file.ts';
import { announcedKubelet, serveKubeletApi } from './kubelet-api.ts';
import { placementOf, webhookOptions, withRunOptions, type Component, type RunOptions } from './run-options.ts';
import { localAccess } from './local-access-options.ts';
import { ownRangesOf, tenantSettings } from './tenant-limits.ts';
import { campaign, leasedComponents, leaseTimings } from './leadership.ts';

/** Retry interval for a first answer of the API server, in ms. */
const ANSWER_RETRY_MS = 1_000;
/** What every user may ask for by default. */
const VERSION = { method: 'GET', path: '/version' } as const;

/** The command `run`. */
export function runCommand(): Command {
  return withRunOptions(new Command('run')).action((options: RunOptions) => run(options, untilStopped()));
}

/** Runs until the signal aborts, then stops in order: controllers first, the webhook last. */
async function run(options: RunOptions, asked: AbortSignal): Promise<void> {
  const logger = createLogger(options.logLevel);
  spaceCollections();
  await runService(asked, async ({ signal, shutdown, fail }) => {
    const cluster = await openCluster(
      { kubeconfigPath: options.kubeconfig, context: options.context, userAgent: userAgentOf(options.components) },
    );
    shutdown.add({ name: 'connections', stop: () => cluster.client.transport.close() });
    const traces = traceSettings(environment().inherited, logger);
    if (traces !== undefined) shutdown.add({ name: 'traces', ...startTracing(traces, logger) });
    if (options.install === true) {
      const { installFirst } = await import('./run-first.ts');
      await installFirst(cluster.client, options, logger, signal);
    }
    await start(options, { cluster, logger, shutdown, onFatalError: fail }, signal);
    if (options.join !== undefined) {
      const { joinTargets } = await import('./run-first.ts');
      await joinTargets({ ...options, client: cluster.client, tokens: options.join }, logger, signal);
    }
    await aborted(signal);
    logger.info({ reason: String(signal.reason) }, 'stopping');
  }, { timeoutMs: shutdownMs(options.webhookDrainSeconds * 1_000) });
}

interface Running {
  readonly cluster: OpenCluster;
  readonly logger: Logger;
  readonly shutdown: Shutdown;
  readonly onFatalError: (error: AppError) => void;
}

async function start(options: RunOptions, running: Running, signal: AbortSignal): Promise<void> {
  const { cluster, logger, shutdown } = running;
  const { client: unfenced, connection } = cluster;
  const modules = await loadComponents(options.components);
  const following: Promise<void>[] = [];
  shutdown.add({ name: 'informers', stop: async () => void (await Promise.all(following)) });
  const checks = checksAtStart(options);
  await serveHealth({ host: options.healthHost, port: options.healthPort, checks }, shutdown);
  if (modules.webhook !== undefined) {
    const ask = () => unfenced.transport.call(VERSION, signal).catch(unless(isForbidden));
    await untilAnswered(cluster, ask, logger, signal);
    const server = await modules.webhook.startWebhook({ source: unfenced, logger, ...webhookOptions(options) }, signal);
    shutdown.add({ name: 'webhook', stop: () => server.close() });
    checks['webhook'] = () => true;
  }
  const acting = options.components.filter((component) => component !== 'webhook');
  if (acting.length === 0) return;
  const sourceId = await untilAnswered(cluster, () => readClusterId(unfenced, signal), logger, signal);
  await untilMayAct(options, { ...running, checks }, signal);

  const led = leasedComponents(acting);
  const timings = leaseTimings(led, options.target);
  const leadership = options.leaderElect && led.length > 0 ? campaign(
    {
      client: unfenced, namespace: options.namespace, components: led, timings, logger,
      onLeadershipLost: running.onFatalError,
    },
  ) : undefined;
  if (leadership !== undefined) shutdown.add({ name: 'leadership', stop: () => leadership.stop() });
  const client = leadership === undefined ? unfenced : unfenced.fencedBy(leadership.fence);
  const ownRanges = ownRangesOf(options, cluster, acting.some((component) => component !== 'peering'), logger);
  const tenants = new TenantRules(tenantSettings(options), ownRanges);
  const targets = new TargetClusters({
    source: client,
    sourceConnection: connection,
    sourceId,
    installNamespace: options.namespace,
    gateways: options.gateway,
    tenants,
    access: localAccess(options),
    userAgent: userAgentOf(options.components),
    fence: leadership?.fence,
    logger,
  });
  allowGarbageOf(() => targets.size);
  const proxies = proxyPods({ client, logger });
  const events = new EventRecorder({ client, controller: 'isthmus.dev/scheduler', logger });
  following.push(events.run(signal));
  Object.assign(checks, followAsSource(options, { targets, ownRanges, proxies, following }, signal));
  const kubelet = serveKubeletApi(options, {
    component: modules['kubelet-api'], source: unfenced, proxies, targets, logger, onFatalError: running.onFatalError,
  }, signal);
  if (kubelet !== undefined) shutdown.add(kubelet);
  await Promise.race([leadership?.leading, ...(leadership === undefined ? [] : [aborted(signal)])]);
  signal.throwIfAborted();
  const shared = { client, sourceId, targets, tenants, ownRanges, proxies, events };
  Object.assign(checks, startActing(options, { ...running, ...shared, modules }, signal));
  logger.info({ components: options.components, cluster: sourceId }, 'running');
}

/** A cluster that is not a source watches neither targets nor delegated pods, and discovery needs neither. */
function followAsSource(
  { source, components }: RunOptions,
  { targets, ownRanges, proxies, following }: Pick<Acting, 'targets' | 'ownRanges' | 'proxies'>
    & { readonly following: Promise<unknown>[] },
  signal: AbortSignal,
): ReadyChecks {
  if (!source) return {};
  following.push(ownRanges.run(signal));
  if (!usesTargets(components)) return {};
  following.push(targets.run(signal), proxies.run(signal));
  return { targets: () => targets.hasSynced, proxies: () => proxies.hasSynced };
}

/**
 * While Admiralty runs in this source, or a migration forbids it to act, this process is ready and idle; until that is
 * known, its state is unchanged.
 */
async function untilMayAct(
  { components, namespace, source }: RunOptions,
  { cluster, logger, checks, onFatalError }: Running & { readonly checks: Record<string, () => boolean> },
  signal: AbortSignal,
): Promise<void> {
  const actsInSource = source && components.some((component) => component !== 'webhook' && component !== 'peering');
  const standby = new Standby({ client: cluster.client, installNamespace: namespace, actsInSource, logger });
  const before = { ...checks };
  for (const [name, holds] of Object.entries(before)) checks[name] = () => standby.isStandingBy || holds();
  standby.run(signal);
  await standby.over(signal);
  Object.assign(checks, before);
  standby.watch(onFatalError, signal);
}

interface Acting extends Running {
  readonly modules: ComponentModules;
  readonly client: ClusterClient;
  readonly sourceId: string;
  readonly targets: TargetClusters;
  readonly tenants: TenantRules;
  readonly ownRanges: OwnRanges;
  readonly proxies: Informer<Pod, ProxyPod>;
  readonly events: EventRecorder;
}

/** Readiness checks of a process with these components: what has not started yet is not ready. */
export function checksAtStart(
  { components, source }: Pick<RunOptions, 'components' | 'source'>,
): Record<string, () => boolean> {
  const unknown = () => false;
  return {
    ...(components.includes('webhook') && { webhook: unknown }),
    ...(source && usesTargets(components) && { targets: unknown, proxies: unknown }),
  };
}

/** Whether a process with these components opens sessions with targets. */
function usesTargets(components: readonly Component[]): boolean {
  return components.some((component) => component !== 'webhook' && component !== 'discovery');
}

/** Starts the components that only the leader runs; returns their readiness checks. */
function startActing(options: RunOptions, acting: Acting, signal: AbortSignal): ReadyChecks {
  const { client, sourceId, targets, tenants, ownRanges, proxies, events, logger, modules } = acting;
  const shared = {
    client, sourceId, targets, proxies, events, logger, takesPods: options.target, sendsPods: options.source,
    leaseSeconds: options.failoverLeaseSeconds,
  };
  const inputs = new PlacementInputs(client, logger);
  modules.scheduler?.startScheduler(
    {
      ...shared, inputs, source: client, installNamespace: options.namespace, placement: placementOf(options),
      decisionLog: decisionLogOf(options, acting), profileNamespaces: options.clusterProfiles,
    },
    signal,
  );
  const checks = modules['delegate-controller']?.startDelegateController(
    { ...shared, ownRanges, installNamespace: options.namespace, rules: new FollowRules(inputs, targets) }, signal,
  ) ?? {};
  if (options.source && (modules.scheduler ?? modules['delegate-controller']) !== undefined) void inputs.run(signal);
  modules['virtual-node']?.startVirtualNode(
    { ...shared, source: client, kubelet: announcedKubelet(options) }, signal,
  );
  modules.peering?.startPeering({ ...shared, installNamespace: options.namespace }, signal);
  if (options.source) modules.discovery?.startDiscovery({
    client, logger, tenants, clusterId: sourceId, installNamespace: options.namespace, gateways: options.gateway ?? [],
    userAgent: userAgent('discovery'),
  }, signal);
  return checks;
}

/**
 * Asks until there is an answer: the API server may be starting too. Throws what denies it: the caches that components
 * wait for would try indefinitely, without a word.
 */
async function untilAnswered<T>(
  { connection }: OpenCluster, ask: () => Promise<T>, logger: Logger, signal: AbortSignal,
): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      signal.throwIfAborted();
      if (isUnauthorized(error) || isForbidden(error)) throw error;
      logger.warn({ server: connection.server.host, error: messageOf(error) }, 'waiting for the API server');
      await delay(ANSWER_RETRY_MS, signal);
    }
  }
}

function decisionLogOf({ decisionLog }: RunOptions, { logger, shutdown }: Running): DecisionLogFile | undefined {
  if (decisionLog === undefined) return undefined;
  const file = new DecisionLogFile(decisionLog, logger);
  shutdown.add({ name: 'decision log', stop: async () => file.close() });
  return file;
}

function userAgentOf(components: readonly Component[]): string {
  return userAgent(components.length === 1 ? String(components[0]) : 'run');
}
