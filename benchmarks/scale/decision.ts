// P4: one decision over 1,000 targets of 5,000 nodes each, with what the decision changes: capacity is taken where the
// pod goes, and given back for an earlier pod, so that the targets stay as they are. Reference: a scan of the typed
// arrays that a decision is made of, without any knowledge of namespaces, selectors or reasons. Two are printed: of the
// free node shapes up to the first that fits and the sums of the targets that have one, which is what the goal means,
// and a stricter one of the sums alone, which no one could decide by.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { ClusterSummary } from '../../api/kinds/cluster-summary.ts';
import { toClusterSummary } from '../../delegate-controller/capacity/cluster-summary.ts';
import { NodeGrouper } from '../../delegate-controller/capacity/node-groups.ts';
import { NodeLedger } from '../../delegate-controller/capacity/node-ledger.ts';
import { toTargetNodeRecord } from '../../delegate-controller/target-cache/target-node.ts';
import { toTargetPodRecord } from '../../delegate-controller/target-cache/target-pod.ts';
import { parseResourceList } from '../../model/resources/resources.ts';
import { EquivalenceCache } from '../../scheduler/cache/equivalence-cache.ts';
import type { PodToSchedule, TargetSnapshot } from '../../scheduler/snapshot/snapshot.ts';
import { TargetViews } from '../../scheduler/cache/target-views.ts';
import type { Benchmark, BenchmarkContext, Measurement } from '../benchmark.ts';
import { RandomSource } from '../load/random-source.ts';
import { spreadOf } from '../results/statistics.ts';
import { syntheticNode, syntheticPod, syntheticRequests } from '../load/synthetic-nodes.ts';

const TARGETS = 1_000;
const NODES = 5_000;
const PODS_PER_NODE = 8;
/** So many clusters differ; making a thousand would take minutes and show nothing more. */
const DIFFERENT = 4;
const CLASSES = 20;
const DECISIONS = 20_000;
const IN_FLIGHT = 500;

/** P4. */
export const DECISION: Benchmark = {
  id: 'P4',
  title: `one decision over ${TARGETS} targets of ${NODES} nodes each`,
  async run({ runs, onProgress }: BenchmarkContext, signal): Promise<readonly Measurement[]> {
    const summaries = Array.from({ length: DIFFERENT }, (_, seed) => summaryOf(new RandomSource(seed + 1)));
    const figures: Figures = { one: [], few: [], many: [], cold: [], holes: [], scan: [] };
    for (let run = 0; run < runs; run += 1) {
      signal.throwIfAborted();
      const [one, few, many] = [
        new DecisionWorld(summaries, TARGETS, 1), new DecisionWorld(summaries, 10, 1),
        new DecisionWorld(summaries, TARGETS, CLASSES),
      ];
      figures.cold.push(many.decisionUs(CLASSES));
      for (const [world, list] of [[one, figures.one], [few, figures.few], [many, figures.many]] as const) {
        collectGarbage(); // that of making the worlds is none of the decisions'
        world.decisionUs(DECISIONS); // the sweeper's threads end meanwhile, and code is compiled
        list.push(world.decisionUs(DECISIONS));
      }
      figures.holes.push(scanShapesUs(one, summaries));
      figures.scan.push(scanSumsUs(one));
      onProgress(
        `P4: run ${run + 1} of ${runs}: ` +
          `${Object.entries(figures).map(([name, list]) => `${name} ${list.at(-1)?.toFixed(2) ?? ''}`).join(', ')} µs`,
      );
    }
    return toMeasurements(figures);
  },
};

/**
 * CPU time of each run, in µs: pods of one class over all targets and over ten, of several classes in turn, first
 * decisions, bare scans of free node shapes and of sums.
 */
type Figures = Readonly<Record<'one' | 'few' | 'many' | 'cold' | 'holes' | 'scan', number[]>>;

