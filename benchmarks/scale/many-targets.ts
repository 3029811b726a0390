// PS: one source process with a thousand targets. API servers are simulated, the source process is the real one: what
// is measured is how long it takes until all targets are ready, its memory, what it costs at rest and in a burst, and
// what targets that come and go, or never answer, do to the others.
import { delay } from '../../kubernetes/flow/backoff.ts';
import type { Benchmark, BenchmarkContext, Measurement } from '../benchmark.ts';
import { SimulatedWorld, type TargetCounts } from '../simulation/simulated-world.ts';
import type { SourceProcess } from '../simulation/source-process.ts';
import { spreadOf } from '../results/statistics.ts';

const TARGETS = 1_000;
/** The burst's rate is compared with that of so many targets. */
const FEW_TARGETS = 10;
const PODS = 1_000;
/** What the page of operations recommends for so many targets; ten have it as well. */
const MEMORY_LIMIT = '2Gi';
/** Measured after a first burst and as many pods as P1 runs before it measures: code is compiled then. */
const BURSTS = { before: 8, podsBefore: 200, measured: 5 };
/** Candidates are confirmed a second after their burst; that must not count towards the next one. */
const SETTLE_MS = 3_000;
/** The start is over and its garbage collected by then, in ms. */
const REST_MS = 20_000;
/** Long enough for a fair share of V8's collections: about forty seconds after the start two give memory back. */
const IDLE_MS = 300_000;
const FLAPPING_SHARE = 0.1;
const BLACK_HOLE_SHARE = 0.01;
/** A flapping target is lost for longer than it takes to notice, and back for longer than it takes to return; in ms. */
const FLAP = { lostMs: 25_000, backMs: 10_000, times: 2 };
/** Tokens of a thousand targets are renewed within so many seconds; usually within an hour. */
const ROTATION = { batch: 10, pauseMs: 200 };

/** PS. */
export const MANY_TARGETS: Benchmark = {
  id: 'PS',
  title: `a source with ${TARGETS} simulated targets`,
  async run(context, signal): Promise<readonly Measurement[]> {
    const most = Math.max(...(context.targets ?? [TARGETS]));
    const few = await measure({ healthy: FEW_TARGETS }, context, signal, async (measuring) => {
      const { source } = await measureStart(measuring);
      return measureBursts(measuring, source);
    });
    const blackHoles = Math.ceil(most * BLACK_HOLE_SHARE);
    const flapping = Math.ceil(most * FLAPPING_SHARE);
    const counts = { healthy: most - blackHoles - flapping, flapping, 'black-hole': blackHoles };
    return measure(counts, context, signal, async (measuring) => {
      const started = await measureStart(measuring);
      const idle = await measureIdle(measuring, started.source);
      const many = { ...started, ...idle, ...await measureBursts(measuring, started.source) };
      return [
        ...restRows(most, many, few), ...await measureFaults(measuring, many), ...await measureRestart(measuring, many),
      ];
    });
  },
};

/** A running simulation, with the callbacks that report progress and start a source process. */
interface Measuring {
  readonly world: SimulatedWorld;
  readonly count: number;
  readonly tell: (text: string) => void;
  readonly start: (name: string) => Promise<SourceProcess>;
  readonly signal: AbortSignal;
}

async function measure<T>(
  counts: TargetCounts, context: BenchmarkContext, signal: AbortSignal, work: (measuring: Measuring) => Promise<T>,
): Promise<T> {
  const world = await SimulatedWorld.start(counts, signal);
  const count = world.targets.length;
  try {
    return await work({
      world, count, signal, tell: (text) => context.onProgress(`PS, ${count} targets: ${text}`),
      start: (name) => world.startSource(`${count}-${name}`, {
        profileFolder: context.profileFolder, memoryLimit: MEMORY_LIMIT,
      }),
    });
  } finally {
    await world.stop();
  }
}

interface Started {
  readonly source: SourceProcess;
  readonly readyS: number;
  readonly readyCpuS: number;
  /** To each target. */
  readonly readyConnections: number;
}

interface Idle {
  readonly residentMiB: number;
  readonly idleCpuPercent: number;
  readonly idleRequests: number;
  readonly sourceRequests: number;
}

interface Bursts {
  readonly firstPodsPerSecond: number;
  readonly podsPerSecond: readonly number[];
  readonly cpuMs: readonly number[];
  readonly connections: number;
  /** Resident memory after the bursts; their pods stay. */
  readonly workedMiB: number;
}

