// One (Cluster)Target of the source: watches its spec and its Secret, and keeps a session to its cluster. An unusable
// target reports why and affects no other; changes need no restart.
import type { DelegationSetting, TargetSpec } from '../api/kinds/cluster-target.ts';
import { virtualNodeName } from '../model/naming/names.ts';
import { targetKey, type TargetRef } from '../model/naming/target-ref.ts';
import type { ServerHealth } from '../model/delegate/confirmation.ts';
import { AppError, messageOf } from '../process/errors.ts';
import {
  ADMIRALTY_ACTIVE, CONNECTING, detailOf, limitExceeded, SILENT, SILENT_SERVER, explainFailure, unavailable,
  type Availability, type Problem,
} from './availability.ts';
import type { LimitError } from '../kubernetes/connect/connection-limits.ts';
import type { ClusterConnection } from '../kubernetes/credentials/kubeconfig.ts';
import { toServerEndpoint, type ServerEndpoint } from '../kubernetes/credentials/server-endpoint.ts';
import { isSameConnection } from './target-object.ts';
import type { TargetEnvironment, TargetListener } from './target-environment.ts';
import { isAnotherCluster, readClusterId, readClusterIdWithRetry } from '../kubernetes/client/cluster-id.ts';
import { TargetSession } from './target-session.ts';
import {
  watchKubeconfig, kubeconfigSecretRef, readTargetConnection, type KubeconfigContent, type KubeconfigSecretRef,
} from './access/target-kubeconfig.ts';
import { TenantRules } from './access/tenant-rules.ts';

/** How long to wait for the target's cluster UID before the session starts without it, in ms. */
const IDENTIFY_MS = 5_000;
/** Pause in ms after a target exceeded its limits, or had become another cluster. */
const LIMIT_RETRY_MS = 300_000;
const NO_TENANT_RULES = new TenantRules();

/** A target that exists in the source. */
export class TargetCluster {
  readonly ref: TargetRef;
  readonly key: string;
  /** The Node in the source that represents this target. */
  readonly nodeName: string;
  readonly #environment: TargetEnvironment;
  readonly #listener: TargetListener<TargetCluster>;
  #spec: TargetSpec | undefined;
  #secretWatch: AbortController | undefined;
  #kubeconfig: string | undefined;
  #session: TargetSession | undefined;
  #clusterId: string | undefined;
  #endpoint: ServerEndpoint | undefined;
  #problem: Availability = CONNECTING;
  /** Configuration generation, so that a slow one does not replace a newer one. */
  #generation = 0;
  #retryTimer: NodeJS.Timeout | undefined;
  /** The last logged failure. */
  #logged = '';

  constructor(ref: TargetRef, environment: TargetEnvironment, listener: TargetListener<TargetCluster>) {
    this.ref = ref;
    this.key = targetKey(ref);
    this.nodeName = virtualNodeName(ref);
    this.#environment = environment;
    this.#listener = listener;
  }

  /** The open session, whether or not the target responds. */
  get session(): TargetSession | undefined {
    return this.#session;
  }

  /** UID of the target's kube-system Namespace, once known. */
  get clusterId(): string | undefined {
    return this.#clusterId;
  }

  /** The API server in the last kubeconfig that could be read. */
  get endpoint(): ServerEndpoint | undefined {
    return this.#endpoint;
  }

