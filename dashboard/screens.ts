// The screens of a page: each address with what is observed for it, alive while it is open.
import { PODS } from '../api/resource-types.ts';
import type { LiveStateFlags } from '../cli/placement/live-state.ts';
import { pathOf, type ClusterClient } from '../kubernetes/client/cluster-client.ts';
import { within } from '../kubernetes/flow/abort.ts';
import { toApiError } from '../kubernetes/http/api-answer.ts';
import { openExchange } from '../kubernetes/stream/stream-exchange.ts';
import { act } from './act.ts';
import { DiscoveryObservation } from './observe/discovery-observation.ts';
import { PendingReasons } from './observe/pending-reasons.ts';
import { PolicyObservation } from './observe/policy-observation.ts';
import { PodJourney, type LookedAt } from './observe/pod-journey.ts';
import { Shared, type SharedUse } from './observe/shared.ts';
import type { Simulate } from './observe/simulations.ts';
import { SourceObservation } from './observe/source-observation.ts';
import { SchedulerInputs } from './observe/scheduler-inputs.ts';
import { ViewerPermissions } from './permissions/viewer-permissions.ts';
import { decisionScreen, decisionsScreen } from './views/decisions-view.ts';
import { movesScreen } from './views/moves-view.ts';
import { policiesScreen } from './views/policies-view.ts';
import { podsScreen, workloadsScreen } from './views/pod-lists.ts';
import { podScreen, type SeenJourney } from './views/pod-view.ts';
import { targetsScreen, type SeenSource } from './views/targets-view.ts';
import type { Action } from './wire/actions.ts';
import type { Filters, PodRoute, Route } from './wire/routes.ts';
import type { OpenScreen, ScreenSource } from './wire/screen-source.ts';
import type { AnyScreen } from './wire/screens.ts';
import type { NamespacedName } from '../model/pod/pod.ts';

const LOG_LINES = 500;
const LOG_BYTES = 256 * 1024;
const LOG_MS = 15_000;
const ALL = 'all';
/** Time in ms for which a pod's journey stays; its costly part, the scheduler's inputs, has a time of its own. */
const JOURNEY_KEPT_MS = 0;
/** Whose rules are reviewed for what is in the cluster as a whole: those of the cluster hold in every namespace. */
const ANY_NAMESPACE = 'default';

/** What screens are made of. */
export interface ScreensOptions {
  readonly client: ClusterClient;
  /** The same cluster, for what is observed as the scheduler does; targets are not connected to when missing. */
  readonly flags?: LiveStateFlags;
  /** Ends what is asked once, as a log is, and actions. */
  readonly signal: AbortSignal;
  /** Runs simulations of this viewer, one at a time with those of all others of the process. */
  readonly simulate: Simulate;
  /** How often the viewer's permissions are reviewed, in ms; 25 s when missing. */
  readonly reviewMs?: number | undefined;
  /** Called when the API server does not know the viewer any more. */
  readonly unauthorized?: () => void;
}

/** Screens of one source, by the permissions of one viewer. */
export class Screens implements ScreenSource {
  readonly #client: ClusterClient;
  readonly #signal: AbortSignal;
  readonly #permissions: Shared<ViewerPermissions>;
  readonly #sources: Shared<SourceObservation>;
  readonly #policies: Shared<PolicyObservation>;
  readonly #discoveries: Shared<DiscoveryObservation>;
  readonly #inputs: Shared<SchedulerInputs>;
  readonly #journeys: Shared<PodJourney>;
  /** Each resolves when its action has ended. */
  readonly #acting = new Set<Promise<void>>();

  constructor({ client, flags, signal, simulate, reviewMs: everyMs, unauthorized }: ScreensOptions) {
    [this.#client, this.#signal] = [client, signal];
    this.#permissions = new Shared((namespace) => new ViewerPermissions(client, namespace, { everyMs, unauthorized }));
    const rightsIn = (namespace: string) => this.#permissions.use(namespace === '' ? ANY_NAMESPACE : namespace);
    const only = (namespace: string) => (namespace === '' ? undefined : namespace);
    this.#sources = new Shared((name) => new SourceObservation(client, only(name), rightsIn(name)));
    this.#policies = new Shared((name) => new PolicyObservation(client, only(name), rightsIn(name)));
    this.#discoveries = new Shared(() => new DiscoveryObservation(client, rightsIn('')));
    this.#inputs = new Shared(() => new SchedulerInputs(flags, this.#permissions.use(ANY_NAMESPACE)));
    this.#journeys = new Shared((key) => {
      const at = JSON.parse(key) as LookedAt;
      const used = { permissions: this.#permissions.use(at.namespace), inputs: this.#inputs.use(ALL), simulate };
      return new PodJourney(client, at, used);
    }, JOURNEY_KEPT_MS);
  }

