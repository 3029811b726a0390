// Equivalence cache: pods with equal placement inputs, such as those of one Deployment, share what was decided about
// each target. An entry is valid until its target changes, which creates a new TargetSnapshot. A decision therefore
// only evaluates the targets that changed since the last decision of its class. The results equal those of {@link
// schedulePod}, and tests verify that.
import type { ChangeLog } from './change-log.ts';
import { isUsableFrom, FILTERS, UNCACHED_FILTERS, prepareFilters, type PreparedFilter } from '../decision/filters.ts';
import { dependsOnOtherTargets } from '../decision/per-target.ts';
import { placementKey } from './placement-key.ts';
import { RankTree } from './rank-tree.ts';
import { rankTarget, schedulePod, type RejectedTarget, type SchedulingDecision } from '../decision/schedule-pod.ts';
import { prepareScores, type PreparedScore } from '../decision/scores.ts';
import type { PodToSchedule, TargetSnapshot } from '../snapshot/snapshot.ts';
import type { Rejection } from '../snapshot/rejection.ts';
import type { NodeRequirements } from '../snapshot/node-requirements.ts';

/** Maximum number of classes; the least recently used one is evicted. */
const MOST_CLASSES = 200;
/** Maximum number of interned requirements; the map is cleared when it is full. */
const MOST_REQUIREMENTS = 1_000;
/** Rank of a target that the pod cannot go to. */
const REJECTED = -1;
/** Rank of a target that does not serve the pod's namespace and is not reported. */
const NOT_USABLE = -2;
/**
 * Added to the score, which is at most 1, of a target with free capacity now: it ranks above all that need a scale-up.
 */
const HAS_ROOM_NOW = 2;

/** Filters that run for every pod, with their positions in the chain. */
const POD_FILTERS = FILTERS.flatMap(
  (filter, position) => (UNCACHED_FILTERS.has(filter.name) ? [{ filter, position }] : []),
);

interface ClassRejection extends Rejection {
  /** Position of the filter in the chain. */
  readonly position: number;
}

/** Decisions by class of pods. The class includes every input of a decision about one target except `rejectedBy`. */
export class EquivalenceCache {
  readonly #classes = new Map<string, PodClass>();
  readonly #requirements = new Map<string, NodeRequirements>();
  readonly #ids = new WeakMap<NodeRequirements, number>();
  #lastId = 0;

  /** Returns the one object that represents all equal requirements. */
  intern(requirements: NodeRequirements): NodeRequirements {
    const text = JSON.stringify(requirements, withEntries);
    const known = this.#requirements.get(text);
    if (known !== undefined) return known;
    if (this.#requirements.size >= MOST_REQUIREMENTS) this.#requirements.clear();
    this.#requirements.set(text, requirements);
    return requirements;
  }

  /**
   * Decides like {@link schedulePod}; it calls that where targets are compared with one another. `targets` must be
   * sorted by key, and must be the same array as long as only elements change. `changes` must contain every such
   * change; without it all targets are evaluated.
   */
  decide(pod: PodToSchedule, targets: readonly TargetSnapshot[], changes?: ChangeLog): SchedulingDecision {
    return dependsOnOtherTargets(pod) ? schedulePod(pod, targets) : this.#classOf(pod).decide(pod, targets, changes);
  }

  #classOf(pod: PodToSchedule): PodClass {
    const key = this.#keyOf(pod);
    const known = this.#classes.get(key) ?? new PodClass();
    this.#classes.delete(key);
    this.#classes.set(key, known); // the most recently used class is last
    if (this.#classes.size > MOST_CLASSES) {
      for (const [oldest] of this.#classes) {
        this.#classes.delete(oldest);
        break;
      }
    }
    return known;
  }

  #keyOf({ requirements, namespace, placement }: PodToSchedule): string {
    let id = this.#ids.get(requirements);
    if (id === undefined) this.#ids.set(requirements, (id = this.#lastId += 1));
    return `${id} ${namespace} ${placementKey(placement)}`;
  }
}

/** JSON.stringify drops the contents of Maps and Sets; a key needs them. */
function withEntries(_key: string, value: unknown): unknown {
  return value instanceof Map || value instanceof Set ? [...value] : value;
}

function toRejectedTarget(target: string, { reason, message }: Rejection): RejectedTarget {
  return { target, reason, message };
}

/** Index of a target in a list sorted by key, or where it would be inserted. */
function indexOf(rejected: readonly RejectedTarget[], target: string): number {
  let [low, high] = [0, rejected.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rejected[middle]?.target ?? '') < target) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Placeholder for a target that was not evaluated yet. */
const NOT_YET_EVALUATED: TargetSnapshot = { ref: { kind: 'ClusterTarget', name: '' }, key: '', nodeName: '' };

/** What is cached for pods of one class, by index in the list of targets. */
class PodClass {
  #targets: readonly TargetSnapshot[] = [];
  /** All filters except those that differ within the class, each with its position in the chain. */
  #filters: readonly (PreparedFilter & { readonly position: number })[] | undefined;
  #scores: readonly PreparedScore[] | undefined;
  #seen: TargetSnapshot[] = [];
  /** Position in the change log of `#targets` up to which changes were read. */
  #readRevision = 0;
  #ranks = new RankTree(0);
  #rejections: (ClassRejection | undefined)[] = [];
  /** For a pod without rejections, sorted by key; computed on demand. */
  #rejected: readonly RejectedTarget[] | undefined;

