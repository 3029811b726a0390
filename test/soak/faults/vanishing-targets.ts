// `npm run soak -- vanishing-targets -- [times] [pods a second]`: a stream of pods, 5 a second, while the API server of
// one target is killed, and the way to another one is black-holed, so many times each, at random moments. Prints its
// figures as JSON; fails when a pod ran twice, waited too long, or left something.
import { cp, mkdtemp } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startWorld } from '../../support/worlds/isthmus-world.ts';
import { timelineOf } from '../../support/history/pod-timeline.ts';
import { seededRandom } from '../../support/objects/seeded-random.ts';
import {
  VanishingTargets, wasMade, wasMadeInCalm, type Absence, type Asked, type PodRecord, type Vanishing,
} from '../../support/faults/vanishing-targets.ts';
import { assertInvariants } from '../../support/history/world-invariants.ts';

const times = Number(process.argv[2] ?? 20);
/** Pods a second: what is promised is for 5; a machine that has other work to do may not bear as many. */
const podRate = Number(process.argv[3] ?? 5);
/** Nothing is sent to a target later than this after it has stopped answering, in ms. */
const NOTICED_MS = 5_000;
/** A pod that was not sent to a lost target runs elsewhere within this, in ms; any other one within the second. */
const UNASKED_MS = 2_000;
const ASKED_MS = 60_000;
/**
 * A pod that a killed API server was asked for, and that nobody replaces, waits for its return: it runs so long after
 * that at most, in ms.
 */
const RETURNED_MS = 20_000;
/** Of so many pods, those that took longest, it is told where their time went. */
const TOLD = 25;
/** Watches of the test come back later than their server, in ms. */
const OWN_WATCHES_MS = 60_000;

const faults: string[] = [];
const loads: number[] = [];
const world = await startWorld({ targets: 3, nodes: 3 });
const vanishing = await VanishingTargets.begin(world);
const sampling = setInterval(() => loads.push(loadavg()[0] ?? 0), 10_000);
try {
  const ended = new AbortController();
  const stream = vanishing.stream(podRate, ended.signal);
  await Promise.all((['killed', 'black-holed'] as const).map((how, index) => again(how, seededRandom(index + 1))));
  ended.abort();
  await stream;
  await vanishing.rest();
  judge(vanishing.records(), await vanishing.askedInVain());
  await vanishing.end();
  assertInvariants(
    world, { outages: vanishing.absences.map(({ from, until }) => ({ from, until: until + OWN_WATCHES_MS })) },
  );
} catch (error) {
  faults.push(String(error)); // now: what is under way fails as well when the world stops
} finally {
  clearInterval(sampling);
  process.stderr.write(faults.map((fault) => `FAULT: ${fault}\n`).join(''));
  process.exitCode = faults.length > 0 ? 1 : 0;
  if (faults.length > 0) await keepLogs();
  await vanishing.stop();
  await world.stop();
}

async function keepLogs(): Promise<void> {
  const kept = await mkdtemp(join(tmpdir(), 'isthmus-vanishing-'));
  for (const { cluster } of [world.source, ...world.targets]) {
    await cp(cluster.directory, join(kept, cluster.name), {
      recursive: true, filter: (file) => file === cluster.directory || file.endsWith('.log'),
    });
  }
  process.stderr.write(`logs: ${kept}\n`);
}

/** Every third absence outlasts the time after which candidates are given up. */
async function again(how: Vanishing, random: () => number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    await sleep(2_000 + random() * 8_000);
    await vanishing.vanish(how, time % 3 === 2 ? 55_000 + random() * 10_000 : 1_000 + random() * 12_000);
  }
}

