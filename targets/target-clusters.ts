// All targets of the source, in sync with its ClusterTargets and Targets. Shared by the components of one process.
import { isSameButForMeasurements, toTargetObject, type TargetLike, type TargetObject } from './target-object.ts';
import { CLUSTER_TARGETS, PODS, TARGETS } from '../api/resource-types.ts';
import { identityProblem, type IdentifiedTarget, type IdentityProblem } from '../model/naming/target-identity.ts';
import { targetKey, type TargetRef } from '../model/naming/target-ref.ts';
import { isTerminal } from '../model/pod/pod.ts';
import { Informer } from '../kubernetes/watch/informer.ts';
import { deleteTargetMetrics } from '../process/placement-metrics.ts';
import type { Problem } from './availability.ts';
import { ReadyTargets } from './ready-targets.ts';
import { TargetCluster } from './target-cluster.ts';
import type { TargetEnvironment } from './target-environment.ts';
import type { TargetSession } from './target-session.ts';
import { TargetsOfTenant } from './tenant-targets.ts';
import { DEFAULT_TENANT_SETTINGS } from './access/tenant-rules.ts';

/** Notified of target changes. All callbacks are optional. */
export interface TargetsListener {
  readonly sessionOpened?: (target: TargetCluster, session: TargetSession) => void;
  /** The target is new, or its availability may have changed. */
  readonly changed?: (target: TargetCluster) => void;
  /** The target has become ready, or is ready with another spec or other labels. Called after `changed`. */
  readonly becameReady?: (target: TargetCluster) => void;
  /** The target was deleted. */
  readonly removed?: (target: TargetCluster) => void;
}

/** Watches the targets of the source. */
export class TargetClusters {
  readonly #environment: TargetEnvironment;
  readonly #targets = new Map<string, TargetCluster>();
  readonly #byNode = new Map<string, TargetCluster>();
  /** The last known cluster UID of each target, by its key: its Secret may change to another cluster. */
  readonly #clusterIds = new Map<string, string>();
  readonly #byNamespace = new Map<string, TargetsOfTenant>();
  readonly #ready = new ReadyTargets();
  readonly #listeners: TargetsListener[] = [];
  readonly #informers: readonly Informer<TargetLike, TargetObject>[];

