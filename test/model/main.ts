// `npm run soak -- model [seeds]`: random walks, exhaustive runs and mutants of the model test. Prints figures; fails
// at the first breach.
import { exploreAll, walk, type Finding } from './explore.ts';
import { MUTANTS, preconditionMutants } from './mutants.ts';
import { PLANS, type Plans } from './processes.ts';
import { boundedScenario, BOUNDED, departureScenario, FULL, LEAVING, QUICK, walkScenario } from './scenarios.ts';
import type { Scenario } from './world.ts';

const seeds = Number(process.argv[2] ?? 10_000);

/** A mutant may go on for ever: versions count up. */
const MAX_MUTANT_STATES = 30_000;
/** Walks in which pods leave are asked first for so many seeds: what only they find out, they find out soon. */
const FEW_SEEDS = 1_500;

function tell(line: string): void {
  process.stdout.write(`${line}\n`);
}

function timed(what: string, run: () => Finding): Finding {
  const began = performance.now();
  const finding = run();
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  tell(
    `${what}: ${finding.states} states, ${seconds} s, ${finding.breach === undefined ? 'holds' : `BREACH: ${finding.breach}`}`,
  );
  return finding;
}

/** Walks until one of them fails. */
function walks(plans: Plans, count: number, scenarioOf: (seed: number) => Scenario): Finding {
  let states = 0;
  for (let seed = 0; seed < count; seed += 1) {
    const finding = walk(seed, scenarioOf(seed), plans);
    states += finding.states;
    if (finding.breach !== undefined) return { ...finding, states, breach: `seed ${seed}: ${finding.breach}` };
  }
  return { states, trace: [] };
}

/** Looks for a breach in every interleaving of the small scenarios, then in walks. */
function findOut(plans: Plans): Finding {
  for (const [name, scenario] of Object.entries({ ...QUICK, ...LEAVING, ...BOUNDED })) {
    const finding = exploreAll(scenario, plans, MAX_MUTANT_STATES);
    if (finding.breach !== undefined) return { ...finding, breach: `${name}: ${finding.breach}` };
  }
  const stages = [
    () => walks(plans, Math.min(seeds, FEW_SEEDS), boundedScenario),
    () => walks(plans, Math.min(seeds, FEW_SEEDS), departureScenario), () => walks(plans, seeds, walkScenario),
    () => walks(plans, seeds, departureScenario), () => walks(plans, seeds, boundedScenario),
  ];
  let found: Finding = { states: 0, trace: [] };
  for (const stage of stages) {
    found = stage();
    if (found.breach !== undefined) return found;
  }
  return found;
}

const findings = [
  timed(`${seeds} random walks`, () => walks(PLANS, seeds, walkScenario)),
  timed(`${seeds} random walks with leases`, () => walks(PLANS, seeds, departureScenario)),
  timed(`${seeds} random walks with candidates that end`, () => walks(PLANS, seeds, boundedScenario)),
  ...Object.entries(FULL)
    .map(([name, scenario]) => timed(`all interleavings: ${name}`, () => exploreAll(scenario, PLANS))),
];
for (const { breach, trace } of findings) if (breach !== undefined) tell([breach, ...trace].join('\n  '));
const mutants = { ...preconditionMutants(), ...MUTANTS };
const outcomes = Object.entries(mutants)
  .map(([name, plans]) => ({ name, ...timed(`without ${name}`, () => findOut(plans)) }));
const undetected = outcomes.filter(({ breach }) => breach === undefined);
tell(`${outcomes.length - undetected.length} of ${outcomes.length} mutants found out`);
for (const { name } of undetected) tell(`NOT FOUND OUT: ${name}`);
if (findings.some(({ breach }) => breach !== undefined) || undetected.length > 0) process.exitCode = 1;
