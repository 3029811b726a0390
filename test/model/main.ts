// `npm run test:model [seeds]`: random walks, exhaustive runs and mutants of the model test. Prints figures; fails at the first breach.
import { exploreAll, walk, type Finding } from './explore.ts';
import { MUTANTS } from './mutants.ts';
import { PLANS, type Plans } from './processes.ts';
import { FULL, walkScenario } from './scenarios.ts';

const seeds = Number(process.argv[2] ?? 10_000);

function tell(line: string): void {
  process.stdout.write(`${line}\n`);
}

function timed(what: string, run: () => Finding): Finding {
  const began = performance.now();
  const finding = run();
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  tell(`${what}: ${finding.states} states, ${seconds} s, ${finding.breach === undefined ? 'holds' : `BREACH: ${finding.breach}`}`);
  return finding;
}

/** Walks until one of them fails. */
function walks(plans: Plans, count: number): Finding {
  let states = 0;
  for (let seed = 0; seed < count; seed += 1) {
    const finding = walk(seed, walkScenario(seed), plans);
    states += finding.states;
    if (finding.breach !== undefined) return { ...finding, states, breach: `seed ${seed}: ${finding.breach}` };
  }
  return { states, trace: [] };
}

const findings = [
  timed(`${seeds} random walks`, () => walks(PLANS, seeds)),
  ...Object.entries(FULL).map(([name, scenario]) => timed(`all interleavings: ${name}`, () => exploreAll(scenario, PLANS))),
];
for (const { breach, trace } of findings) if (breach !== undefined) tell([breach, ...trace].join('\n  '));
const undetected = Object.entries(MUTANTS).filter(([name, plans]) => timed(`without ${name}`, () => walks(plans, seeds)).breach === undefined);
for (const [name] of undetected) tell(`NOT FOUND OUT: ${name}`);
if (findings.some(({ breach }) => breach !== undefined) || undetected.length > 0) process.exitCode = 1;
