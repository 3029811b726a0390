// A snapshot of the scheduler's state for a command: the same code observes, and the same functions decide.
import { SCHEDULER_SETTINGS_CONFIG_MAP } from '../../api/objects/own-names.ts';
import type { Pod } from '../../api/objects/core.ts';
import { CONFIG_MAPS } from '../../api/resource-types.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import type { Informer } from '../../kubernetes/watch/informer.ts';
import { openCluster, userAgent, type OpenCluster } from '../../kubernetes/client/open-cluster.ts';
import { proxyPods } from '../../targets/proxy-pods.ts';
import { TargetClusters } from '../../targets/target-clusters.ts';
import { readClusterId } from '../../kubernetes/client/cluster-id.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { AppError } from '../../process/errors.ts';
import { createLogger } from '../../process/logger.ts';
import { ClusterCache } from '../../scheduler/cycle/cluster-cache.ts';
import { PlacementInputs } from '../../scheduler/cache/placement-inputs.ts';
import type { PlacementContext } from '../../scheduler/decision/placement-constraints.ts';
import {
  readSettingsConfigMap, type SchedulerSettings, type SettingsConfigMap,
} from '../../scheduler/decision/scheduler-settings.ts';
import type { TargetSnapshot } from '../../scheduler/snapshot/snapshot.ts';
import { interruptionOr, type ClusterFlags } from '../clusters/cluster-flags.ts';
import { InFlightReservations, type PodsInFlight } from './in-flight-pods.ts';

/** Which cluster, and how to connect. */
export interface LiveStateFlags extends ClusterFlags {
  /** Namespace that Isthmus is installed in. */
  readonly installNamespace: string;
  /** Go on where the source does not say what is there, as for a support archive. */
  readonly acceptsGaps?: boolean;
}

/** A snapshot. */
export interface LiveState {
  readonly cluster: OpenCluster;
  readonly sourceId: string;
  readonly targets: readonly TargetSnapshot[];
  /** The targets with their open sessions. */
  readonly sessions: TargetClusters;
  /** Virtual nodes, policies and labels of namespaces, for listeners. */
  readonly inputs: Pick<PlacementInputs, 'listen'>;
  readonly context: PlacementContext;
  /** Pods in flight that the targets' own capacity does not show; already subtracted from `targets`. */
  readonly inFlight: readonly PodsInFlight[];
  /** The targets without the capacity reserved for one pod in flight, by its UID. */
  readonly targetsWithout: (uid: string) => readonly TargetSnapshot[];
  /** The current state, for a caller that reads it more than once: everything continues to be observed. */
  readonly again: () => Promise<LiveState>;
}

/** Timeout of targets in ms; one that does not respond counts as unreachable. */
const TIMEOUT_MS = 5_000;
/** Timeout of the source in ms. */
const SOURCE_TIMEOUT_MS = 30_000;
const POLL_INTERVAL_MS = 50;
/** The reason of a target before its first response. */
const CONNECTING = 'Connecting';

/** Connects to the source, takes the snapshot, runs `use`, and disconnects. */
export async function withLiveState<T>(
  flags: LiveStateFlags, use: (state: LiveState) => Promise<T>, signal: AbortSignal,
): Promise<T> {
  const cluster =
    await openCluster({ kubeconfigPath: flags.kubeconfig, context: flags.context, userAgent: userAgent('cli') });
  const ended = new AbortController();
  const running = AbortSignal.any([signal, ended.signal]);
  let following: Promise<unknown> = Promise.resolve();
  try {
    const sourceId = await readClusterId(cluster.client, signal);
    const observed = observe(cluster, { sourceId, installNamespace: flags.installNamespace }, running);
    following = observed.following;
    const [settings] =
      await Promise.all([
        readSettings(cluster, flags.installNamespace, running),
        untilRead(observed, running).catch((error: unknown) => {
          if (flags.acceptsGaps !== true) throw error;
        }),
      ]);
    await untilTargetsAnswer(observed, running);
    const looks = new Looks({ cluster, sourceId, observed, settings }, running);
    return await use(await looks.look());
  } catch (error) {
    throw interruptionOr(error, signal);
  } finally {
    ended.abort();
    await following;
    await cluster.client.transport.close();
  }
}

interface Looked {
  readonly cluster: OpenCluster;
  readonly sourceId: string;
  readonly observed: Observed;
  readonly settings: SchedulerSettings;
}