type Figures = Started & Idle & Bursts;

/** The start, until it has come to rest. */
async function measureStart({ world, tell, start, signal }: Measuring): Promise<Started> {
  const began = performance.now();
  const source = await start('first');
  await world.untilAllReady(signal);
  const readyS = (performance.now() - began) / 1_000;
  const readyCpuS = (await source.cpuMs()) / 1_000;
  const readyConnections = (await world.counts('connections')) / world.targets.length;
  tell(`ready after ${readyS.toFixed(1)} s, of which ${readyCpuS.toFixed(1)} s of CPU`);
  await delay(REST_MS, signal);
  return { source, readyS, readyCpuS, readyConnections };
}

async function measureIdle({ world, count, tell, signal }: Measuring, source: SourceProcess): Promise<Idle> {
  const [cpu, requests, own] = [await source.cpuMs(), await world.counts('requests'), world.source.requests];
  await delay(IDLE_MS, signal);
  const idleCpuPercent = ((await source.cpuMs()) - cpu) / (IDLE_MS / 100);
  const perTarget = IDLE_MS / 1_000 * count;
  const idleRequests = ((await world.counts('requests')) - requests) / perTarget;
  const sourceRequests = (world.source.requests - own) / perTarget;
  const residentMiB = await source.residentMiB();
  tell(
    `${residentMiB.toFixed(0)} MiB, ${idleCpuPercent.toFixed(1)} % CPU, ${idleRequests.toFixed(3)} and ` +
      `${sourceRequests.toFixed(3)} requests/s for each target`,
  );
  return { residentMiB, idleCpuPercent, idleRequests, sourceRequests };
}

async function measureBursts({ world, tell, signal }: Measuring, source: SourceProcess): Promise<Bursts> {
  await world.burst(PODS / 5, 'cold', signal);
  const firstPodsPerSecond = await world.burst(PODS, 'first', signal);
  for (let burst = 0; burst < BURSTS.before; burst += 1) await world.burst(BURSTS.podsBefore, `warm-${burst}`, signal);
  const opened = await world.counts('connections');
  const [podsPerSecond, cpuMs]: [number[], number[]] = [[], []];
  for (let burst = 0; burst < BURSTS.measured; burst += 1) {
    await delay(SETTLE_MS, signal);
    const before = await source.cpuMs();
    podsPerSecond.push(await world.burst(PODS, `load-${burst}`, signal));
    cpuMs.push(((await source.cpuMs()) - before) / PODS);
  }
  const connections = (await world.counts('connections')) - opened;
  const [rates, ms] = [podsPerSecond, cpuMs].map((figures) => figures.map((one) => one.toFixed(2)));
  tell(`${rates?.join(', ')} pods/s, ${ms?.join(', ')} ms of CPU a pod, ${connections} connections`);
  await delay(SETTLE_MS, signal);
  return { firstPodsPerSecond, podsPerSecond, cpuMs, connections, workedMiB: await source.residentMiB() };
}

function restRows(most: number, many: Figures, few: Bursts): readonly Measurement[] {
  return [
    row('ready', `until ${most} targets are ready`, many.readyS, { unit: 's', atMost: 60 }),
    row('ready-cpu', 'CPU of the source until then', many.readyCpuS, { unit: 's' }),
    row('ready-connections', 'connections to each target until then', many.readyConnections, {
      unit: 'connections', atMost: 1.05,
    }),
    row('memory', 'resident memory at rest', many.residentMiB, { unit: 'MiB', atMost: 1_024 }),
    row('idle-cpu', 'CPU at rest, of a core', many.idleCpuPercent, { unit: '%', atMost: 5 }),
    row('idle-requests', 'requests a second to each idle target', many.idleRequests, {
      unit: 'requests/s', atMost: 0.2,
    }),
    row('source-requests', 'the same to the source, for each target', many.sourceRequests, { unit: 'requests/s' }),
    {
      ...row('burst-first', `first burst of ${PODS} pods, against ${FEW_TARGETS} targets`, many.firstPodsPerSecond, {
        unit: 'pods/s',
      }),
      reference: spreadOf([few.firstPodsPerSecond]),
    },
    {
      variant: 'burst', title: `later bursts of ${PODS} pods, against ${FEW_TARGETS} targets`, unit: 'pods/s',
      ours: spreadOf(many.podsPerSecond), reference: spreadOf(few.podsPerSecond),
      goal: { figure: 'ratio', atLeast: 0.9 },
    },
    {
      variant: 'burst-cpu', title: 'CPU of the source for each pod of them', unit: 'ms',
      ours: spreadOf(many.cpuMs), reference: spreadOf(few.cpuMs),
    },
    row('connections', 'connections that they opened to targets', many.connections, { unit: 'connections' }),
  ];
}