  open(route: Route): OpenScreen {
    if (route.screen === 'pod') return this.#openJourney(route, podScreen);
    if (route.screen === 'decision') return this.#openJourney(route, decisionScreen);
    const source = this.#sources.use(route.filters.namespace ?? '');
    if (route.screen === 'pending') return this.#openPending(source, route.filters);
    const { screen, filters } = route;
    if (screen === 'targets') {
      const discoveries = this.#discoveries.use(ALL);
      return watch([source, discoveries], () => targetsScreen(source.value.source, discoveries.value.seen));
    }
    if (screen !== 'policies' && screen !== 'moves') {
      return watch([source], () => listOf(screen, source.value.source, filters));
    }
    const policies = this.#policies.use(filters.namespace ?? '');
    return watch([source, policies], () => (
      screen === 'moves' ? movesScreen(source.value.source, policies.value.seen)
        : policiesScreen(source.value.source, policies.value.seen, filters)
    ));
  }

  async log({ namespace, name }: NamespacedName, container: string): Promise<string> {
    const path = `${pathOf(PODS, { namespace, name })}/log`;
    const query = [['container', container], ['tailLines', String(LOG_LINES)]] as const;
    return within(LOG_MS, this.#signal, async (signal) => {
      const { response } = await openExchange(this.#client.transport, { method: 'GET', path, query }, signal);
      const [status, body] = [response.statusCode ?? 0, await endOf(response)];
      if (status < 300) return body;
      throw toApiError({ status, retryAfter: undefined, body: Buffer.from(body) });
    });
  }

  act(action: Action): Promise<string> {
    const done = act(this.#client, action, this.#signal);
    const settled = done.then(() => undefined, () => undefined).finally(() => this.#acting.delete(settled));
    this.#acting.add(settled);
    return done;
  }

  /** Ends everything that is observed, once the actions that the signal has ended have undone what is temporary. */
  async close(): Promise<void> {
    await Promise.all(this.#acting);
    await this.#journeys.close();
    const observed = [this.#sources, this.#policies, this.#discoveries, this.#inputs];
    await Promise.all(observed.map((shared) => shared.close()));
    await this.#permissions.close();
  }

  #openJourney(
    { namespace, name, without = '', replicas = 0, policy = '', spec = '' }: Omit<PodRoute, 'screen'>,
    screenOf: (journey: SeenJourney) => AnyScreen | undefined,
  ): OpenScreen {
    const at: LookedAt = { namespace, name, without, replicas, policy, spec };
    const journey = this.#journeys.use(JSON.stringify(at));
    return watch([journey], () => screenOf(journey.value.journey));
  }

  #openPending(source: SharedUse<SourceObservation>, filters: Filters): OpenScreen {
    const ended = new AbortController();
    const pending = new PendingReasons(this.#client, source.value, this.#inputs.use(ALL), filters);
    const running = pending.run(ended.signal);
    return {
      current: () => pending.screen,
      onChange: (listener) => pending.onChange(listener),
      close: () => {
        ended.abort();
        void running.then(() => source.release());
      },
    };
  }
}

/** The last whole lines of a body, as far as they fit: a limit in the request would cut off the newest ones. */
async function endOf(body: AsyncIterable<Buffer>): Promise<string> {
  let [end, isWhole] = [Buffer.alloc(0), true];
  for await (const chunk of body) {
    isWhole &&= end.length + chunk.length <= LOG_BYTES;
    end = Buffer.concat([end, chunk]).subarray(-LOG_BYTES);
  }
  return end.subarray(isWhole ? 0 : end.indexOf('\n') + 1).toString('utf8');
}

/** A screen that is made of what these observe. */
function watch(
  uses: readonly SharedUse<{ onChange(listener: () => void): () => void }>[], current: OpenScreen['current'],
): OpenScreen {
  const stops: (() => void)[] = [];
  return {
    current,
    onChange: (listener) => void stops.push(...uses.map(({ value }) => value.onChange(listener))),
    close: () => {
      for (const stop of stops) stop();
      for (const use of uses) use.release();
    },
  };
}

function listOf(
  screen: 'workloads' | 'pods' | 'decisions', source: SeenSource, filters: Filters,
): AnyScreen | undefined {
  if (screen === 'decisions') return decisionsScreen(source, filters);
  return screen === 'pods' ? podsScreen(source, filters) : workloadsScreen(source, filters);
}
