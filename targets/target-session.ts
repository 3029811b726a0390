// A live connection to one target: its client and its informers. Where the target does not serve our kinds (Pod mode),
// there are no PodChaperons, and the source computes the target's free capacity itself.
import type { Logger } from 'pino';
import { PARENT_CLUSTER_LABEL } from '../api/objects/keys.ts';
import { CLUSTER_SUMMARY_NAME } from '../api/objects/own-names.ts';
import type { DelegationMode, DelegationSetting } from '../api/kinds/cluster-target.ts';
import type { Pod } from '../api/objects/core.ts';
import type { ClusterSummary } from '../api/kinds/cluster-summary.ts';
import type { PodChaperon } from '../api/kinds/pod-chaperon.ts';
import {
  CLUSTER_SUMMARIES, POD_CHAPERONS, PODS, SELF_SUBJECT_ACCESS_REVIEWS, type SubjectAccessReview,
} from '../api/resource-types.ts';
import { foundDelegation } from '../model/delegate/delegation.ts';
import {
  toChaperonRecord, toDelegatePodRecord, type Chaperon, type DelegatePod,
} from '../model/delegate/cached-delegate.ts';
import { isRenewal, toKnownSummary } from '../model/delegate/cached-summary.ts';
import type { ProxyPod } from '../model/proxy/proxy-pod.ts';
import { ServerLiveness } from './server-liveness.ts';
import { ApiError } from '../kubernetes/flow/api-error.ts';
import { ClusterClient, type Selection } from '../kubernetes/client/cluster-client.ts';
import type { Fence } from '../kubernetes/flow/fence.ts';
import { Heartbeat } from './heartbeat.ts';
import { Informer } from '../kubernetes/watch/informer.ts';
import type { ClusterConnection } from '../kubernetes/credentials/kubeconfig.ts';
import { Transport } from '../kubernetes/http/transport.ts';

/** What a session is opened with. */
export interface SessionOptions {
  readonly connection: ClusterConnection;
  readonly userAgent: string;
  /** UID of the source's kube-system Namespace; selects our chaperons and delegates. */
  readonly sourceId: string;
  /** The only namespace to watch, for a namespaced Target. */
  readonly namespace: string | undefined;
  /** The source, and the name of the ClusterSummary that it computes there for a target that publishes none. */
  readonly sourceSummary: { readonly source: ClusterClient; readonly name: string };
  readonly delegation: DelegationSetting;
  /** Fences all writes. */
  readonly fence?: Fence | undefined;
  readonly logger: Logger;
}

type AnyInformer = Informer<ClusterSummary, ClusterSummary> | Informer<PodChaperon, Chaperon>
  | Informer<Pod, DelegatePod>;

/** An open session. Everything ends when {@link TargetSession.stop} is called. */
export class TargetSession {
  /** URL of the target's API server. */
  readonly server: string;
  readonly client: ClusterClient;
  /** Label selector for objects that the source created there. */
  readonly ours: Selection;
  /** Liveness of its API server, for callers about to write. */
  readonly liveness: ServerLiveness;
  /** Indexed by the key of the proxy pod. */
  readonly chaperons: Informer<PodChaperon, Chaperon>;
  /** Indexed by the key of the proxy pod. */
  readonly delegates: Informer<Pod, DelegatePod>;
  readonly #published: Informer<ClusterSummary, ClusterSummary>;
  readonly #sourceSummary: Informer<ClusterSummary, ClusterSummary>;
  readonly #sourceSummaryName: string;
  readonly #stopped = new AbortController();
  readonly #requestedMode: DelegationSetting;
  readonly #heartbeat = new Heartbeat(() => void this.#lifeChanged());
  readonly #listeners: (() => void)[] = [];
  #mayWritePods: boolean | undefined;
  #found: DelegationMode | undefined;
  #followsSourceSummary = false;