/** Takes snapshots of what is observed. */
class Looks {
  readonly #looked: Looked;
  readonly #signal: AbortSignal;
  readonly #reservations: InFlightReservations;

  constructor(looked: Looked, signal: AbortSignal) {
    const { cluster: { client }, sourceId, observed: { targets, state } } = looked;
    this.#looked = looked;
    this.#signal = signal;
    this.#reservations = new InFlightReservations({ client, sourceId, targets, state });
  }

  async look(): Promise<LiveState> {
    const { cluster, sourceId, observed, settings } = this.#looked;
    const { targets, state, inputs } = observed;
    const inFlight = await this.#reservations.renew(this.#signal);
    return {
      cluster, sourceId, sessions: targets, inputs, targets: withUnreachable(state.views.snapshots()),
      context: { ...state.context, ...settings }, inFlight, targetsWithout: (uid) => targetsWithout(observed, uid),
      again: () => this.look(),
    };
  }
}

function targetsWithout({ targets, state: { views } }: Observed, uid: string): readonly TargetSnapshot[] {
  for (const { key } of targets.all()) views.release(key, uid);
  return withUnreachable(views.snapshots());
}

/** A target that has not answered in time counts as unavailable: what it has is not known. */
function withUnreachable(targets: readonly TargetSnapshot[]): readonly TargetSnapshot[] {
  const unavailable =
    { reason: 'Unreachable', message: `its API server has not answered within ${TIMEOUT_MS / 1_000} s` };
  return targets.map((target) => (target.unavailable?.reason === CONNECTING ? { ...target, unavailable } : target));
}

/** The score weights of the installation's scheduler; defaults when they cannot be read. */
async function readSettings(
  { client }: OpenCluster, namespace: string, signal: AbortSignal,
): Promise<SchedulerSettings> {
  const found = await client
    .get<SettingsConfigMap>(CONFIG_MAPS, { namespace, name: SCHEDULER_SETTINGS_CONFIG_MAP }, signal)
    .catch(() => undefined);
  return found === undefined ? {} : readSettingsConfigMap(found);
}

interface Observed {
  readonly proxies: Informer<Pod, ProxyPod>;
  readonly targets: TargetClusters;
  readonly inputs: PlacementInputs;
  readonly state: ClusterCache;
  readonly following: Promise<unknown>;
}

function observe(
  { client, connection }: OpenCluster,
  { sourceId, installNamespace }: { readonly sourceId: string; readonly installNamespace: string }, signal: AbortSignal,
): Observed {
  const logger = createLogger('silent');
  const proxies = proxyPods({ client, logger });
  const targets = new TargetClusters(
    { source: client, sourceConnection: connection, sourceId, installNamespace, userAgent: userAgent('cli'), logger },
  );
  const inputs = new PlacementInputs(client, logger);
  const state = new ClusterCache({ proxies, targets, inputs });
  state.observe(() => undefined);
  return {
    proxies, targets, inputs, state,
    following: Promise.all([proxies.run(signal), targets.run(signal), inputs.run(signal)]),
  };
}

/** Throws why the source cannot be read: what was not read is not known to be absent. */
async function untilRead({ proxies, targets, inputs }: Observed, signal: AbortSignal): Promise<void> {
  const isRead = () => proxies.hasSynced && targets.hasSynced;
  const failure = () => (proxies.connection.kind === 'broken' ? proxies.connection : targets.failure);
  const until = performance.now() + SOURCE_TIMEOUT_MS;
  const inputsRead = new AbortController();
  void inputs.untilReadOrBroken().then(() => inputsRead.abort());
  while (
    !(isRead() && inputsRead.signal.aborted) && failure() === undefined && performance.now() < until
  ) await delay(POLL_INTERVAL_MS, signal);
  signal.throwIfAborted();
  if (!isRead() || !inputsRead.signal.aborted) throw failure()?.error ?? new AppError(
    'Timeout',
    `The API server of the source has not answered within ${SOURCE_TIMEOUT_MS / 1_000} s. Try again.`,
  );
}

async function untilTargetsAnswer({ targets }: Observed, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  const isConnecting = () => [...targets.all()].some(
    ({ availability }) => availability.kind === 'unavailable' && availability.reason === CONNECTING,
  );
  while (isConnecting() && performance.now() < deadline) await delay(POLL_INTERVAL_MS, signal);
}