  decide(
    pod: PodToSchedule, targets: readonly TargetSnapshot[], changes: ChangeLog | undefined,
  ): SchedulingDecision {
    this.#refresh(pod, targets, changes);
    const best = this.#best(pod);
    const rejected = this.#rejectedFor(pod);
    const target = best === undefined ? undefined : targets[best];
    return target === undefined
      ? { kind: 'none', rejected }
      : { kind: 'chosen', ...rankTarget(pod, target, this.#scoresFor(pod)), rejected };
  }

  #refresh(pod: PodToSchedule, targets: readonly TargetSnapshot[], changes: ChangeLog | undefined): void {
    const isSameList = this.#targets === targets;
    if (!isSameList) this.#reset(targets);
    const look = (i: number) => this.#look(pod, i);
    const areKnown = isSameList && changes !== undefined && changes.since(this.#readRevision, look);
    if (!areKnown) for (let i = 0; i < targets.length; i += 1) look(i);
    this.#readRevision = changes?.revision ?? 0;
  }

  #reset(targets: readonly TargetSnapshot[]): void {
    this.#targets = targets;
    this.#seen = Array.from(targets, () => NOT_YET_EVALUATED);
    this.#ranks = new RankTree(targets.length);
    this.#rejections = Array.from(targets, () => undefined);
    this.#rejected = undefined;
  }

  #look(pod: PodToSchedule, i: number): void {
    const target = this.#targets[i];
    if (target === undefined || target === this.#seen[i]) return;
    this.#seen[i] = target;
    this.#judge(pod, target, i);
  }

  #judge(pod: PodToSchedule, target: TargetSnapshot, i: number): void {
    const usable = isUsableFrom(target, pod.namespace);
    const rejection = usable ? this.#classRejection(pod, target) : undefined;
    this.#noteRejection(i, target.key, rejection);
    this.#rejections[i] = rejection;
    this.#ranks.set(i, !usable ? NOT_USABLE : rejection === undefined ? this.#rank(pod, target) : REJECTED);
  }

  /**
   * Updates the list of rejections incrementally when one appears, disappears or changes. A list that was already
   * returned is never modified.
   */
  #noteRejection(i: number, target: string, rejection: ClassRejection | undefined): void {
    const before = this.#rejections[i];
    if (
      this.#rejected === undefined || (before?.reason === rejection?.reason && before?.message === rejection?.message)
    ) return;
    const at = indexOf(this.#rejected, target);
    this.#rejected = this.#rejected.toSpliced(
      at, before === undefined ? 0 : 1, ...(rejection === undefined ? [] : [toRejectedTarget(target, rejection)]),
    );
  }

  #rank(pod: PodToSchedule, target: TargetSnapshot): number {
    const { score, afterScaleUp } = rankTarget(pod, target, this.#scoresFor(pod));
    return score + (afterScaleUp ? 0 : HAS_ROOM_NOW);
  }

  #scoresFor(pod: PodToSchedule): readonly PreparedScore[] {
    this.#scores ??= prepareScores(pod, []);
    return this.#scores;
  }

  #best(pod: PodToSchedule): number | undefined {
    const { best } = this.#ranks;
    if (this.#ranks.at(best) <= REJECTED) return undefined;
    if (pod.rejectedBy.size === 0 || this.#podRejection(pod, best) === undefined) return best;
    const next = this.#ranks.bestOf(this.#targets.length, REJECTED, (i) => this.#podRejection(pod, i) === undefined);
    return next < 0 ? undefined : next;
  }

  #podRejection(pod: PodToSchedule, i: number): Rejection | undefined {
    const target = this.#targets[i];
    const before = this.#rejections[i]?.position ?? Infinity;
    if (target === undefined) return undefined;
    for (const { filter, position } of POD_FILTERS) {
      const rejection = position < before ? filter.prepare(pod, [])?.(target) : undefined;
      if (rejection !== undefined) return rejection;
    }
    return undefined;
  }

  #classRejection(pod: PodToSchedule, target: TargetSnapshot): ClassRejection | undefined {
    this.#filters ??= prepareFilters(pod, []).filter(({ name }) => !UNCACHED_FILTERS.has(name))
      .map((filter) => ({ ...filter, position: FILTERS.findIndex(({ name }) => name === filter.name) }));
    for (const { check, position } of this.#filters) {
      const rejection = check(target);
      if (rejection !== undefined) return { ...rejection, position };
    }
    return undefined;
  }

  #rejectedFor(pod: PodToSchedule): readonly RejectedTarget[] {
    if (pod.rejectedBy.size > 0) return this.#listRejected((i) => this.#podRejection(pod, i) ?? this.#rejections[i]);
    this.#rejected ??= this.#listRejected((i) => this.#rejections[i]);
    return this.#rejected;
  }

  #listRejected(rejectionAt: (i: number) => Rejection | undefined): RejectedTarget[] {
    return this.#targets.flatMap(({ key }, i) => {
      const rejection = this.#ranks.at(i) === NOT_USABLE ? undefined : rejectionAt(i);
      return rejection === undefined ? [] : [toRejectedTarget(key, rejection)];
    });
  }
}