function toMeasurements(figures: Figures): readonly Measurement[] {
  const [one, few, many, cold, holes, scan] =
    [figures.one, figures.few, figures.many, figures.cold, figures.holes, figures.scan].map(spreadOf);
  if (
    one === undefined || few === undefined || many === undefined || cold === undefined || holes === undefined
      || scan === undefined
  ) return [];
  const unit = 'µs';
  return [
    {
      variant: 'decision', title: 'decision with its capacity taken, and an earlier one given back; pods of one class',
      unit, ours: one, goal: { figure: 'ours', atMost: 50 },
    },
    {
      variant: 'holes',
      title:
        'the same against a bare scan of holes, each target to its first that fits, and of the sums of these targets',
      unit, ours: one, reference: holes, goal: { figure: 'ratio', atMost: 4 },
    },
    {
      variant: 'scan', title: 'the same against a bare scan of sums by target', unit, ours: one, reference: scan,
      goal: { figure: 'ratio', atMost: 4 },
    },
    {
      variant: 'slope', title: 'the same against 10 targets: 100 would be linear', unit, ours: one, reference: few,
      goal: { figure: 'ratio', atMost: TARGETS / 10 },
    },
    {
      variant: 'classes', title: `${CLASSES} classes in turn, each of which has to look at what the others changed`,
      unit, ours: many, reference: holes, goal: { figure: 'ours', atMost: 50 },
    },
    {
      variant: 'cold', title: 'the first decision of a class, for which nothing is remembered', unit, ours: cold,
      reference: holes, goal: { figure: 'ours', atMost: 5_000 },
    },
  ];
}

function summaryOf(random: RandomSource): ClusterSummary {
  const ledger = new NodeLedger();
  const names: string[] = [];
  for (let i = 0; i < NODES; i += 1) {
    const node = syntheticNode(i, random);
    names.push(node.metadata.name ?? '');
    ledger.setNode(node.metadata.name ?? '', toTargetNodeRecord(node));
  }
  for (let i = 0; i < NODES * PODS_PER_NODE; i += 1) {
    ledger.changePod(undefined, toTargetPodRecord(syntheticPod(i, random.oneOf(names), random)));
  }
  return toClusterSummary(ledger, new NodeGrouper(), { podsResourceVersion: '1' });
}

/** Targets and pods in flight. */
class DecisionWorld {
  readonly views = new TargetViews();
  readonly #decisions = new EquivalenceCache();
  readonly #pods: readonly PodToSchedule[];
  readonly #inFlight: string[] = [];
  #made = 0;

  constructor(summaries: readonly ClusterSummary[], targets: number, classes: number) {
    for (let i = 0; i < targets; i += 1) {
      const [name, summary] = [`c${i}`, summaries[i % summaries.length]];
      const identity =
        { ref: { kind: 'ClusterTarget', name } as const, key: `ClusterTarget/${name}`, nodeName: `admiralty-${name}` };
      this.views.update(identity, undefined);
      this.views.publish(identity.key, summary);
    }
    const random = new RandomSource(9);
    this.#pods = Array.from({ length: classes }, () => this.#podOf(random));
  }

  #podOf(random: RandomSource): PodToSchedule {
    const nodeSelector = { 'topology.kubernetes.io/zone': `eu-west-1${random.oneOf(['a', 'b', 'c'])}` };
    const requirements = this.#decisions.intern(
      { requests: parseResourceList({ ...syntheticRequests(random), pods: '1' }).amounts, nodeSelector },
    );
    return { namespace: 'team-a', requirements, rejectedBy: new Map() };
  }

  /** Mean CPU time of so many decisions, in µs. */
  decisionUs(decisions: number): number {
    const from = cpuUs();
    for (let i = 0; i < decisions; i += 1) this.#decide();
    return (cpuUs() - from) / decisions;
  }

  #decide(): void {
    const pod = this.#pods[this.#made % this.#pods.length];
    if (pod === undefined) return;
    const decision = this.#decisions.decide(pod, this.views.snapshots(), this.views.changes);
    const uid = `pod-${this.#made}`;
    this.#made += 1;
    if (decision.kind === 'none') throw new RangeError('a pod of this benchmark fits nowhere');
    this.views.assume(decision.target.key, uid, pod.requirements);
    this.#inFlight.push(uid);
    if (this.#inFlight.length > IN_FLIGHT) this.views.releaseEverywhere(this.#inFlight.shift() ?? '');
  }
}