  /** Whether the target may get new pods. */
  get availability(): Availability {
    const session = this.#session;
    if (session === undefined) return this.#problem;
    const { failure, client: { transport: { credentials } } } = session;
    if (credentials.problem !== undefined) return unavailable('CredentialsUnavailable', credentials.problem);
    const origin = { isTenantOwned: this.#isTenantOwned, isApiServer: session.delegates.hasSynced };
    if (failure !== undefined) return explainFailure(failure.error, origin);
    if (!session.hasSynced) return CONNECTING;
    if (session.liveness.isSilent) return unavailable('Unreachable', SILENT_SERVER);
    if (session.isControllerSilent) return unavailable('ControllerSilent', SILENT);
    if (session.isAdmiraltyActive) return unavailable('AdmiraltyActive', ADMIRALTY_ACTIVE);
    if (session.mode !== undefined || session.summary === undefined) return { kind: 'ready' };
    return unavailable('Connecting', 'waiting for a heartbeat of the delegate controller in the target');
  }

  /** Whether there is a session whose API server responded at its last call or probe. */
  get isLikelyReachable(): boolean {
    return this.#session !== undefined && this.#session.failure === undefined && !this.#session.liveness.isSilent;
  }

  /** Whether the target is ready and how its API server fails, silent or refusing, as seen from this process. */
  get serverHealth(): ServerHealth {
    const { silentMs, isRefusing = false } = this.#session?.client.transport.activity ?? {};
    return { isReady: this.availability.kind === 'ready', silentMs, isRefusing };
  }

  /**
   * Whether an object in its cluster belongs to this target, and was not created through another target for the same
   * cluster.
   */
  owns({ targetKey }: { readonly targetKey?: string }): boolean {
    return targetKey === undefined || targetKey === this.key || !this.#listener.isTarget(targetKey);
  }

  /** Whether a tenant may have written its kubeconfig. */
  get #isTenantOwned(): boolean {
    return this.ref.kind === 'Target' && !this.isSelf;
  }

