// Runs the decision for one pod, or for all pods of a group, on the current cache. Nothing is sent here: a chosen
// target is reserved in the ledger, and the controller performs the step.
import type { Pod } from '../../api/objects/core.ts';
import { DELEGATE_FINALIZER } from '../../api/objects/keys.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { withFailover } from '../../model/pod/source-lease.ts';
import { toPodChaperon } from '../../model/delegate/pod-chaperon.ts';
import { holdsFinalizer, sourcePodOf, type ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { isSameJson } from '../../model/objects/json-values.ts';
import type { Informer } from '../../kubernetes/watch/informer.ts';
import { EquivalenceCache } from '../cache/equivalence-cache.ts';
import type { DecisionToLog } from '../explain/decision-log.ts';
import { overriddenChaperon, type OverriddenChaperon } from '../snapshot/delegate-overrides.ts';
import { toPlacementRecord } from '../explain/explain.ts';
import { exclusionFrom, requirementsIn } from '../decision/filters.ts';
import { dependsOnOtherTargets } from '../decision/per-target.ts';
import { groupDoesNotFit, tooFewMembers } from '../queue/group-rejections.ts';
import type { TargetClock } from './candidate-deadlines.ts';
import type { ClusterCache } from './cluster-cache.ts';
import { NO_RULES, rulesFor, type PolicyIndex } from '../snapshot/placement-rules.ts';
import { toPodToSchedule } from '../decision/placement-constraints.ts';
import { SCALE_UP_TIMEOUT_MS } from './placement.ts';
import type { GroupState } from '../queue/pod-groups.ts';
import type { PodState } from './pod-state.ts';
import type { RejectedTarget } from '../decision/schedule-pod.ts';
import type { Rejection } from '../snapshot/rejection.ts';
import type { TargetSnapshot } from '../snapshot/snapshot.ts';
import type { NodeRequirements } from '../snapshot/node-requirements.ts';

/** Dependencies of the chooser. */
export interface ChooserOptions {
  /** UID of the source's kube-system Namespace. */
  readonly sourceId: string;
  readonly proxies: Informer<Pod, ProxyPod>;
  /** The clock of the source's API server, by which pods are created. */
  readonly clock?: Pick<TargetClock, 'earliest'>;
  readonly decisionLog?: { write(decision: DecisionToLog): void } | undefined;
}

/** The target chosen for a pod, with the object to send. */
export interface Chosen {
  readonly kind: 'chosen';
  readonly target: string;
  readonly chaperon: PodChaperon;
  readonly requirements: NodeRequirements;
  /** The pod fits only on a node that the target's autoscaler would add. */
  readonly afterScaleUp: boolean;
  /** Why the target was chosen; stored with the Binding. */
  readonly placement: string | undefined;
}

/** Outcome for a pod. */
export type Choice =
  | Chosen
  /** Capacity was reserved for all pods of the group, this one included; see `PodState.reservation`. */
  | { readonly kind: 'reserved' }
  /** Something is missing or in progress; when that ends, the pod is enqueued again. */
  | { readonly kind: 'later' }
  /** The proxy has no readable source pod. */
  | { readonly kind: 'invalid'; readonly message: string }
  /**
   * `dependsOnPods`: the outcome may also change when other pods are placed or end. `retryMs`: when it changes by
   * itself.
   */
  | {
    readonly kind: 'none'; readonly rejected: readonly RejectedTarget[]; readonly dependsOnPods: boolean;
    readonly retryMs?: number
  };

type IncompleteGroup = Extract<GroupState, { readonly kind: 'incomplete' }>;

/** The target chosen for a member of a group. */
interface MemberChoice {
  readonly member: ProxyPod;
  readonly answer: Chosen;
}

/** The inputs with which a group found too few targets. */
interface TriedGroup {
  /** The members of which `unplaced` is known to hold. */
  members: IncompleteGroup['unplaced'];
  /** The inputs that distinguish its unplaced pods from others. */
  readonly unplaced: readonly unknown[];
  readonly fit: number;
  readonly targets: readonly TargetSnapshot[];
  /** Position in the change log of capacity. */
  readonly revision: number;
  readonly policies: PolicyIndex;
  /** Change counter of placed pods. */
  readonly placed: number;
  /** When a rejection or a delay of a member ends, in ms of a monotonic clock. */
  readonly retryAt: number;
}

/** Without the finalizer the delegate could outlive the pod. */
const NOT_ADMITTED =
  `finalizer ${DELEGATE_FINALIZER} is missing, so the pod did not pass the webhook; delete the pod, and create it ` +
    'again from its own manifest';
/** Maximum number of groups; the map is cleared when it is full. */
const MOST_TRIED = 1_000;

function groupKeyOf({ namespace, group }: ProxyPod): string {
  return `${namespace}/${group?.name ?? ''}`;
}

function retryAt(at: number): { readonly retryMs?: number } {
  return at === Infinity ? {} : { retryMs: Math.max(0, at - performance.now()) };
}

/** Chooses targets. */
export class TargetChooser {
  readonly #options: ChooserOptions;
  readonly #cache: ClusterCache;
  readonly #decisions = new EquivalenceCache();
  /** Groups that found too few targets, by namespace and name. */
  readonly #tried = new Map<string, TriedGroup>();

  constructor(options: ChooserOptions, cache: ClusterCache) {
    this.#options = options;
    this.#cache = cache;
  }

  /** Chooses the target of a pod, alone or with its group. */
  choose(proxy: ProxyPod, podState: PodState): Choice {
    const groupState = this.#cache.podTracker.groups.stateOf(proxy.uid);
    switch (groupState?.kind) {
      case 'failed':
        return { kind: 'later' }; // the deletion of the last candidate enqueues the pod again
      case 'too-few':
        return { kind: 'none', rejected: [tooFewMembers(proxy, groupState)], dependsOnPods: false };
      case 'incomplete':
        return this.#chooseForGroup(proxy, podState, groupState);
      case 'complete':
      case undefined:
        return this.#decide(proxy, podState);
    }
  }

  /** Chooses as for a pod that no target whose gate has held its candidate would take. Reserves nothing. */
  chooseElsewhere(proxy: ProxyPod, podState: PodState): Choice {
    return this.#decide(proxy, podState, podState.schedulingGatedIn);
  }

  /**
   * Reserves targets for all unplaced members at once, or for none. After a failure it is not repeated for each member
   * while the inputs are unchanged.
   */
  #chooseForGroup(proxy: ProxyPod, podState: PodState, incomplete: IncompleteGroup): Choice {
    const { unplaced, needed } = incomplete;
    const tried = this.#tried.get(groupKeyOf(proxy));
    const inputs = tried?.members === unplaced ? tried.unplaced : this.#inputsOf(unplaced);
    if (tried !== undefined && tried.fit < needed && this.#isUnchanged(tried, inputs)) {
      tried.members = unplaced;
      return {
        kind: 'none', dependsOnPods: true, rejected: [groupDoesNotFit(proxy, needed)],
        ...retryAt(tried.retryAt),
      };
    }
    const { assumed, own, retriedAt } = this.#tryAssumeAll(proxy, unplaced);
    if (assumed.length < needed) {
      for (const { member, answer } of assumed) this.#cache.undoAssume(answer.target, member);
      this.#cache.podTracker.enqueueAll(this.#cache.podTracker.groups.fail(proxy.uid));
      this.#noteTried(proxy, { members: unplaced, unplaced: inputs, fit: assumed.length, retryAt: retriedAt });
      const rejected = [groupDoesNotFit(proxy, needed), ...(own.kind === 'none' ? own.rejected : [])];
      return { kind: 'none', dependsOnPods: true, rejected, ...retryAt(retriedAt) };
    }
    for (const { member, answer } of assumed) this.#reserve(member, answer);
    return podState.reservation === undefined ? own : { kind: 'reserved' };
  }

  /**
   * Reserves a target for each member that finds one, for the time of this decision. `own` is the outcome for `proxy`.
   */
  #tryAssumeAll(proxy: ProxyPod, unplaced: IncompleteGroup['unplaced']): {
    readonly assumed: readonly MemberChoice[]; readonly own: Choice; readonly retriedAt: number
  } {
    const assumed: MemberChoice[] = [];
    let own: Choice = { kind: 'later' };
    let retriedAt = Infinity;
    for (const { key, uid } of unplaced) {
      const member = this.#options.proxies.get(key);
      if (member === undefined || member.uid !== uid) continue;
      const answer = this.#decide(member, this.#cache.podStateOf(uid));
      if (uid === proxy.uid) own = answer;
      if (answer.kind === 'none' && answer.retryMs !== undefined) retriedAt =
        Math.min(retriedAt, performance.now() + answer.retryMs);
      if (answer.kind !== 'chosen') continue;
      this.#cache.tryAssume(answer.target, member, answer.requirements);
      assumed.push({ member, answer });
    }
    return { assumed, own, retriedAt };
  }

  /** Reserves the target for the pod, and stores why it was chosen. */
  hold(proxy: ProxyPod, { target, requirements, placement, afterScaleUp }: Chosen): void {
    const podState = this.#cache.podStateOf(proxy.uid);
    podState.placement = placement;
    podState.scaleUpUntil = afterScaleUp ? performance.now() + SCALE_UP_TIMEOUT_MS : 0;
    this.#cache.assume(target, proxy, requirements);
  }

  /** Why policies or administrators keep the pod away from a target by now. */
  exclusionOf(proxy: ProxyPod, target: string): Rejection | undefined {
    const rules = rulesFor(proxy, this.#cache.context.policies);
    // what nobody can read excludes nothing that was chosen before
    const known = rules.blocked === undefined ? rules : NO_RULES;
    return exclusionFrom({ rules: known, constraints: proxy.constraints ?? {} }, this.#cache.views.get(target));
  }

  #noteTried(proxy: ProxyPod, found: Pick<TriedGroup, 'members' | 'unplaced' | 'fit' | 'retryAt'>): void {
    const { views, context } = this.#cache;
    if (this.#tried.size >= MOST_TRIED) this.#tried.clear();
    this.#tried.set(groupKeyOf(proxy), {
      ...found, targets: views.snapshots(), revision: views.changes.revision, policies: context.policies,
      placed: context.placed.changes,
    });
  }

  /** Who these pods are, and what of them may change while they wait: another pod of that name may fit. */
  #inputsOf(unplaced: IncompleteGroup['unplaced']): readonly unknown[] {
    return unplaced.flatMap(({ key, uid }) => {
      const { labels, specDigests } = this.#options.proxies.get(key) ?? {};
      return [uid, labels, specDigests];
    });
  }

  #isUnchanged(
    { unplaced, targets, revision, policies, placed, retryAt: until }: TriedGroup, unplacedNow: readonly unknown[],
  ): boolean {
    const { views, context } = this.#cache;
    const isSameCapacity = targets === views.snapshots() && revision === views.changes.revision;
    return isSameCapacity && policies === context.policies && placed === context.placed.changes
      && performance.now() < until && isSameJson(unplaced, unplacedNow);
  }

  #reserve(member: ProxyPod, chosen: Chosen): void {
    const { target, chaperon } = chosen;
    this.#cache.podStateOf(member.uid).reservation = { key: member.key, target, chaperon };
    this.hold(member, chosen);
    this.#cache.podTracker.enqueueAll([member.key]);
  }

  #decide(proxy: ProxyPod, podState: PodState, excluded?: ReadonlyMap<string, Rejection>): Choice {
    if (!holdsFinalizer(proxy)) return { kind: 'invalid', message: NOT_ADMITTED };
    const restored = sourcePodOf(proxy);
    if (restored.kind === 'invalid') return { kind: 'invalid', message: restored.message };
    const now = performance.now();
    const { byTarget, nextEnd } = podState.rejections(now);
    const rejectedBy = excluded === undefined ? byTarget : new Map([...byTarget, ...excluded]);
    const chaperon = this.#toChaperon(proxy, restored.pod);
    const targets = this.#cache.views.snapshots();
    const question =
      { proxy, sourcePod: restored.pod, chaperon, now: this.#options.clock?.earliest(now) ?? Date.now() };
    const pod = toPodToSchedule(
      question, this.#cache.context, targets, { rejectedBy, intern: (its) => this.#decisions.intern(its) },
    );
    const decision = this.#decisions.decide(pod, targets, this.#cache.views.changes);
    this.#options.decisionLog?.write({ time: new Date().toISOString(), name: proxy.key, pod, targets, decision });
    if (decision.kind === 'none') {
      const waits = [...(nextEnd === undefined ? [] : [nextEnd - now]), ...(
        decision.retryInSeconds === undefined ? [] : [decision.retryInSeconds * 1_000]
      )];
      return {
        kind: 'none', rejected: decision.rejected, dependsOnPods: dependsOnOtherTargets(pod),
        ...(waits.length > 0 && { retryMs: Math.min(...waits) }),
      };
    }
    const { key: target } = decision.target;
    const sent = this.#overridden(proxy, chaperon, target);
    if (sent.kind === 'failed') return { kind: 'invalid', message: sent.message };
    return {
      kind: 'chosen',
      target,
      chaperon: sent.chaperon,
      requirements: requirementsIn(pod, decision.target),
      afterScaleUp: decision.afterScaleUp,
      placement: toPlacementRecord(decision),
    };
  }

  #toChaperon(proxy: ProxyPod, sourcePod: Pod): PodChaperon {
    const { namespace, name, uid, labels, specDigests } = proxy;
    return toPodChaperon(sourcePod, { clusterId: this.#options.sourceId, namespace, name, uid, labels, specDigests });
  }

  /** The chaperon with the overrides of policies for this target, which the filters have found to apply. */
  #overridden(proxy: ProxyPod, chaperon: PodChaperon, target: string): OverriddenChaperon {
    const rules = rulesFor(proxy, this.#cache.context.policies);
    // A pod without a controller would not be recreated, so it waits for its target.
    const isFenced = rules.failover?.value === 'Fenced' && proxy.controllerUid !== undefined;
    const fenced = isFenced ? withFailover : (same: PodChaperon) => same;
    if (rules.overrides === undefined) return { kind: 'chaperon', chaperon: fenced(chaperon) };
    const snapshot = this.#cache.views.get(target);
    const patched = overriddenChaperon(chaperon, rules, snapshot?.nodeInfo);
    return patched.kind === 'chaperon' ? { ...patched, chaperon: fenced(patched.chaperon) } : patched;
  }
}
