// One (Cluster)Target of the source: follows its spec and its Secret, and keeps a session open to the cluster that they name.
// A target that cannot be used says why and disturbs nobody; nothing restarts when it changes.
import type { Logger } from 'pino';
import { DEFAULT_KUBECONFIG_KEY, type DelegationMode, type DelegationWish, type TargetSpec } from '../api/cluster-target.ts';
import type { Secret } from '../api/core.ts';
import { SECRETS } from '../api/resource-types.ts';
import { virtualNodeName } from '../model/names.ts';
import type { IdentityProblem } from '../model/target-identity.ts';
import { targetKey, type TargetRef } from '../model/target-ref.ts';
import { AppError, messageOf } from '../process/errors.ts';
import { ApiError } from './api-error.ts';
import type { ClusterClient } from './cluster-client.ts';
import type { Fence } from './fence.ts';
import { Informer } from './informer.ts';
import { readKubeconfig, type ClusterConnection } from './kubeconfig.ts';
import { readClusterId, TargetSession } from './target-session.ts';

/** Whether a target may get new pods; when not, a CamelCase reason and what to change. */
export type Availability = { readonly kind: 'ready' } | { readonly kind: 'unavailable'; readonly reason: string; readonly message: string };

/** What all targets of a process share. */
export interface TargetEnvironment {
  /** Client of the source cluster. */
  readonly source: ClusterClient;
  /** How to reach the source cluster, for targets with `self: true`. */
  readonly sourceConnection: ClusterConnection;
  readonly sourceId: string;
  readonly installNamespace: string;
  /** CONNECT endpoints of the gateways of this cluster, for targets with `spec.gateway`. */
  readonly gateways?: readonly URL[] | undefined;
  readonly userAgent: string;
  /** Guards all writes to targets; missing where there is no leader election. */
  readonly fence?: Fence | undefined;
  readonly logger: Logger;
}

/** How long a target may take to say who it is before its session begins without, in ms. */
const IDENTIFY_MS = 5_000;

const SILENT = 'the delegate controller of the target has not renewed its ClusterSummary for more than two minutes; see that Isthmus runs there';

/** Hears what happens to a target. */
export interface TargetListener {
  /** A session is about to start: add listeners to its informers now. */
  sessionOpened(target: TargetCluster, session: TargetSession): void;
  /** Availability may have changed. */
  changed(target: TargetCluster): void;
  /** How pods were delegated to it so far. */
  settledDelegation(target: TargetCluster): DelegationMode | undefined;
  /** Whether there is a target of this key. */
  isTarget(key: string): boolean;
  /** Which cluster it is has become known; what is given back speaks against using it. */
  identified(target: TargetCluster): IdentityProblem | undefined;
}

/** A target that exists in the source. */
export class TargetCluster {
  readonly ref: TargetRef;
  readonly key: string;
  /** The Node in the source that stands for this target. */
  readonly nodeName: string;
  readonly #environment: TargetEnvironment;
  readonly #listener: TargetListener;
  #spec: TargetSpec | undefined;
  #secretWatch: AbortController | undefined;
  #kubeconfig: string | undefined;
  #session: TargetSession | undefined;
  #clusterId: string | undefined;
  #problem: Availability = unavailable('Connecting', 'the target is being connected to');
  /** Counts configurations, so that a slow one does not replace a newer one. */
  #generation = 0;

  constructor(ref: TargetRef, environment: TargetEnvironment, listener: TargetListener) {
    this.ref = ref;
    this.key = targetKey(ref);
    this.nodeName = virtualNodeName(ref);
    this.#environment = environment;
    this.#listener = listener;
  }

  /** The open session, whether or not the target answers now. */
  get session(): TargetSession | undefined {
    return this.#session;
  }

  /** UID of the target's kube-system Namespace, once known. */
  get clusterId(): string | undefined {
    return this.#clusterId;
  }

