// `npm run test:vanishing-targets [times]`: a stream of 5 pods a second while the API server of one target is killed, and the way to another one is
// black-holed, so many times each, at random moments. Prints its figures as JSON; fails when a pod ran twice, waited too long, or left something.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { startWorld } from '../support/isthmus-world.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { VanishingTargets, wasMade, wasMadeInCalm, type PodRecord, type Vanishing } from '../support/vanishing-targets.ts';
import { assertInvariants } from '../support/world-invariants.ts';

const times = Number(process.argv[2] ?? 20);
const POD_RATE = 5;
/** Nothing is sent to a target later than this after it has stopped answering, in ms. */
const NOTICED_MS = 5_000;
/** A pod that was not sent to a lost target runs elsewhere within this, in ms; any other one within the second. */
const UNASKED_MS = 2_000;
const ASKED_MS = 60_000;
/** Watches of the test come back later than their server, in ms. */
const OWN_WATCHES_MS = 60_000;

const world = await startWorld({ targets: 3, nodes: 3 });
const vanishing = await VanishingTargets.begin(world);
try {
  const ended = new AbortController();
  const stream = vanishing.stream(POD_RATE, ended.signal);
  await Promise.all((['killed', 'black-holed'] as const).map((how, index) => again(how, seededRandom(index + 1))));
  ended.abort();
  await stream;
  await vanishing.rest();
  const outages = vanishing.absences.map(({ from, until }) => ({ from, until: until + OWN_WATCHES_MS }));
  judge(vanishing.records());
  await vanishing.end();
  assertInvariants(world, { outages });
} finally {
  await vanishing.stop();
  await world.stop();
}

/** Every third absence outlasts the time after which candidates are given up. */
async function again(how: Vanishing, random: () => number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    await sleep(2_000 + random() * 8_000);
    await vanishing.vanish(how, time % 3 === 2 ? 55_000 + random() * 10_000 : 1_000 + random() * 12_000);
  }
}

function judge(records: readonly PodRecord[]): void {
  const { absences } = vanishing;
  const calm = records.filter((pod) => wasMadeInCalm(pod, absences));
  const noticed = records.filter((pod) => wasMade(pod, absences, NOTICED_MS));
  const figures = {
    absences: { killed: absences.filter(({ how }) => how === 'killed').length, blackHoled: absences.filter(({ how }) => how === 'black-holed').length },
    all: spread(records), calm: spread(calm), lostForFiveSeconds: spread(noticed), moved: vanishing.moved(), never: records.filter(({ runningAfter }) => runningAfter === undefined).map(({ name }) => name),
    over2s: records.filter(({ runningAfter = Infinity }) => runningAfter > UNASKED_MS).map(({ name, createdAt, runningAfter }) => ({ name, seconds: seconds(runningAfter), sinceLost: absences.filter(({ from, until }) => from - 1_000 <= createdAt && createdAt <= until).map(({ how, from }) => `${how} ${seconds(createdAt - from)}`) })),
  };
  process.stdout.write(`${JSON.stringify(figures, undefined, 1)}\n`);
  assert.deepEqual(figures.never, []);
  assert.ok(figures.all.most <= ASKED_MS / 1_000, 'a pod waited for longer than a minute');
  const allowed = UNASKED_MS / 1_000 + figures.calm.p99;
  assert.ok(figures.lostForFiveSeconds.most <= allowed, `a pod was sent to a target that had been lost for five seconds: it took more than ${allowed} s`);
}

function seconds(ms = Infinity): number {
  return Math.round(ms / 10) / 100;
}

function spread(records: readonly PodRecord[]): { readonly pods: number; readonly median: number; readonly p99: number; readonly most: number } {
  const sorted = records.map(({ runningAfter = Infinity }) => runningAfter).toSorted((one, other) => one - other);
  const at = (part: number) => seconds(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0);
  return { pods: sorted.length, median: at(0.5), p99: at(0.99), most: at(1) };
}
