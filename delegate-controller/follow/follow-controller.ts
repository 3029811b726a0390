// Tracks which objects elected pods need in which target, and enqueues what a change affects. An object follows a pod
// only to the target that the source itself bound the pod to, or sent its candidate to (ADR 0054), and only while that
// target has it: a pod that is not elected cannot make a Secret leave its cluster, nor can a target that was not given
// the pod.
import type { Logger } from 'pino';
import { apiVersionOf, PODS } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { EventSink } from '../../kubernetes/controller/event-recorder.ts';
import { boundTo, type SourceControllerOptions } from '../../targets/proxy-pods.ts';
import type { TargetCluster } from '../../targets/target-cluster.ts';
import type { TargetSession } from '../../targets/target-session.ts';
import { regardingPod } from '../../model/proxy/event-record.ts';
import { isTerminal, splitKey } from '../../model/pod/pod.ts';
import { toProxyPodRecord, type ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { PROXY_PODS } from '../../model/proxy/proxy-selection.ts';
import { FollowAnnotations } from './follow-annotations-controller.ts';
import { FollowNeeds, type BoundNeeds, type FollowRules } from './follow-needs.ts';
import type { FollowMarking, SourceObject } from '../copies/follow-plan.ts';
import { FollowedSources } from './followed-objects.ts';
import type { SourcePodPlane } from './source-pod-plane.ts';
import { TargetFollower, type FollowContext } from './follow-target-controller.ts';
import { FOLLOWED_KINDS, type FollowedKind, type FollowedName } from '../copies/followed-kinds.ts';
import { Placements, type Placement } from './needs-by-target.ts';

/** What the controller works with. */
export interface FollowOptions extends SourceControllerOptions {
  /** UID of the source's kube-system Namespace. */
  readonly sourceId: string;
  readonly rules: FollowRules;
  readonly podPlane: SourcePodPlane;
  readonly events: EventSink;
}

/** Maximum number of pods that get an Event about one object; mostly they have the same owner. */
const MAX_TOLD = 10;

/** Starts the controller. */
export function startFollow(options: FollowOptions, signal: AbortSignal): void {
  new Follow(options, signal).start();
}

class Follow implements FollowContext {
  readonly source: ClusterClient;
  readonly sourceId: string;
  readonly logger: Logger;
  readonly ready: Promise<unknown>;
  readonly #options: FollowOptions;
  readonly #sources: FollowedSources;
  readonly #placements = new Placements();
  readonly #candidates = new Placements();
  readonly #needs: FollowNeeds;
  readonly #followers = new Map<string, TargetFollower>();
  readonly #annotations: FollowAnnotations;

  constructor(options: FollowOptions, signal: AbortSignal) {
    const { source, sourceId, proxies, targets, rules, podPlane, logger } = options;
    this.#options = options;
    this.#needs = new FollowNeeds(
      { placements: this.#placements, candidates: this.#candidates }, rules, (object) => this.sourceObject(object),
    );
    this.source = source;
    this.sourceId = sourceId;
    this.logger = logger;
    this.ready = Promise.all([proxies.synced, targets.untilSynced(), podPlane.known]);
    this.#sources = new FollowedSources(
      options,
      {
        changed: (kind, key) => this.#sourceChanged(kind, key),
        listed: (kind, namespace) => {
          for (const follower of this.#followers.values()) follower.enqueueCopies(kind, namespace);
        },
      },
      signal,
    );
    this.#annotations = new FollowAnnotations(
      {
        source, events: options.events, logger, ready: this.ready,
        sourceObject: (object) => this.sourceObject(object),
        markingOf: (object) => this.#markingOf(object),
      },
      signal,
    );
  }

  start(): void {
    const { proxies, targets, rules, podPlane } = this.#options;
    this.#sources.start();
    podPlane.onChange(() => {
      for (const { kind, key } of this.#served()) this.#annotations.enqueue(kind, key);
    });
    rules.onChange(() => {
      for (const follower of this.#followers.values()) this.#enqueueServed(follower);
    });
    proxies.onChange((key) => {
      this.#place(key);
      if (this.#candidates.of(key) !== undefined) this.#placeCandidate(key, undefined);
    });
    targets.listen({
      sessionOpened: (target, session) => this.#observeSession(target, session),
      becameReady: (target) => this.#targetReturned(target),
      removed: (target) => {
        this.#followers.delete(target.key);
        for (const { key } of boundTo(proxies, target.nodeName)) this.#place(key);
        for (const key of this.#candidates.podsIn(target.key)) this.#placeCandidate(key, undefined);
      },
    });
  }

  #observeSession(target: TargetCluster, session: TargetSession): void {
    if (this.#options.targets.object(target.ref)?.spec.self === true) return;
    this.#followers.set(target.key, new TargetFollower(this, target, session));
    for (const collection of [session.chaperons, session.delegates]) {
      collection.onChange((
        _key: string, before: { readonly parentKey: string } | undefined,
        after: { readonly parentKey: string } | undefined,
      ) => {
        const parentKey = (after ?? before)?.parentKey;
        if (parentKey === undefined || (before !== undefined && after !== undefined)) return;
        this.#place(parentKey);
        this.#placeCandidate(parentKey, target);
      });
    }
  }

  /** Enqueues what was postponed while the target was away. */
  #targetReturned(target: TargetCluster): void {
    const follower = this.#followers.get(target.key);
    if (follower === undefined) return;
    for (const { key } of boundTo(this.#options.proxies, target.nodeName)) this.#place(key);
    for (const kind of FOLLOWED_KINDS) follower.enqueueCopies(kind, undefined);
    for (const placement of this.#placements.inTarget(target.key)) this.#enqueueNeeds(placement);
    this.#enqueueServed(follower);
  }

  /** Enqueues objects that may go to a target without any of its pods. */
  #enqueueServed(follower: TargetFollower): void {
    for (const { kind, key } of this.#served()) follower.enqueue(kind, key);
  }

  /** Objects that serve pods, in namespaces with placed pods. */
  *#served(): Generator<{ readonly kind: FollowedKind; readonly key: string }> {
    for (const namespace of this.#placements.namespaces()) {
      for (const kind of FOLLOWED_KINDS) {
        if (kind.need.kind !== 'named') for (const { key } of this.#sources.in(kind, namespace)) yield { kind, key };
      }
    }
  }

  /** Records where the pod of this key runs now. */
  #place(key: string): void {
    const placement = this.#placementOf(this.#options.proxies.get(key));
    if (placement === 'unknown') return;
    for (const changed of this.#placements.place(key, placement)) this.#enqueueNeeds(changed);
  }

  /**
   * Records that the target, or the one with the pod's candidate until now, has the candidate of this pod, or has it no
   * more.
   */
  #placeCandidate(key: string, target: TargetCluster | undefined): void {
    const proxy = this.#options.proxies.get(key);
    const before = this.#candidates.of(key)?.target;
    const where = target?.key ?? before;
    if (where === undefined) return;
    const found = proxy?.nodeName === undefined ? this.#foundIn(this.#options.targets.get(where), proxy) : undefined;
    if (found === 'unknown' || (found === undefined && where !== before)) return;
    for (const changed of this.#candidates.place(key, found)) this.#enqueueNamed(changed);
  }

  /** The needs of a pod that is placed or on its way, as far as they are known. */
  #mayBePlaced(proxy: ProxyPod | undefined): BoundNeeds[] {
    if (proxy === undefined) return [];
    const candidate = this.#candidates.of(proxy.key)?.target;
    const nodeName =
      proxy.nodeName ?? (candidate === undefined ? undefined : this.#options.targets.get(candidate)?.nodeName);
    if (nodeName === undefined) return [];
    const target = this.#options.targets.byNode(nodeName);
    return this.#foundIn(target, proxy) === undefined ? [] : [{ nodeName, needs: proxy.needs }];
  }

  #placementOf(proxy: ProxyPod | undefined): Placement | undefined | 'unknown' {
    if (proxy?.nodeName === undefined) return undefined;
    return this.#foundIn(this.#options.targets.byNode(proxy.nodeName), proxy);
  }

  /** Where a target has the delegate of a pod, or its candidate. */
  #foundIn(target: TargetCluster | undefined, proxy: ProxyPod | undefined): Placement | undefined | 'unknown' {
    if (
      proxy === undefined || isTerminal(proxy.phase) || target === undefined || !this.#followers.has(target.key)
        || target.clusterId === this.sourceId
    ) return undefined;
    const { session } = target;
    if (session === undefined || !session.hasSynced) return 'unknown';
    const { chaperon, delegate } = session.find(proxy);
    if (chaperon === undefined && delegate === undefined) return undefined;
    return { namespace: proxy.namespace, needs: proxy.needs, target: target.key };
  }

  /** Enqueues everything that pods with these needs affect. */
  #enqueueNeeds(placement: Placement): void {
    this.#enqueueNamed(placement);
    for (const kind of FOLLOWED_KINDS) {
      if (kind.need.kind === 'named') continue;
      for (const { key } of this.#sources.in(kind, placement.namespace)) this.#enqueueEverywhere(kind, key);
    }
  }

  /** Enqueues the objects that pods with these needs refer to. */
  #enqueueNamed({ namespace, needs, target }: Placement): void {
    for (const kind of FOLLOWED_KINDS) {
      const { need, type } = kind;
      if (need.kind !== 'named') continue;
      this.#sources.want(kind, namespace, this.#needs.isKindNamed(namespace, type.plural));
      for (const reference of needs.references) {
        const [plural, name = ''] = reference.split('/');
        if (plural === type.plural) this.#followers.get(target)?.enqueue(kind, `${namespace}/${name}`);
      }
    }
  }

  #sourceChanged(kind: FollowedKind, key: string): void {
    this.#enqueueEverywhere(kind, key);
    const { namespace } = splitKey(key);
    for (const other of FOLLOWED_KINDS) {
      if (other.need.kind !== 'refers-to' || other.need.plural !== kind.type.plural) continue;
      for (const { key: leading } of this.#sources.in(other, namespace)) this.#enqueueEverywhere(other, leading);
    }
  }

  #enqueueEverywhere(kind: FollowedKind, key: string): void {
    this.#annotations.enqueue(kind, key);
    for (const follower of this.#followers.values()) follower.enqueue(kind, key);
  }

  /** Where the pod plane reaches delegates, their proxies are endpoints of the Service with the user's selector. */
  #markingOf(object: FollowedName): FollowMarking {
    if (!this.#needs.isServing(object)) return 'none';
    return this.#options.podPlane.isThere ? 'kept' : 'rewritten';
  }

  isNeeded(object: FollowedName, target: TargetCluster): boolean | 'unknown' {
    return this.#needs.isNeeded(object, target);
  }

  async isStillNeeded(object: FollowedName, target: TargetCluster, signal: AbortSignal): Promise<boolean> {
    const { namespace } = object;
    const pods =
      await this.source.list(PODS, { namespace, ...PROXY_PODS }, signal);
    const placed = pods.flatMap((pod) => this.#mayBePlaced(toProxyPodRecord(pod)));
    return this.#needs.isNeededBy(placed, object, target);
  }

  sourceObject({ kind, namespace, name }: FollowedName): SourceObject | undefined | 'unknown' {
    return this.#sources.get(kind, namespace, name);
  }

  tell(at: FollowedName, target: TargetCluster, message: string): void {
    const { proxies, events } = this.#options;
    const { kind: { type }, namespace, name } = at;
    const related = { apiVersion: apiVersionOf(type), kind: type.kind, namespace, name };
    const note = `${type.kind} ${name} does not follow into target ${target.ref.name}: ${message}`;
    for (const key of this.#needs.podsNeeding(at, target).slice(0, MAX_TOLD)) {
      const proxy = proxies.get(key);
      if (proxy !== undefined) events.record({
        regarding: regardingPod(proxy), related, type: 'Warning', reason: 'FollowRefused', action: 'CopyObject', note,
      });
    }
  }
}