  /** Whether the target may get new pods. */
  get availability(): Availability {
    const session = this.#session;
    if (session === undefined) return this.#problem;
    const { failure } = session;
    if (failure !== undefined) return explainFailure(failure.error);
    if (!session.hasSynced) return unavailable('Connecting', 'the target is being connected to');
    if (session.isControllerSilent) return unavailable('ControllerSilent', SILENT);
    const isUndecided = session.mode === undefined && session.summary !== undefined;
    return isUndecided ? unavailable('Connecting', 'whether the delegate controller of the target lives is being found out') : { kind: 'ready' };
  }

  /** Whether something in its cluster is this target's affair: not what was made through another one that leads to the same cluster. */
  holds({ through }: { readonly through?: string }): boolean {
    return through === undefined || through === this.key || !this.#listener.isTarget(through);
  }

  /** Takes over a new spec. */
  update(spec: TargetSpec): void {
    const before = this.#spec;
    this.#spec = spec;
    if (before !== undefined && isSameConnection(before, spec)) return;
    this.#secretWatch?.abort();
    this.#kubeconfig = undefined;
    if (spec.self === true) void this.#open(async () => this.#environment.sourceConnection);
    else this.#followSecret(spec);
  }

  /** Stops using it for what it is, or for another one that is the same. */
  refuse({ reason, message }: IdentityProblem): void {
    this.#fail(reason, message);
  }

  /** Tries again what was refused: another target has gone, say. */
  retry(): void {
    const spec = this.#spec;
    this.#spec = undefined;
    if (spec !== undefined) this.update(spec);
  }

  /** Whether it is the source on purpose. */
  get isSelf(): boolean {
    return this.#spec?.self === true;
  }

  /** Ends the session: the target was removed, or the process stops. */
  async stop(): Promise<void> {
    this.#generation += 1;
    this.#secretWatch?.abort();
    await this.#closeSession();
  }

  /** A mode that was settled once stays until the spec says otherwise: kinds that are missing now may have been there. */
  #wish(): DelegationWish {
    const { delegation = 'Auto' } = this.#spec ?? {};
    return delegation === 'Auto' ? (this.#listener.settledDelegation(this) ?? 'Auto') : delegation;
  }

  #followSecret(spec: TargetSpec): void {
    const secret = spec.kubeconfigSecret;
    if (secret === undefined) return this.#fail('InvalidSpec', 'set spec.kubeconfigSecret.name, or spec.self: true');
    const namespace = this.ref.kind === 'Target' ? this.ref.namespace : (secret.namespace ?? this.#environment.installNamespace);
    const where = `Secret ${namespace}/${secret.name}`;
    this.#fail('SecretMissing', `${where} does not exist; create it with a kubeconfig under key ${secret.key ?? DEFAULT_KUBECONFIG_KEY}`);
    const watch = new AbortController();
    this.#secretWatch = watch;
    const informer = new Informer({
      client: this.#environment.source,
      logger: this.#environment.logger,
      type: SECRETS,
      selection: { namespace, fieldSelector: `metadata.name=${secret.name}` },
      project: (object) => object,
    });
    informer.onChange((_key, _before, after) => this.#useSecret(after, spec, where));
    void informer.run(watch.signal);
  }

  #useSecret(secret: Secret | undefined, spec: TargetSpec, where: string): void {
    const key = spec.kubeconfigSecret?.key ?? DEFAULT_KUBECONFIG_KEY;
    if (secret === undefined) {
      this.#kubeconfig = undefined;
      return this.#fail('SecretMissing', `${where} does not exist; create it with a kubeconfig under key ${key}`);
    }
    const data = secret.data?.[key];
    if (data === undefined) {
      this.#kubeconfig = undefined;
      return this.#fail('SecretKeyMissing', `${where} has no key ${key}; store the kubeconfig there, or name its key in spec.kubeconfigSecret.key`);
    }
    if (data === this.#kubeconfig) return;
    this.#kubeconfig = data;
    const context = spec.kubeconfigSecret?.context;
    const text = Buffer.from(data, 'base64').toString('utf8');
    void this.#open(async () => this.#throughGateway(await readKubeconfig({ text, author: 'tenant', ...(context !== undefined && { context }) }), spec));
  }

  #throughGateway(connection: ClusterConnection, { gateway }: TargetSpec): ClusterConnection {
    if (gateway === undefined) return connection;
    const { gateways: endpoints = [] } = this.#environment;
    if (endpoints.length === 0) throw new AppError('BadInput', 'spec.gateway is set, but this process knows no gateway; start it with --gateway http://HOST:PORT');
    return { ...connection, gateway: { clusterId: gateway.cluster, endpoints } };
  }

