// P4: one decision over 1,000 targets of 5,000 nodes each, with what the decision changes: capacity is taken where the pod goes,
// and given back for the pod before, so that the targets stay as they are. Reference: what any decision must look at, the free and
// allocatable sums of every target in typed arrays, scanned once without any knowledge of pods, nodes or reasons.
import type { ClusterSummary } from '../api/cluster-summary.ts';
import { toClusterSummary } from '../delegate-controller/cluster-summary.ts';
import { NodeGrouper } from '../delegate-controller/node-groups.ts';
import { NodeLedger } from '../delegate-controller/node-ledger.ts';
import { toTargetNodeRecord } from '../delegate-controller/target-node.ts';
import { toTargetPodRecord } from '../delegate-controller/target-pod.ts';
import { parseResourceList } from '../model/resources.ts';
import { DecisionCache } from '../scheduler/decision-cache.ts';
import type { PodToSchedule } from '../scheduler/snapshot.ts';
import { TargetViews } from '../scheduler/target-views.ts';
import type { Benchmark, BenchmarkContext, Measurement } from './benchmark.ts';
import { RandomSource } from './random-source.ts';
import { spreadOf } from './statistics.ts';
import { syntheticNode, syntheticPod, syntheticRequests } from './synthetic-nodes.ts';

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
    const sizes = new Map<number, readonly number[]>();
    const reference: number[] = [];
    const cold: number[] = [];
    for (let run = 0; run < runs; run += 1) {
      signal.throwIfAborted();
      for (const targets of [10, TARGETS]) {
        const world = new DecisionWorld(summaries, targets);
        if (targets === TARGETS) cold.push(world.coldUs());
        world.warmUs(DECISIONS / 4);
        const us = world.warmUs(DECISIONS);
        sizes.set(targets, [...(sizes.get(targets) ?? []), us]);
        if (targets === TARGETS) reference.push(scanUs(world));
        onProgress(`P4: run ${run + 1} of ${runs}, ${targets} targets: ${us.toFixed(2)} µs`);
      }
    }
    const [ours, few] = [spreadOf(sizes.get(TARGETS) ?? []), spreadOf(sizes.get(10) ?? [])];
    const title = `decision, capacity taken and given back, ${CLASSES} classes of pods in turn`;
    return [
      { variant: 'decision', title, unit: 'µs', ours, goal: { figure: 'ours', atMost: 50 } },
      { variant: 'scan', title: `${title}; against a bare scan of the targets' sums`, unit: 'µs', ours, reference: spreadOf(reference), goal: { figure: 'ratio', atMost: 4 } },
      { variant: 'slope', title: `as above; against 10 targets: at most linear is 100`, unit: 'µs', ours, reference: few, goal: { figure: 'ratio', atMost: TARGETS / 10 } },
      { variant: 'cold', title: 'the first decision of a class of pods, for which nothing is remembered', unit: 'µs', ours: spreadOf(cold) },
    ];
  },
};

function summaryOf(random: RandomSource): ClusterSummary {
  const ledger = new NodeLedger();
  const names: string[] = [];
  for (let i = 0; i < NODES; i += 1) {
    const node = syntheticNode(i, random);
    names.push(node.metadata.name ?? '');
    ledger.setNode(node.metadata.name ?? '', toTargetNodeRecord(node));
  }
  for (let i = 0; i < NODES * PODS_PER_NODE; i += 1) ledger.changePod(undefined, toTargetPodRecord(syntheticPod(i, random.oneOf(names), random)));
  return toClusterSummary(ledger, new NodeGrouper(), { podsResourceVersion: '1' });
}

/** Targets and pods in flight. */
class DecisionWorld {
  readonly views = new TargetViews();
  readonly #decisions = new DecisionCache();
  readonly #pods: readonly PodToSchedule[];
  readonly #inFlight: string[] = [];
  #made = 0;

  constructor(summaries: readonly ClusterSummary[], targets: number) {
    for (let i = 0; i < targets; i += 1) {
      const [name, summary] = [`c${i}`, summaries[i % summaries.length]];
      const identity = { ref: { kind: 'ClusterTarget', name } as const, key: `ClusterTarget/${name}`, nodeName: `admiralty-${name}` };
      this.views.update(identity, undefined);
      this.views.publish(identity.key, summary);
    }
    const random = new RandomSource(9);
    this.#pods = Array.from({ length: CLASSES }, () => this.#podOf(random));
  }

  #podOf(random: RandomSource): PodToSchedule {
    const nodeSelector = { 'topology.kubernetes.io/zone': `eu-west-1${random.oneOf(['a', 'b', 'c'])}` };
    const requirements = this.#decisions.share({ requests: parseResourceList({ ...syntheticRequests(random), pods: '1' }).amounts, nodeSelector });
    return { namespace: 'team-a', requirements, refusals: new Map() };
  }

  /** Mean CPU time of the first decisions of each class, in µs. */
  coldUs(): number {
    return this.#timeUs(CLASSES);
  }

  /** Mean CPU time of so many decisions, in µs. */
  warmUs(decisions: number): number {
    return this.#timeUs(decisions);
  }

  #timeUs(decisions: number): number {
    const from = cpuUs();
    for (let i = 0; i < decisions; i += 1) this.#decide();
    return (cpuUs() - from) / decisions;
  }

  #decide(): void {
    const pod = this.#pods[this.#made % this.#pods.length];
    if (pod === undefined) return;
    const decision = this.#decisions.decide(pod, this.views.snapshots());
    const uid = `pod-${this.#made}`;
    this.#made += 1;
    if (decision.kind === 'none') throw new RangeError('a pod of this benchmark fits nowhere');
    this.views.assume(decision.target.key, uid, pod.requirements);
    this.#inFlight.push(uid);
    if (this.#inFlight.length > IN_FLIGHT) this.views.releaseEverywhere(this.#inFlight.shift() ?? '');
  }
}

/** The least that tells which target is emptiest, for CPU and memory, in µs. */
function scanUs({ views }: DecisionWorld): number {
  const columns = ['cpu', 'memory'];
  const targets = views.snapshots();
  const free = Float64Array.from(targets.flatMap(({ capacity }) => columns.map((resource) => capacity?.free.get(resource) ?? 0)));
  const total = Float64Array.from(targets.flatMap(({ capacity }) => columns.map((resource) => capacity?.allocatable.get(resource) ?? 0)));
  let chosen = 0;
  const from = cpuUs();
  for (let scan = 0; scan < DECISIONS; scan += 1) chosen += emptiest(free, total, scan % 7);
  const us = (cpuUs() - from) / DECISIONS;
  if (chosen < 0) throw new RangeError('no target'); // and so the scans cannot be left out
  return us;
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