function judge(records: readonly PodRecord[], asked: ReadonlyMap<string, Asked>): void {
  const { absences } = vanishing;
  const calm = records.filter((pod) => wasMadeInCalm(pod, absences));
  const lost = records.filter((pod) => wasMade(pod, absences, 0));
  const [unasked, waited] = [lost.filter((pod) => whereAsked(pod, asked) === undefined), records.filter(
    (pod) => whereAsked(pod, asked) !== undefined,
  )];
  const killed = waited.filter((pod) => absenceOf(pod, asked)?.how === 'killed');
  const elsewhere = records.filter((pod) => !killed.includes(pod));
  const never = records.filter(({ runningAfter }) => runningAfter === undefined).map(({ name }) => name);
  const late = [...asked].filter(([, one]) => isLate(one, absences)).map(([uid]) => uid);
  const allowed = UNASKED_MS + spread(calm).p99 * 1_000;
  const figures = {
    absences: {
      killed: absences.filter(({ how }) => how === 'killed').length,
      blackHoled: absences.filter(({ how }) => how === 'black-holed').length,
    },
    load: { least: Math.min(...loads), most: Math.max(...loads) },
    all: spread(records), calm: spread(calm), lostAndUnasked: spread(unasked),
    lostForFiveSeconds: spread(records.filter((pod) => wasMade(pod, absences, NOTICED_MS))),
    askedInVain: {
      blackHoled: spread(waited.filter((pod) => !killed.includes(pod))), killed: spread(killed), sentTooLate: late,
    }, moved: vanishing.moved(), never,
    unaskedOver2s: unasked.filter(({ runningAfter = Infinity }) => runningAfter > UNASKED_MS).length,
    slowestUnasked: unasked.toSorted(bySpeed).slice(0, TOLD).map(story),
    slowest: records.toSorted(bySpeed).slice(0, TOLD).map(story),
  };
  process.stdout.write(`${JSON.stringify(figures, undefined, 1)}\n`);
  if (never.length > 0) faults.push(`${never.length} pods never ran`);
  if (late.length > 0) faults.push(`${late.length} pods were sent to a target that had been lost for five seconds`);
  if (figures.lostAndUnasked.most * 1_000 > allowed) {
    faults.push(`a pod that no lost target was asked for took longer than ${seconds(allowed)} s`);
  }
  if (spread(elsewhere).most * 1_000 > ASKED_MS) faults.push('a pod waited for longer than a minute');
  const stuck = killed.filter((pod) => (pod.runningAfter ?? Infinity) > Math.max(
    ASKED_MS, (absenceOf(pod, asked)?.until ?? 0) + RETURNED_MS - pod.createdAt,
  ));
  if (stuck.length > 0) faults.push(`${stuck.length} pods waited on after their target was back`);
}

function whereAsked({ uids }: PodRecord, asked: ReadonlyMap<string, Asked>): Asked | undefined {
  return uids.map((uid) => asked.get(uid)).find((one) => one !== undefined);
}

/** The last absence that the pod waited for: its target may have gone again before it could answer. */
function absenceOf(pod: PodRecord, asked: ReadonlyMap<string, Asked>): Absence | undefined {
  const target = whereAsked(pod, asked)?.target;
  const ran = pod.createdAt + (pod.runningAfter ?? Infinity);
  return vanishing.absences.findLast(
    (absence) => absence.target === target && pod.createdAt <= absence.until && absence.from <= ran,
  );
}

function isLate({ target, sentAt = 0 }: Asked, absences: readonly Absence[]): boolean {
  return absences.some(
    (absence) => absence.target === target && absence.from + NOTICED_MS < sentAt && sentAt < absence.until,
  );
}

function bySpeed({ runningAfter: one = Infinity }: PodRecord, { runningAfter: other = Infinity }: PodRecord): number {
  return other - one;
}

function story({ name, uids, createdAt, runningAfter }: PodRecord): object {
  const sinceLost = vanishing.absences.filter(({ from, until }) => from - 1_000 <= createdAt && createdAt <= until)
    .map(({ how, from }) => `${how} ${seconds(createdAt - from)}`);
  return {
    name, seconds: seconds(runningAfter), sinceLost,
    steps: uids.map(
      (uid) => timelineOf(world, uid, createdAt).map(({ step, afterMs }) => `${seconds(afterMs)} ${step}`).join(', '),
    ),
  };
}

function seconds(ms = Infinity): number {
  return Math.round(ms / 10) / 100;
}

function spread(records: readonly PodRecord[]): {
  readonly pods: number; readonly median: number; readonly p99: number; readonly most: number
} {
  const sorted = records.map(({ runningAfter = Infinity }) => runningAfter).toSorted((one, other) => one - other);
  const at = (part: number) => seconds(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0);
  return { pods: sorted.length, median: at(0.5), p99: at(0.99), most: at(1) };
}