  async #open(connect: () => Promise<ClusterConnection>): Promise<void> {
    const generation = ++this.#generation;
    try {
      const connection = await connect();
      if (generation !== this.#generation || this.#takeOver(connection)) return;
      await this.#closeSession();
      if (generation === this.#generation) this.#startSession(connection);
    } catch (error) {
      if (generation === this.#generation) this.#fail(error instanceof AppError ? error.code : 'KubeconfigInvalid', messageOf(error));
    }
  }

  /** New credentials for the same server: the session goes on with them, and no event is lost. */
  #takeOver(connection: ClusterConnection): boolean {
    if (this.#session === undefined || this.#session.server !== connection.server.href) return false;
    this.#session.client.transport.use(connection);
    this.#listener.changed(this);
    return true;
  }

  #startSession(connection: ClusterConnection): void {
    const { source, userAgent, sourceId, fence, logger } = this.#environment;
    const session = new TargetSession({
      connection,
      userAgent,
      sourceId,
      fence,
      namespace: this.ref.kind === 'Target' ? this.ref.namespace : undefined,
      kept: { source, name: this.nodeName },
      delegation: this.#wish(),
      logger: logger.child({ target: this.key }),
    });
    this.#session = session;
    session.onConnection(() => this.#listener.changed(this));
    session.client.transport.onRoundTrip = () => this.#listener.changed(this);
    this.#listener.sessionOpened(this, session);
    void this.#identifyAndRun(session);
  }

  /** Looks who it is before anything there is taken for ours. Where that cannot be read now, it is looked for once more when all else can. */
  async #identifyAndRun(session: TargetSession): Promise<void> {
    if (await this.#identify(session)) return session.run();
    if (session.signal.aborted) return;
    session.run();
    await session.delegates.synced;
    await this.#identify(session);
  }

  /** A source with Admiralty's own, narrower role may not read kube-system: then the identity stays unknown. Gives whether it is known and fine. */
  async #identify(session: TargetSession): Promise<boolean> {
    const clusterId = await readClusterId(session.client.urgent(IDENTIFY_MS), session.signal).catch(() => undefined);
    if (session.signal.aborted || clusterId === undefined) return false;
    this.#clusterId = clusterId;
    const problem = this.#listener.identified(this);
    if (problem !== undefined) this.refuse(problem);
    else this.#listener.changed(this);
    return problem === undefined;
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

/** Whether two specs name the same cluster in the same way, and delegate alike; prices and the like may differ. */
function isSameConnection(one: TargetSpec, other: TargetSpec): boolean {
  const way = ({ self, kubeconfigSecret, gateway, delegation }: TargetSpec) => JSON.stringify([delegation, self === true, kubeconfigSecret, gateway?.cluster]);
  return way(one) === way(other);
}

function unavailable(reason: string, message: string): Availability {
  return { kind: 'unavailable', reason, message };
}

function explainFailure(error: unknown): Availability {
  if (!(error instanceof ApiError)) return unavailable('Unreachable', `the target's API server cannot be reached: ${messageOf(error)}`);
  if (error.status === 401) return unavailable('Unauthorized', 'the target does not accept the credentials in the kubeconfig; renew them in the Secret');
  if (error.status === 403) return unavailable('Forbidden', `the target denies what a source must do: ${error.message}; run "isthmus peer" again, or grant it`);
  if (error.status === 404) return unavailable('NotInstalled', 'the target does not serve the kinds of Isthmus; run "isthmus install" there');
  return unavailable('ApiServerError', `the target's API server answers with an error: ${error.message}`);
}
