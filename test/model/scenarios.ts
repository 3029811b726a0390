// What the model test runs: random walks with everything in them, and exhaustive runs that are small enough to end.
import type { Budget, Scenario } from './world.ts';

const EVERYTHING: Partial<Budget> = {
  crash: 3, cut: 2, loss: 3, userDelete: 2, successor: 1, adminDelete: 2, refusal: 2, impatience: 3, foreign: 2, collection: 20,
};

/** A walk from this seed: even ones may run again, odd ones must not. */
export function walkScenario(seed: number): Scenario {
  return { targets: 2, restartPolicy: seed % 2 === 0 ? 'Always' : 'Never', watches: 'every', budget: EVERYTHING };
}

const SMALL = { targets: 2, watches: 'newest', prompt: 'targets', restartPolicy: 'Always' } as const;

/** Exhaustive runs that take seconds, by name. */
export const QUICK: Readonly<Record<string, Scenario>> = {
  'no fault, deleted by its user': { ...SMALL, budget: { userDelete: 1 } },
  'one target whose own controller is behind': { targets: 1, watches: 'newest', restartPolicy: 'Never', budget: { crash: 1 } },
};

/** Exhaustive runs of `npm run test:model`, by name. None has refusals: a pod that goes from target to target never comes back to a state, as versions count up. */
export const FULL: Readonly<Record<string, Scenario>> = {
  ...QUICK,
  'one crash, deleted by its user': { ...SMALL, budget: { userDelete: 1, crash: 1 } },
  'two crashes and a partition': { ...SMALL, budget: { crash: 2, cut: 1 } },
};