  constructor(environment: TargetEnvironment) {
    this.#environment = environment;
    const source = { client: environment.source, logger: environment.logger, selection: {}, project: toTargetObject };
    this.#informers = [new Informer({ ...source, type: CLUSTER_TARGETS }), new Informer({ ...source, type: TARGETS })];
    for (const informer of this.#informers) {
      informer.onChange((_key, before, after) => this.#changed(before, after));
    }
  }

  /** Adds a listener. A late one is called at once for all targets, then for their sessions. */
  listen(listener: TargetsListener): void {
    this.#listeners.push(listener);
    for (const target of this.#targets.values()) {
      listener.changed?.(target);
      if (target.session !== undefined) listener.sessionOpened?.(target, target.session);
      if (target.availability.kind === 'ready') listener.becameReady?.(target);
    }
  }

  /** Watches the targets until `signal` is aborted, then closes their sessions. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#informers.map((informer) => informer.run(signal)));
    await Promise.all([...this.#targets.values()].map((target) => target.stop()));
  }

  /** All targets, in no particular order. */
  all(): Iterable<TargetCluster> {
    return this.#targets.values();
  }

  /** Number of targets. */
  get size(): number {
    return this.#targets.size;
  }

  /** The target of a virtual node. */
  byNode(nodeName: string): TargetCluster | undefined {
    return this.#byNode.get(nodeName);
  }

  /** The target of a reference in text form. */
  get(key: string): TargetCluster | undefined {
    return this.#targets.get(key);
  }

  /** The cached object of a target. */
  object(ref: TargetRef): TargetObject | undefined {
    const [clusterTargets, targets] = this.#informers;
    return ref.kind === 'ClusterTarget' ? clusterTargets?.get(ref.name) : targets?.get(`${ref.namespace}/${ref.name}`);
  }

  /** Whether all targets are known. Before that, a missing one must not be taken for a deleted one. */
  get hasSynced(): boolean {
    return this.#informers.every((informer) => informer.hasSynced);
  }

  /** Why the targets of the source cannot be listed now; undefined while nothing is known against it. */
  get failure(): { readonly error: unknown } | undefined {
    for (const { connection } of this.#informers) if (connection.kind === 'broken') return { error: connection.error };
    return undefined;
  }

  /** Resolves when {@link hasSynced} becomes true. */
  async untilSynced(): Promise<void> {
    await Promise.all(this.#informers.map((informer) => informer.synced));
  }

  /** No listener acts on measurements in a status. With a thousand targets, most work would be to report them. */
  #changed(before: TargetObject | undefined, after: TargetObject | undefined): void {
    if (before !== undefined && after !== undefined && isSameButForMeasurements(before, after)) return;
    // a target that was deleted and created again while the watch was away is another one
    if (before !== undefined && before.uid !== after?.uid) this.#remove(before);
    if (after !== undefined) this.#update(after);
  }

  #update(object: TargetObject): void {
    const key = targetKey(object.ref);
    let target = this.#targets.get(key);
    if (target === undefined) {
      target = new TargetCluster(object.ref, this.#environment, {
        sessionOpened: (opened, session) =>
          this.#listeners.forEach((listener) => listener.sessionOpened?.(opened, session)),
        changed: (changed) => this.#tell(changed),
        movedTo: (moved, clusterId, signal) => this.#movedTo(moved, clusterId, signal),
        identified: (identified) => this.#identified(identified),
        isTarget: (other) => this.#targets.has(other),
        storedDelegation: (target) => this.object(target.ref)?.status.delegation,
      });
      this.#targets.set(key, target);
      this.#byNode.set(target.nodeName, target);
    }
    this.#use(target, object);
    this.#tell(target);
  }

  #tell(target: TargetCluster): void {
    for (const listener of this.#listeners) listener.changed?.(target);
    if (!this.#ready.note(target.key, target.availability.kind === 'ready', this.object(target.ref))) return;
    for (const listener of this.#listeners) listener.becameReady?.(target);
  }

  /** A Target is used only while it is within its namespace's limit. */
  #use(target: TargetCluster, object: TargetObject): void {
    const ofTenant = this.#ofTenant(object.ref);
    const ranked = { key: target.key, createdAt: object.createdAt };
    const displaced = this.#targets.get(ofTenant?.add(ranked) ?? '');
    if (displaced !== undefined && displaced !== target) displaced.disable(this.#tooMany);
    if (ofTenant?.isUsed(ranked) === false) target.disable(this.#tooMany);
    else target.update(object.spec);
  }

  #useNow(target: TargetCluster | undefined): void {
    const object = target && this.object(target.ref);
    if (target !== undefined && object !== undefined) this.#use(target, object);
  }

  #ofTenant(ref: TargetRef): TargetsOfTenant | undefined {
    if (ref.kind !== 'Target') return undefined;
    const known = this.#byNamespace.get(ref.namespace) ?? new TargetsOfTenant(this.#targetsPerNamespace);
    this.#byNamespace.set(ref.namespace, known);
    return known;
  }

  get #targetsPerNamespace(): number {
    return (this.#environment.tenants?.settings ?? DEFAULT_TENANT_SETTINGS).targetsPerNamespace;
  }

  get #tooMany(): Problem {
    const most = this.#targetsPerNamespace;
    return {
      reason: 'TooManyTargets',
      message:
        `a namespace may have ${most} Targets, and this one is not among its ${most} oldest; delete others, or ask ` +
          'the administrator to allow more',
    };
  }