/** The least that tells which target is emptiest, for CPU and memory, in µs. */
function scanSumsUs({ views }: DecisionWorld): number {
  const { free, total } = sumsOf(views.snapshots());
  let chosen = 0;
  const from = cpuUs();
  for (let scan = 0; scan < DECISIONS; scan += 1) chosen += emptiest(free, total, scan % 7);
  const us = (cpuUs() - from) / DECISIONS;
  if (chosen < 0) throw new RangeError('no target'); // and so the scans cannot be left out
  return us;
}

/** Free node shapes of all targets, two amounts to a row; those of target t begin at row `starts[t]`. */
interface FlatShapes {
  readonly free: Float64Array;
  readonly starts: Int32Array;
}

function flatten(summaries: readonly ClusterSummary[], targets: number): FlatShapes {
  const starts = new Int32Array(targets + 1);
  const rows: number[] = [];
  for (let target = 0; target < targets; target += 1) {
    for (const { free } of (summaries[target % summaries.length]?.nodeGroups ?? []).flatMap(({ holes }) => holes)) {
      const { amounts } = parseResourceList(free);
      rows.push(amounts.get('cpu') ?? 0, amounts.get('memory') ?? 0);
    }
    starts[target + 1] = rows.length / 2;
  }
  return { free: Float64Array.from(rows), starts };
}

/** The least that tells which target with room for the pod on one node is emptiest, in µs. */
function scanShapesUs({ views }: DecisionWorld, summaries: readonly ClusterSummary[]): number {
  const targets = views.snapshots();
  const shapes = flatten(summaries, targets.length);
  const { free, total } = sumsOf(targets);
  const random = new RandomSource(9);
  const { amounts } = parseResourceList(syntheticRequests(random));
  const request = { cpu: amounts.get('cpu') ?? 0, memory: amounts.get('memory') ?? 0 };
  let chosen = 0;
  const from = cpuUs();
  for (let scan = 0; scan < DECISIONS; scan += 1) {
    chosen += emptiestThatFits(shapes, { free, total }, { ...request, cpu: request.cpu + (scan % 7) });
  }
  const us = (cpuUs() - from) / DECISIONS;
  if (chosen < 0) throw new RangeError('no target');
  return us;
}

interface Sums {
  readonly free: Float64Array;
  readonly total: Float64Array;
}

function emptiestThatFits(
  { free, starts }: FlatShapes, sums: Sums, { cpu, memory }: { readonly cpu: number; readonly memory: number },
): number {
  let [best, at] = [-1, -1];
  for (let target = 0; target + 1 < starts.length; target += 1) {
    const end = starts[target + 1] as number;
    let row = starts[target] as number;
    while (row < end && ((free[2 * row] as number) < cpu || (free[2 * row + 1] as number) < memory)) row += 1;
    if (row === end) continue;
    const score = ((sums.free[2 * target] as number) - cpu) / (sums.total[2 * target] as number)
      + ((sums.free[2 * target + 1] as number) - memory) / (sums.total[2 * target + 1] as number);
    if (score > best) [best, at] = [score, target];
  }
  return at;
}

/** CPU and memory of each target. */
function sumsOf(targets: readonly TargetSnapshot[]): Sums {
  const columns = ['cpu', 'memory'];
  return {
    free: Float64Array.from(
      targets.flatMap(({ capacity }) => columns.map((resource) => capacity?.free.get(resource) ?? 0)),
    ),
    total: Float64Array.from(
      targets.flatMap(({ capacity }) => columns.map((resource) => capacity?.allocatable.get(resource) ?? 0)),
    ),
  };
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

/** CPU time of this process: a benchmark of microseconds must not count what others on the machine do. */
function cpuUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

function emptiest(free: Float64Array, total: Float64Array, request: number): number {
  let best = -1;
  let at = -1;
  for (let i = 0; i < free.length; i += 2) {
    const score = ((free[i] ?? 0) - request) / (total[i] ?? 1) + ((free[i + 1] ?? 0) - request) / (total[i + 1] ?? 1);
    if (score > best) {
      best = score;
      at = i;
    }
  }
  return at;
}