  constructor(options: SessionOptions) {
    const { logger, namespace, sourceSummary, fence } = options;
    const transport = new Transport(options.connection, options.userAgent);
    const client = new ClusterClient(transport, fence === undefined ? {} : { fence });
    const ours = { namespace, labelSelector: `${PARENT_CLUSTER_LABEL}=${options.sourceId}` };
    this.client = client;
    this.liveness = new ServerLiveness(client.transport, () => this.#notify(), this.#stopped.signal);
    client.transport.activity.onAnswer = () => this.liveness.noteAnswer();
    this.ours = ours;
    this.server = options.connection.server.href;
    this.#requestedMode = options.delegation;
    this.#sourceSummaryName = sourceSummary.name;
    this.#published = summaryInformer(client, CLUSTER_SUMMARY_NAME, logger);
    this.#sourceSummary = summaryInformer(sourceSummary.source, sourceSummary.name, logger);
    this.chaperons = new Informer({
      client, logger, type: POD_CHAPERONS, selection: ours, project: toChaperonRecord, index: parentKey,
      indexes: {
        failover: ({ namespace, failoverGraceSeconds }) => (
          failoverGraceSeconds === undefined ? undefined : namespace
        ),
      },
    });
    this.delegates =
      new Informer({ client, logger, type: PODS, selection: ours, project: toDelegatePodRecord, index: parentKey });
  }

  /** Starts the informers. */
  run(): void {
    const { signal } = this.#stopped;
    this.#published.onChange(
      (_key, _before, summary) => summary !== undefined && this.#heartbeat.observe(summary, Date.now()),
    );
    this.#published.onConnection(({ kind }) => (kind === 'open' ? this.#heartbeat.listen() : this.#heartbeat.pause()));
    for (const informer of [this.#published, this.chaperons, this.delegates]) {
      informer.onConnection(() => this.#startSourceSummary());
      void informer.run(signal);
    }
  }

  /**
   * The delegation mode; undefined until it is known what the target serves. Once discovered it stays, whatever the
   * target serves later; only Admiralty may appear there, or disappear when the target is migrated.
   */
  get mode(): DelegationMode | undefined {
    if (this.#requestedMode !== 'Auto') return this.#requestedMode;
    const servesChaperons = this.#lacks(this.chaperons) ? false : this.chaperons.hasSynced || undefined;
    const controller = this.#heartbeat.state;
    const found = foundDelegation({ servesChaperons, controller, mayWritePods: this.#mayWritePods });
    if (controller === 'admiralty') return found;
    if (controller === 'alive' && found !== undefined) this.#found = found;
    this.#found ??= found;
    return this.#found;
  }

  /** Whether the target's delegate controller has published a summary before and its heartbeat is missing now. */
  get isControllerSilent(): boolean {
    return this.mode !== 'Pod' && this.#heartbeat.state === 'silent'
      && this.#published.get(CLUSTER_SUMMARY_NAME) !== undefined;
  }

  /**
   * Whether Admiralty runs there and is required for delegation: the source may not write pods, or does not know yet
   * whether it may.
   */
  get isAdmiraltyActive(): boolean {
    return this.mode === undefined && this.#heartbeat.state === 'admiralty';
  }

  /** The target's free capacity, as published by it or computed by the source. */
  get summary(): ClusterSummary | undefined {
    const published = this.publishesNoSummary ? undefined : this.#published.get(CLUSTER_SUMMARY_NAME);
    return published ?? this.#sourceSummary.get(this.#sourceSummaryName);
  }

  /** Whether the source must compute the target's free capacity itself. */
  get publishesNoSummary(): boolean {
    return this.mode === 'Pod' && (this.#lacks(this.#published) || this.#heartbeat.state === 'silent');
  }

  /** Adds a listener for {@link TargetSession.summary}; `isRenewed` when all that changed is when it was published. */
  onSummary(listener: (summary: ClusterSummary | undefined, isRenewed: boolean) => void): void {
    const changed = (_key: string, before?: ClusterSummary, after?: ClusterSummary): void =>
      listener(this.summary, isRenewal(before, after));
    for (const informer of [this.#published, this.#sourceSummary]) informer.onChange(changed);
  }

  /** The target's objects of one pod. */
  find({ key, uid }: Pick<ProxyPod, 'key' | 'uid'>): {
    readonly chaperon: Chaperon | undefined; readonly delegate: DelegatePod | undefined
  } {
    const isOf = ({ parentUid }: { readonly parentUid: string }) => parentUid === uid;
    const delegate = this.delegates.indexed(key).find(isOf);
    return { chaperon: this.#chaperonsOf(key).find(isOf) ?? delegate?.asChaperon, delegate };
  }

  /** Whether a pod of this namespace may fail over: the target stops its delegate when the SourceLease expires. */
  hasFailoverPods(namespace: string): boolean {
    return this.chaperons.by('failover', namespace).length > 0;
  }

  /** All objects that the source created there for pods of this key. */
  madeFor(key: string): Chaperon[] {
    return [...this.#chaperonsOf(key), ...this.delegates.indexed(key).flatMap(({ asChaperon }) => asChaperon ?? [])];
  }

  /** The resourceVersion up to which our objects there are known. */
  get candidatesVersion(): string {
    return this.mode === 'Pod' ? this.delegates.resourceVersion : this.chaperons.resourceVersion;
  }

  /**
   * Whether chaperons can exist there: deleting the CRD deletes all; and a source that may not read them does without.
   */
  get mayHoldChaperons(): boolean {
    return this.mode !== 'Pod' || !this.#lacks(this.chaperons);
  }

  #chaperonsOf(key: string): Chaperon[] {
    return this.mayHoldChaperons ? this.chaperons.indexed(key) : [];
  }

  /**
   * A target may serve our kinds with no controller running: then one check shows whether the source can do without.
   */
  async #lifeChanged(): Promise<void> {
    if (
      ['silent', 'admiralty'].includes(this.#heartbeat.state) && this.mode === undefined
        && this.#mayWritePods === undefined
    ) {
      this.#mayWritePods = await mayDelegateDirectly(this.client, this.#stopped.signal).catch(() => undefined);
    }
    this.#startSourceSummary();
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  #startSourceSummary(): void {
    if (this.#followsSourceSummary || !this.publishesNoSummary) return;
    this.#followsSourceSummary = true;
    void this.#sourceSummary.run(this.#stopped.signal);
  }

  /** Whether the target does not serve a kind, or forbids it to a source that asks for Pod mode and so does without. */
  #lacks({ hasSynced, connection }: AnyInformer): boolean {
    if (connection.kind !== 'broken' || !(connection.error instanceof ApiError)) return false;
    const { status } = connection.error;
    if (this.#requestedMode === 'Pod') return status === 404 || (status === 403 && !hasSynced);
    return status === 404 && !hasSynced;
  }

  /** Ends the session and its connections. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#heartbeat.pause();
    await this.client.transport.close();
  }

  /** Aborted when the session has ended. */
  get signal(): AbortSignal {
    return this.#stopped.signal;
  }

  /** Whether all informers have synced. */
  get hasSynced(): boolean {
    return this.#informers().every((informer) => informer.hasSynced);
  }

  /** Resolves once delegates have synced, and chaperons where the target serves them, or the session has ended. */
  get synced(): Promise<unknown> {
    const lacking = new Promise<void>(
      (resolve) => this.chaperons.onConnection(() => this.mode === 'Pod' && this.#lacks(this.chaperons) && resolve()),
    );
    return Promise.all([this.delegates.synced, Promise.race([this.chaperons.synced, lacking])]);
  }

  /** Why some collection cannot be watched now; undefined when all watches are open. */
  get failure(): { readonly error: unknown } | undefined {
    for (const informer of this.#informers()) {
      if (informer.connection.kind === 'broken') return { error: informer.connection.error };
    }
    return undefined;
  }

  /**
   * Calls back when a watch opens or breaks, and when the API server or the delegate controller becomes alive or
   * silent.
   */
  onConnection(listener: () => void): void {
    this.#listeners.push(listener);
    for (const informer of [this.#published, this.chaperons, this.delegates]) informer.onConnection(listener);
  }

  #informers(): AnyInformer[] {
    const ours = this.mode === 'Pod'
      ? [this.#published, this.chaperons].filter((informer) => !this.#lacks(informer))
      : [this.#published, this.chaperons];
    return [...ours, this.delegates];
  }
}

function summaryInformer(
  client: ClusterClient, name: string, logger: Logger,
): Informer<ClusterSummary, ClusterSummary> {
  let last: ClusterSummary | undefined;
  return new Informer({
    client, logger, type: CLUSTER_SUMMARIES, selection: { fieldSelector: `metadata.name=${name}` },
    project: (summary) => (last = toKnownSummary(last, summary)),
  });
}

function parentKey(record: Chaperon | DelegatePod): string {
  return record.parentKey;
}

/** Whether the source has the permissions of Pod mode: it writes pods, and reads nodes to compute free capacity. */
async function mayDelegateDirectly(client: ClusterClient, signal: AbortSignal): Promise<boolean> {
  const needed = [{ verb: 'create', resource: 'pods' }, { verb: 'list', resource: 'nodes' }];
  const answers = await Promise.all(needed.map((resourceAttributes) =>
    client.create<SubjectAccessReview>(
      SELF_SUBJECT_ACCESS_REVIEWS, { metadata: {}, spec: { resourceAttributes } } as SubjectAccessReview, signal,
    )));
  return answers.every(({ status }) => status?.allowed === true);
}