  /** Pods of the cluster of before must not count as gone, and run twice, because another one does not have them. */
  async #movedTo(
    { key, ref, nodeName }: TargetCluster, clusterId: string, signal: AbortSignal,
  ): Promise<IdentityProblem | undefined> {
    const before = this.#clusterIds.get(key) ?? this.object(ref)?.status.clusterID;
    if (before === undefined || before === clusterId) return undefined;
    const bound = await this.#environment.source.list(PODS, { fieldSelector: `spec.nodeName=${nodeName}` }, signal)
      .catch(() => undefined);
    if (bound?.every(({ status }) => isTerminal(status?.phase)) === true) return undefined;
    return {
      reason: 'AnotherCluster',
      message:
        `the kubeconfig points to cluster ${clusterId}, and pods of the target run in cluster ${before}; restore the ` +
          'kubeconfig or, to give these pods up, delete the target and create it again',
    };
  }

  /** The newly identified target may be older than one that its cluster was attributed to. */
  #identified(target: TargetCluster): IdentityProblem | undefined {
    const before = this.#clusterIds.get(target.key) ?? this.object(target.ref)?.status.clusterID;
    if (target.clusterId !== undefined) this.#clusterIds.set(target.key, target.clusterId);
    if (before !== target.clusterId) this.#retryDuplicates({ key: target.key, clusterId: before });
    const problem = this.#problemOf(target);
    if (problem !== undefined) return problem;
    for (const other of this.#sameCluster(target.clusterId)) {
      const mayBeLater = other !== target && other.session !== undefined && other.clusterId !== undefined;
      const later = mayBeLater ? this.#problemOf(other) : undefined;
      if (later !== undefined) other.reject(later);
    }
    return undefined;
  }

  /** Targets that point to a cluster. Only these can be in one another's way. */
  #sameCluster(clusterId: string | undefined): readonly TargetCluster[] {
    return [...this.#targets.values()].filter((other) => this.#lastClusterId(other) === clusterId);
  }

  /** Until a target is identified, its cluster is the one of before: a later target must not get its pods meanwhile. */
  #lastClusterId({ clusterId, ref }: TargetCluster): string | undefined {
    return clusterId ?? this.object(ref)?.status.clusterID;
  }

  #problemOf(target: TargetCluster): IdentityProblem | undefined {
    const own = this.#toIdentified(target);
    if (own === undefined) return undefined;
    const known =
      this.#sameCluster(own.clusterId).flatMap((other) => (other === target ? own : (this.#toIdentified(other) ?? [])));
    return identityProblem(own, known, this.#environment.sourceId);
  }

  #toIdentified(target: TargetCluster): IdentifiedTarget | undefined {
    const { ref, isSelf } = target;
    const [object, clusterId] = [this.object(ref), this.#lastClusterId(target)];
    if (clusterId === undefined || object === undefined) return undefined;
    return { ref, clusterId, isSelf, createdAt: object.createdAt };
  }

  /** Its cluster may now be used by a target that was rejected as a duplicate. */
  #retryDuplicates({ key, clusterId }: Pick<TargetCluster, 'key' | 'clusterId'>): void {
    for (const other of this.#targets.values()) {
      if (
        other.key !== key && other.clusterId === clusterId && clusterId !== undefined && other.session === undefined
      ) other.retry();
    }
  }

  #remove({ ref, createdAt, status }: TargetObject): void {
    const key = targetKey(ref);
    const ofTenant = this.#ofTenant(ref);
    const successor = ofTenant?.remove({ key, createdAt });
    if (ref.kind === 'Target' && ofTenant?.isEmpty === true) this.#byNamespace.delete(ref.namespace);
    const target = this.#targets.get(key);
    if (target === undefined) return;
    this.#targets.delete(key);
    this.#byNode.delete(target.nodeName);
    this.#clusterIds.delete(key);
    this.#ready.remove(key);
    void target.stop();
    deleteTargetMetrics(key);
    for (const listener of this.#listeners) listener.removed?.(target);
    this.#retryDuplicates({ key, clusterId: target.clusterId ?? status.clusterID });
    this.#useNow(this.#targets.get(successor ?? ''));
  }
}