  /** Applies a new spec. */
  update(spec: TargetSpec): void {
    const before = this.#spec;
    this.#spec = spec;
    if (before !== undefined && isSameConnection(before, spec)) return;
    clearTimeout(this.#retryTimer);
    this.#secretWatch?.abort();
    this.#kubeconfig = undefined;
    void this.#closeSession(); // also where it leads to the same server: it has one mode of delegation
    if (spec.self === true) void this.#open(async () => this.#environment.sourceConnection);
    else this.#followSecret(spec);
  }

  /** Stops using it, for example because it is a duplicate of another target. */
  reject({ reason, message }: Problem): void {
    this.#fail(reason, message);
  }

  /** Stops using it until {@link update} is called: neither it nor its Secret is watched. */
  disable({ reason, message }: Problem): void {
    clearTimeout(this.#retryTimer);
    this.#secretWatch?.abort();
    [this.#spec, this.#kubeconfig] = [undefined, undefined];
    this.#fail(reason, message);
  }

  /** Retries what was rejected, for example because another target is gone. */
  retry(): void {
    const spec = this.#spec;
    this.#spec = undefined;
    if (spec !== undefined) this.update(spec);
  }

  /** Whether it is deliberately the source itself (`self: true`). */
  get isSelf(): boolean {
    return this.#spec?.self === true;
  }

  /** Ends the session: the target was removed, or the process stops. */
  async stop(): Promise<void> {
    this.#generation += 1;
    clearTimeout(this.#retryTimer);
    this.#secretWatch?.abort();
    await this.#closeSession();
  }

  /** A discovered mode stays until the spec changes: kinds that are missing now may have existed before. */
  #requestedMode(): DelegationSetting {
    const { delegation = 'Auto' } = this.#spec ?? {};
    return delegation === 'Auto' ? (this.#listener.storedDelegation(this) ?? 'Auto') : delegation;
  }

  #followSecret(spec: TargetSpec): void {
    const secretRef = kubeconfigSecretRef(this.ref, spec, this.#environment.installNamespace);
    if (secretRef === undefined) return this.#fail('InvalidSpec', 'set spec.kubeconfigSecret.name, or spec.self: true');
    const watch = new AbortController();
    this.#secretWatch = watch;
    watchKubeconfig(this.#environment, secretRef, (file) => this.#useKubeconfig(file, secretRef, spec), watch.signal);
  }

  #useKubeconfig(content: KubeconfigContent, secretRef: KubeconfigSecretRef, { gateway }: TargetSpec): void {
    if (content.kind === 'missing') {
      this.#kubeconfig = undefined;
      return this.#fail(content.reason, content.message);
    }
    if (content.data === this.#kubeconfig) return;
    this.#kubeconfig = content.data;
    this.#problem = CONNECTING;
    void this.#open(async () => {
      const { tenants = NO_TENANT_RULES, gateways: endpoints = [], access } = this.#environment;
      const connection = await readTargetConnection(content.data, secretRef, { gateway, endpoints, access });
      if (this.#isTenantOwned) return tenants.confine(connection);
      return secretRef.author === 'registry' ? tenants.confineAddress(connection) : connection;
    });
  }

  async #open(connect: () => Promise<ClusterConnection>): Promise<void> {
    const generation = ++this.#generation;
    try {
      const connection = await connect();
      if (generation !== this.#generation) return;
      this.#endpoint = toServerEndpoint(connection);
      if (this.#updateCredentials(connection)) return;
      await this.#closeSession();
      if (generation === this.#generation) this.#startSession(connection);
    } catch (error) {
      if (generation === this.#generation) {
        this.#fail(error instanceof AppError ? error.code : 'KubeconfigInvalid', messageOf(error));
      }
    }
  }

  /**
   * New credentials for the same server: the session continues and no event is lost, unless another cluster has got the
   * address.
   */
  #updateCredentials(connection: ClusterConnection): boolean {
    if (this.#session === undefined || this.#session.server !== connection.server.href) return false;
    const { client, signal } = this.#session;
    client.transport.use(connection);
    this.#listener.changed(this);
    void isAnotherCluster(client, this.#clusterId, signal).then((isAnother) => isAnother && this.retry());
    return true;
  }

  #startSession(connection: ClusterConnection): void {
    const { source, userAgent, sourceId, fence, logger } = this.#environment;
    const session = new TargetSession({
      connection, userAgent, sourceId, fence,
      namespace: this.ref.kind === 'Target' ? this.ref.namespace : undefined,
      sourceSummary: { source, name: this.nodeName },
      delegation: this.#requestedMode(),
      logger: logger.child({ target: this.key }),
    });
    this.#session = session;
    session.client.transport.budget?.onExceeded((error) => this.#disableForLimit(session, error));
    // what a session notices while it ends is no change of the target, which may have been removed
    const changed = (): void => void (this.#session === session && this.#listener.changed(this));
    session.onConnection(() => {
      this.#logFailure(session);
      changed();
    });
    session.client.transport.onRoundTrip = changed;
    session.client.transport.credentials.onProblem = changed;
    this.#listener.sessionOpened(this, session);
    this.#listener.changed(this);
    void this.#identifyAndRun(session);
  }

  /** Verifies the cluster's identity before any object there counts as this source's; again later if unreadable. */
  async #identifyAndRun(session: TargetSession): Promise<void> {
    await session.client.transport.openSession();
    if (await this.#identify(session, readClusterId)) return session.run();
    if (session.signal.aborted) return;
    session.run();
    await session.delegates.synced;
    await this.#identify(session, readClusterIdWithRetry);
  }

  /**
   * A source with Admiralty's narrower role may not read kube-system: then the identity stays unknown. Returns whether
   * it is known and acceptable.
   */
  async #identify(session: TargetSession, read: typeof readClusterId): Promise<boolean> {
    const client = session.client.withoutRateLimit(IDENTIFY_MS);
    const clusterId = await read(client, session.signal).catch(() => undefined);
    if (clusterId === undefined) return false;
    const moved = await this.#listener.movedTo(this, clusterId, session.signal);
    if (session.signal.aborted) return false;
    if (moved === undefined) this.#clusterId = clusterId;
    const problem = moved ?? this.#listener.identified(this);
    if (problem !== undefined) this.reject(problem);
    else this.#listener.changed(this);
    if (moved !== undefined) this.#retryTimer = setTimeout(() => this.retry(), LIMIT_RETRY_MS).unref();
    return problem === undefined;
  }

  /** What is withheld from a tenant is logged, once per change. */
  #logFailure({ failure }: TargetSession): void {
    const error = failure === undefined || !this.#isTenantOwned ? '' : detailOf(failure.error);
    if (error !== '' && error !== this.#logged) {
      this.#environment.logger.warn({ target: this.key, error }, 'a target of a tenant cannot be followed');
    }
    this.#logged = error;
  }

  /** Closed before it can send more, and retried later. */
  #disableForLimit(session: TargetSession, { message }: LimitError): void {
    if (this.#session !== session) return;
    this.reject(limitExceeded(message, LIMIT_RETRY_MS));
    this.#environment.logger.warn({ target: this.key, error: message }, 'a target of a tenant exceeds its limits');
    this.#retryTimer = setTimeout(() => this.retry(), LIMIT_RETRY_MS).unref();
  }

  #fail(reason: string, message: string): void {
    this.#generation += 1;
    this.#problem = unavailable(reason, message);
    void this.#closeSession();
    this.#listener.changed(this);
  }

  async #closeSession(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.stop();
  }
}
