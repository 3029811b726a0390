// The plans with one precondition, live read or finalizer taken away. The model must find each of them out, or it
// proves nothing.
import type { Pod } from '../../api/objects/core.ts';
import { FENCED_AT_ANNOTATION } from '../../api/objects/keys.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import type { Command, Plan } from '../../model/objects/plan.ts';
import { exploreAll, walk } from './explore.ts';
import { PLANS, type Plans } from './processes.ts';
import { BOUNDED, boundedScenario, departureScenario, walkScenario } from './scenarios.ts';

/** A plan among those under test, by name. */
type PlanName = keyof Omit<Plans, 'chaperonFinalizers' | 'hasStoppedAll' | 'hasExpired' | 'hasSurelyStopped'>;

/** One precondition that a plan puts into one sort of writes. */
interface Check {
  readonly plan: PlanName;
  /** What is written, see {@link sortOf}. */
  readonly sort: string;
  readonly field: 'uid' | 'resourceVersion';
}

/** How many walks show which preconditions there are; each sort of writes is common. */
const SEEDS_TO_SEE_ALL = 400;
/** A delegate that its target stopped and that is confirmed all the same is rare in walks. */
const STATES_TO_SEE_MORE = 2_000;

/**
 * One mutant for each precondition that any plan is seen to send, so that a new one needs no entry here: the name says
 * the plan, what it writes, and what is left out.
 */
export function preconditionMutants(seeds = SEEDS_TO_SEE_ALL): Record<string, Plans> {
  return Object.fromEntries([...checksInUse(seeds)].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(
    ([name, check]) => [name, withoutCheck(check)],
  ));
}

function checksInUse(seeds: number): ReadonlyMap<string, Check> {
  const checks = new Map<string, Check>();
  const watched = PLAN_NAMES.reduce<Plans>((plans, plan) => changing(plans, plan, (command) => {
    for (const field of fieldsOf(command)) {
      checks.set(`${plan}: the ${field} in a ${sortOf(command)}`, { plan, sort: sortOf(command), field });
    }
    return command;
  }), PLANS);
  for (let seed = 0; seed < seeds; seed += 1) {
    walk(seed, walkScenario(seed), watched);
    walk(seed, departureScenario(seed), watched);
    walk(seed, boundedScenario(seed), watched);
  }
  for (const scenario of Object.values(BOUNDED)) exploreAll(scenario, watched, STATES_TO_SEE_MORE);
  return checks;
}

function withoutCheck({ plan, sort, field }: Check): Plans {
  return changing(PLANS, plan, (command) => (sortOf(command) === sort ? without(command, field) : command));
}

const PLAN_NAMES = [
  'planPlacement', 'planFeedback', 'planChaperon', 'planOrphanedDelegate', 'planChaperonDeletion', 'planFailover',
] as const satisfies readonly PlanName[];

function sortOf(command: Command): string {
  switch (command.kind) {
    case 'delete':
      return `delete of ${command.type.kind}`;
    case 'patch':
      return `patch of ${partOf(command)} of ${command.type.kind}`;
    case 'create':
    case 'bind':
    case 'apply':
      return command.kind;
  }
}

function partOf({ at: { subresource }, patch }: Extract<Command, { kind: 'patch' }>): string {
  const fields = Object.keys((patch as Partial<Pod>).metadata ?? {});
  return subresource ?? (fields.some((field) => field.endsWith('finalizers')) ? 'finalizers' : 'annotations');
}

function metadataOf(command: Command): object {
  if (command.kind === 'delete') return command.preconditions;
  if (command.kind === 'bind') return command.binding.metadata;
  return command.kind === 'patch' ? ((command.patch as Partial<Pod>).metadata ?? {}) : {};
}

function fieldsOf(command: Command): Check['field'][] {
  return (['uid', 'resourceVersion'] as const).filter((field) => Object.hasOwn(metadataOf(command), field));
}

function without(command: Command, field: Check['field']): Command {
  const { [field]: _taken, ...kept } = metadataOf(command) as Partial<Record<Check['field'], string>>;
  if (command.kind === 'delete') return { ...command, preconditions: kept as never };
  if (command.kind === 'bind') return { ...command, binding: { ...command.binding, metadata: kept } };
  return command.kind === 'patch' ? { ...command, patch: { ...command.patch, metadata: kept } } : command;
}

/** The plans, with every command of one of them changed. */
function changing(plans: Plans, name: PlanName, change: (command: Command) => Command): Plans {
  const inResult = (result: object): object => (Array.isArray(result) ? (result as Plan).map(change) : inStep(result));
  const inStep = (step: Step): object => ({ ...step, ...(step.plan && { plan: step.plan.map(change) }) });
  return { ...plans, [name]: (...args: never[]) => inResult((plans[name] as (...all: never[]) => object)(...args)) };
}