/** A burst to the others while targets flap and some are black holes; then new credentials for all. */
async function measureFaults(
  { world, tell, signal }: Measuring, { source, workedMiB }: Figures,
): Promise<readonly Measurement[]> {
  const well = await world.burst(PODS, 'healthy', signal, 'healthy');
  const lossesOf = world.watchLosses('healthy');
  world.freeze('black-hole');
  const flaps = flap(world, signal);
  await delay(FLAP.lostMs + FLAP.backMs / 2, signal);
  const beside = await world.burst(PODS, 'beside', signal, 'healthy');
  await flaps;
  const losses = lossesOf();
  tell(`${beside.toFixed(0)} of ${well.toFixed(0)} pods/s beside flaps and black holes; ${losses} others were lost`);
  world.thaw('black-hole');
  await world.untilAllReady(signal);
  const rotation = await measureRotation(world, source, signal);
  await delay(REST_MS, signal);
  const restMiB = await source.residentMiB();
  tell(`${rotation.cpuMs.toFixed(1)} ms of CPU for each new token, ${rotation.losses} lost; ${restMiB.toFixed(0)} MiB`);
  return [
    {
      ...row('faults', `burst of ${PODS} to the others while 10 % flap and 1 % are black holes`, beside, {
        unit: 'pods/s',
      }),
      reference: spreadOf([well]), goal: { figure: 'ratio', atLeast: 0.95 },
    },
    row('faults-losses', 'others that ceased to be ready meanwhile', losses, { unit: 'targets', atMost: 0 }),
    row('rotation-cpu', 'CPU of the source for each target whose token is renewed', rotation.cpuMs, { unit: 'ms' }),
    row('rotation-losses', 'targets that ceased to be ready meanwhile', rotation.losses, {
      unit: 'targets', atMost: 0,
    }),
    { ...row('memory-after', 'resident memory after all this, against that after the bursts', restMiB, {
      unit: 'MiB',
    }), reference: spreadOf([workedMiB]) },
  ];
}

async function measureRotation(
  world: SimulatedWorld, source: SourceProcess, signal: AbortSignal,
): Promise<{ readonly cpuMs: number; readonly losses: number }> {
  const lossesOf = world.watchLosses('healthy', 'flapping', 'black-hole');
  const before = await source.cpuMs();
  await world.rotate('renewed', ROTATION, signal);
  await delay(ROTATION.pauseMs * ROTATION.batch, signal);
  return { cpuMs: ((await source.cpuMs()) - before) / world.targets.length, losses: lossesOf() };
}

/** Another process starts as the first one did, but some targets never answer it. */
async function measureRestart(
  { world, tell, start, signal }: Measuring, { source, readyS }: Figures,
): Promise<readonly Measurement[]> {
  await source.stop();
  world.forgetStatuses();
  world.freeze('black-hole');
  const began = performance.now();
  await start('again');
  const others = world.targets.filter(({ health }) => health !== 'black-hole').length;
  await world.until('all others are ready', () => world.readyAmong('healthy', 'flapping') === others, signal);
  const againS = (performance.now() - began) / 1_000;
  tell(`ready after ${againS.toFixed(1)} s beside black holes`);
  return [{
    ...row('ready-beside', `until the others are ready where 1 % are black holes`, againS, { unit: 's', atMost: 60 }),
    reference: spreadOf([readyS]),
  }];
}

/** Freezes and thaws the flapping targets, several times. */
async function flap(world: SimulatedWorld, signal: AbortSignal): Promise<void> {
  for (let time = 0; time < FLAP.times; time += 1) {
    world.freeze('flapping');
    await delay(FLAP.lostMs, signal);
    world.thaw('flapping');
    await delay(FLAP.backMs, signal);
  }
}

function row(
  variant: string, title: string, figure: number, { unit, atMost }: { readonly unit: string; readonly atMost?: number },
): Measurement {
  return {
    variant, title, unit, ours: spreadOf([figure]), ...(atMost !== undefined && { goal: { figure: 'ours', atMost } }),
  };
}
