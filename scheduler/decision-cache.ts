// Decisions for pods that are alike, as the pods of one Deployment are: what was concluded of a target holds for all of them until
// the target changes, and a change makes a new TargetSnapshot. So a decision looks at the targets that changed since the last one
// of its class, and scans an array of scores. The answers are those of {@link schedulePod}, which tests hold it to.
import { concerns, FILTERS, PER_POD } from './filters.ts';
import { scoreOf, type RejectedTarget, type SchedulingDecision } from './schedule-pod.ts';
import type { PodToSchedule, Rejection, TargetSnapshot } from './snapshot.ts';
import type { NodeRequirements } from './target-capacity.ts';

/** Classes remembered; the one that was not used for longest is forgotten first. */
const MOST_CLASSES = 200;
/** Requirements shared at most before all are forgotten. */
const MOST_REQUIREMENTS = 1_000;
/** Score of a target that the pod cannot go to. */
const REJECTED = -1;
/** Score of a target that is not for pods of the namespace, and is not mentioned. */
const NOT_CONCERNED = -2;

/** Checks to be made for each pod, with their places in the chain. */
const POD_FILTERS = FILTERS.flatMap((filter, position) => (PER_POD.has(filter) ? [{ filter, position }] : []));

interface ClassRejection extends Rejection {
  /** Place of the filter in the chain. */
  readonly position: number;
}

/** Remembers by class of pods. Every field of PodToSchedule but `refusals` belongs to the class, and must be plain data. */
export class DecisionCache {
  readonly #classes = new Map<string, PodClass>();
  readonly #requirements = new Map<string, NodeRequirements>();
  readonly #ids = new WeakMap<NodeRequirements, number>();
  #lastId = 0;

  /** The one object that stands for all equal requirements. */
  share(requirements: NodeRequirements): NodeRequirements {
    const text = JSON.stringify(requirements, withEntries);
    const known = this.#requirements.get(text);
    if (known !== undefined) return known;
    if (this.#requirements.size >= MOST_REQUIREMENTS) this.#requirements.clear();
    this.#requirements.set(text, requirements);
    return requirements;
  }

  /** Decides as {@link schedulePod}. `targets` must be in the order of keys, and the same array while only its elements change. */
  decide(pod: PodToSchedule, targets: readonly TargetSnapshot[]): SchedulingDecision {
    return this.#classOf(pod).decide(pod, targets);
  }

  #classOf(pod: PodToSchedule): PodClass {
    const key = this.#keyOf(pod);
    const known = this.#classes.get(key) ?? new PodClass();
    this.#classes.delete(key);
    this.#classes.set(key, known); // the last in order is the one used last
    if (this.#classes.size > MOST_CLASSES) {
      for (const [oldest] of this.#classes) {
        this.#classes.delete(oldest);
        break;
      }
    }
    return known;
  }

  #keyOf({ refusals: _refusals, requirements, ...rest }: PodToSchedule): string {
    let id = this.#ids.get(requirements);
    if (id === undefined) this.#ids.set(requirements, (id = this.#lastId += 1));
    return `${id} ${JSON.stringify(rest, withEntries)}`;
  }
}

/** Maps and sets hold what a key must not lose. */
function withEntries(_key: string, value: unknown): unknown {
  return value instanceof Map || value instanceof Set ? [...value] : value;
}

/** What is remembered for pods of one class, by place in the list of targets. */
class PodClass {
  #targets: readonly TargetSnapshot[] = [];
  #seen: TargetSnapshot[] = [];
  #scores = new Float64Array();
  #rejections: (ClassRejection | undefined)[] = [];
  /** For a pod without refusals; undefined when a rejection has come or gone. */
  #rejected: readonly RejectedTarget[] | undefined;

  decide(pod: PodToSchedule, targets: readonly TargetSnapshot[]): SchedulingDecision {
    this.#refresh(pod, targets);
    const best = this.#best(pod);
    const rejected = this.#rejectedFor(pod);
    const target = best === undefined ? undefined : targets[best];
    return best === undefined || target === undefined ? { kind: 'none', rejected } : { kind: 'chosen', target, score: this.#scores[best] ?? 0, rejected };
  }

  #refresh(pod: PodToSchedule, targets: readonly TargetSnapshot[]): void {
    if (this.#targets !== targets) {
      this.#targets = targets;
      this.#seen = [];
      this.#scores = new Float64Array(targets.length);
      this.#rejections = Array.from(targets, () => undefined);
      this.#rejected = undefined;
    }
    for (let i = 0; i < targets.length; i += 1) {
      const target = targets[i];
      if (target === undefined || target === this.#seen[i]) continue;
      this.#seen[i] = target;
      this.#judge(pod, target, i);
    }
  }

  #judge(pod: PodToSchedule, target: TargetSnapshot, i: number): void {
    const concerned = concerns(target, pod.namespace);
    const rejection = concerned ? classRejection(pod, target) : undefined;
    if (rejection !== undefined || this.#rejections[i] !== undefined) this.#rejected = undefined;
    this.#rejections[i] = rejection;
    this.#scores[i] = !concerned ? NOT_CONCERNED : rejection === undefined ? scoreOf(pod, target) : REJECTED;
  }

  #best(pod: PodToSchedule): number | undefined {
    const scores = this.#scores;
    const mayBeRefused = pod.refusals.size > 0;
    let best: number | undefined;
    let highest = REJECTED;
    for (let i = 0; i < scores.length; i += 1) {
      const score = scores[i] ?? REJECTED;
      if (score <= highest || (mayBeRefused && this.#podRejection(pod, i) !== undefined)) continue;
      highest = score;
      best = i;
    }
    return best;
  }

  #podRejection(pod: PodToSchedule, i: number): Rejection | undefined {
    const target = this.#targets[i];
    const before = this.#rejections[i]?.position ?? FILTERS.length;
    if (target === undefined) return undefined;
    for (const { filter, position } of POD_FILTERS) {
      const rejection = position < before ? filter(pod, target) : undefined;
      if (rejection !== undefined) return rejection;
    }
    return undefined;
  }

  #rejectedFor(pod: PodToSchedule): readonly RejectedTarget[] {
    if (pod.refusals.size > 0) return this.#listRejected((i) => this.#podRejection(pod, i) ?? this.#rejections[i]);
    this.#rejected ??= this.#listRejected((i) => this.#rejections[i]);
    return this.#rejected;
  }

  #listRejected(rejectionAt: (i: number) => Rejection | undefined): RejectedTarget[] {
    return this.#targets.flatMap(({ key }, i) => {
      const rejection = this.#scores[i] === NOT_CONCERNED ? undefined : rejectionAt(i);
      return rejection === undefined ? [] : [{ target: key, reason: rejection.reason, message: rejection.message }];
    });
  }
}

function classRejection(pod: PodToSchedule, target: TargetSnapshot): ClassRejection | undefined {
  for (const [position, filter] of FILTERS.entries()) {
    const rejection = PER_POD.has(filter) ? undefined : filter(pod, target);
    if (rejection !== undefined) return { ...rejection, position };
  }
  return undefined;
}
