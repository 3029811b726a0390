// What the model test runs: random walks with everything in them, and exhaustive runs that are small enough to end.
import type { Budget, Scenario } from './world.ts';

const EVERYTHING: Partial<Budget> = {
  crash: 3,
  cut: 2, loss: 3, userDelete: 2, successor: 1, adminDelete: 2, rejection: 2, impatience: 3, foreign: 2, collection: 20,
};

/** Besides, writes that come late, other controllers of the source, and chaperons taken away by force. */
const MORE: Partial<Budget> = { ...EVERYTHING, late: 2, gate: 1, ending: 1, force: 1, strip: 1 };

/**
 * One target, one name after the other, and hardly anything but writes that come late: these must meet the next object
 * of the name.
 */
const LATE: Partial<Budget> = {
  late: 4, userDelete: 2, successor: 3, force: 1, strip: 1, adminDelete: 1, impatience: 1, crash: 1, foreign: 1,
  collection: 20,
};

/** By seed; the order keeps seeds that once found something. */
const BUDGETS = [MORE, EVERYTHING, MORE, EVERYTHING, LATE, LATE, MORE, EVERYTHING, MORE, MORE, LATE, LATE];

/** A walk from this seed. Which faults it may have follows from the seed, and so does whether the pod may run again. */
export function walkScenario(seed: number): Scenario {
  const budget = BUDGETS[seed % BUDGETS.length] ?? MORE;
  const mayRunAgain = (budget === EVERYTHING ? seed : Math.floor(seed / BUDGETS.length)) % 2 === 0;
  return {
    targets: budget === LATE ? 1 : 2, restartPolicy: mayRunAgain ? 'Always' : 'Never', watches: 'every', budget,
  };
}

/**
 * A walk of a pod that may leave lost targets; often enough both ways are cut, late writes come, and its successor has
 * its name.
 */
export function departureScenario(seed: number): Scenario {
  const budget = { ...MORE, cut: 3, late: 3, successor: 2 };
  return { targets: 2, restartPolicy: seed % 4 === 0 ? 'Never' : 'Always', watches: 'every', fenced: true, budget };
}

/**
 * A walk of a pod whose candidates end unless they are confirmed: requests are lost, ways are cut, API servers go down,
 * and clocks go on.
 */
export function boundedScenario(seed: number): Scenario {
  const budget = { ...MORE, cut: 3, down: 1, loss: 3, time: 4 };
  return { targets: 2, restartPolicy: seed % 4 === 0 ? 'Never' : 'Always', watches: 'every', bounded: true, budget };
}

const SMALL = { targets: 2, watches: 'newest', prompt: 'targets', restartPolicy: 'Always' } as const;

/** Exhaustive runs that take seconds, by name. */
export const QUICK: Readonly<Record<string, Scenario>> = {
  'no fault, deleted by its user': { ...SMALL, budget: { userDelete: 1 } },
  'one target whose own controller is behind':
    { targets: 1, watches: 'newest', restartPolicy: 'Never', budget: { crash: 1 } },
  'its delegate is deleted there and made again': {
    targets: 1, watches: 'newest', prompt: 'targets', restartPolicy: 'Always',
    budget: { adminDelete: 1, impatience: 1 },
  },
  'its chaperon is taken away by force': {
    targets: 1, watches: 'newest', prompt: 'targets', restartPolicy: 'Always',
    budget: { force: 1, userDelete: 1, impatience: 1 },
  },
};

const LEAVING_ONE =
  { targets: 1, watches: 'newest', prompt: 'targets', restartPolicy: 'Always', fenced: true } as const;

/** Exhaustive runs of a pod that may leave its target, by name. */
export const LEAVING: Readonly<Record<string, Scenario>> = {
  'it leaves a lost target, which has waited long enough': { ...LEAVING_ONE, budget: { cut: 1, impatience: 1 } },
  'it leaves a lost target, and another one of its name comes': { ...LEAVING_ONE, budget: { cut: 1, successor: 1 } },
};

/** Exhaustive runs of a pod that is given up where its target is lost, by name. */
export const BOUNDED: Readonly<Record<string, Scenario>> = {
  'its target is lost before its word, and time passes': { ...SMALL, bounded: true, budget: { cut: 1, time: 1 } },
  "its target's API server goes down before its word, and time passes":
    { ...SMALL, bounded: true, budget: { down: 1, time: 1 } },
};

/**
 * Exhaustive runs of `npm run soak -- model`, by name. None has rejections: a pod that goes from target to target never
 * comes back to a state, as versions count up.
 */
export const FULL: Readonly<Record<string, Scenario>> = {
  ...QUICK,
  ...LEAVING,
  ...BOUNDED,
  'one crash, deleted by its user': { ...SMALL, budget: { userDelete: 1, crash: 1 } },
  'two crashes and a partition': { ...SMALL, budget: { crash: 2, cut: 1 } },
};