/** What any step may hold. */
interface Step {
  readonly plan?: Plan;
}

/** Plans that lack a live read, a finalizer, or what they must remember; by what is missing. */
export const MUTANTS: Readonly<Record<string, Plans>> = {
  'planFeedback: the live read before it lets a proxy go': unconfirmed('confirm-gone'),
  'planFeedback: the live read before it deletes a proxy': unconfirmed('confirm-delegate-gone'),
  'planFeedback: that a proxy is let go only when it was deleted': {
    ...PLANS,
    planFeedback: (proxy, ...rest) =>
      PLANS.planFeedback(proxy.nodeName === undefined ? proxy : { ...proxy, terminating: true }, ...rest),
  },
  'planFeedback: that an end is final':
    { ...PLANS, planFeedback: (proxy, ...rest) => PLANS.planFeedback({ ...proxy, phase: 'Running' }, ...rest) },
  'planChaperon: the live read before a chaperon is let go or marked': {
    ...PLANS,
    planChaperon: (...args) => {
      const step = PLANS.planChaperon(...args);
      return step.kind === 'confirm-gone' ? { kind: 'write', plan: step.plan } : step;
    },
  },
  'planFeedback: that nothing is known of a target that is away': {
    ...PLANS,
    planFeedback: (proxy, target) => {
      const step = PLANS.planFeedback(
        proxy, target.kind === 'unknown' ? { kind: 'known', chaperon: undefined, delegate: undefined } : target,
      );
      return step.kind === 'confirm-gone' ? { kind: 'write', plan: step.plan } : step;
    },
  },
  'planPlacement: that a create is under way':
    { ...PLANS, planPlacement: (state, now) => PLANS.planPlacement({ ...state, pendingCreate: false }, now) },
  'planPlacement: that a candidate was withdrawn': {
    ...PLANS,
    planPlacement: (state, now) => PLANS.planPlacement(
      { ...state, candidates: state.candidates.map(({ deletion: _deletion, ...candidate }) => candidate) }, now,
    ),
  },
  'planPlacement: that a target was not heard yet':
    { ...PLANS, planPlacement: (state, now) => PLANS.planPlacement({ ...state, unobserved: [] }, now) },
  'planPlacement: that a candidate that goes is still there': {
    ...PLANS,
    planPlacement: (state, now) => PLANS.planPlacement(
      { ...state, candidates: state.candidates.filter(({ chaperon }) => chaperon?.terminating === false) }, now,
    ),
  },
  'planChaperon: the finalizer that holds what must not run again': {
    ...PLANS,
    planChaperon: (...args) => {
      const step = PLANS.planChaperon(...args);
      return step.kind === 'create' ? { ...step, pod: withoutFinalizers(step.pod) } : step;
    },
  },
  'failover: that the target has stopped its pods': { ...PLANS, hasStoppedAll: () => true },
  'planChaperon: that a chaperon that was fenced gets no delegate again': {
    ...PLANS,
    planChaperon: (state, now) =>
      PLANS.planChaperon(
        state.sourceLeaseExpired === true ? state : { ...state, chaperon: withoutMark(state.chaperon) }, now,
      ),
  },
  'scheduler: that the target has stopped what it gives up': { ...PLANS, hasExpired: () => true },
  'scheduler: that an API server that is gone stops nothing': {
    ...PLANS, hasSurelyStopped: (times, { isReady }) => PLANS.hasSurelyStopped(times, { isReady, silentMs: Infinity }),
  },
  'planChaperon: that a candidate that was not confirmed is stopped': {
    ...PLANS,
    planChaperon: (state, now) => PLANS.planChaperon({ ...state, isOverdue: false }, now),
    hasExpired: ({ targets }, index, { before }) => targets[index]!.clock >= before,
  },
  'the finalizer that holds a chaperon': { ...PLANS, chaperonFinalizers: [] },
};

function withoutMark(chaperon: PodChaperon): PodChaperon {
  const { [FENCED_AT_ANNOTATION]: _mark, ...annotations } = chaperon.metadata.annotations ?? {};
  return { ...chaperon, metadata: { ...chaperon.metadata, annotations } };
}

function unconfirmed(kind: 'confirm-gone' | 'confirm-delegate-gone'): Plans {
  return {
    ...PLANS,
    planFeedback: (...args) => {
      const step = PLANS.planFeedback(...args);
      return step.kind === kind ? { kind: 'write', plan: step.plan } : step;
    },
  };
}

function withoutFinalizers({ metadata: { finalizers: _finalizers, ...metadata }, ...pod }: Pod): Pod {
  return { ...pod, metadata };
}
