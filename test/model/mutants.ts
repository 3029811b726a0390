// The plans with one precondition, live read or finalizer taken away. The model must find each of them out, or it proves nothing.
import type { Pod } from '../../api/core.ts';
import type { Plan } from '../../model/plan.ts';
import { PLANS, type Plans } from './processes.ts';

/** Plans that are wrong in one way, by what is missing. */
export const MUTANTS: Readonly<Record<string, Plans>> = {
  ...forEachPlan('the UID of what it deletes', withoutDeleteUid, ['planPlacement', 'planFeedback', 'planChaperon', 'planOrphanedDelegate', 'planWithdrawal']),
  ...forEachPlan('the UID of what it patches', (plan) => withoutMetadata(plan, 'uid'), ['planFeedback']),
  ...forEachPlan('the version of what it patches', (plan) => withoutMetadata(plan, 'resourceVersion'), ['planPlacement', 'planFeedback', 'planChaperon', 'planOrphanedDelegate']),
  'planFeedback: the live read before it lets a proxy go or deletes it': {
    ...PLANS,
    planFeedback: (...args) => {
      const step = PLANS.planFeedback(...args);
      return step.kind === 'confirm-gone' || step.kind === 'confirm-lost' ? { kind: 'write', plan: step.plan } : step;
    },
  },
  'planFeedback: that nothing is known of a target that is away': {
    ...PLANS,
    planFeedback: (proxy, target) => {
      const step = PLANS.planFeedback(proxy, target.kind === 'unknown' ? { kind: 'known', chaperon: undefined, delegate: undefined } : target);
      return step.kind === 'confirm-gone' ? { kind: 'write', plan: step.plan } : step;
    },
  },
  'planPlacement: that a create is under way': { ...PLANS, planPlacement: (state, now) => PLANS.planPlacement({ ...state, pendingCreate: false }, now) },
  'planPlacement: that a target was not heard yet': { ...PLANS, planPlacement: (state, now) => PLANS.planPlacement({ ...state, unheard: [] }, now) },
  'planPlacement: that a candidate that goes is still there': {
    ...PLANS,
    planPlacement: (state, now) => PLANS.planPlacement({ ...state, candidates: state.candidates.filter(({ chaperon }) => chaperon?.terminating === false) }, now),
  },
  'planChaperon: the finalizer that holds what must not run again': {
    ...PLANS,
    planChaperon: (...args) => {
      const step = PLANS.planChaperon(...args);
      return step.kind === 'create' ? { ...step, pod: withoutFinalizers(step.pod) } : step;
    },
  },
  'the finalizer that holds a chaperon': { ...PLANS, chaperonFinalizers: [] },
};

function forEachPlan(what: string, change: (plan: Plan) => Plan, names: readonly (keyof Omit<Plans, 'chaperonFinalizers'>)[]): Record<string, Plans> {
  return Object.fromEntries(names.map((name) => [`${name}: ${what}`, { ...PLANS, [name]: (...args: never[]) => changed((PLANS[name] as (...all: never[]) => object)(...args), change) }]));
}

function changed(result: object, change: (plan: Plan) => Plan): object {
  if (Array.isArray(result)) return change(result as Plan);
  return 'plan' in result ? { ...result, plan: change(result.plan as Plan) } : result;
}

function withoutDeleteUid(plan: Plan): Plan {
  return plan.map((command) => (command.kind === 'delete' ? { ...command, preconditions: {} as never } : command));
}

function withoutMetadata(plan: Plan, field: 'uid' | 'resourceVersion'): Plan {
  return plan.map((command) => {
    if (command.kind !== 'patch') return command;
    const { metadata = {}, ...rest } = command.patch as Partial<Pod>;
    const { [field]: _taken, ...kept } = metadata;
    return { ...command, patch: { ...rest, metadata: kept } };
  });
}

function withoutFinalizers({ metadata: { finalizers: _finalizers, ...metadata }, ...pod }: Pod): Pod {
  return { ...pod, metadata };
}
