// P5: how often the target that is chosen first takes the pod. A simulation with a seed: targets with mixed nodes,
// filled by pods of their own that come and go unseen between two summaries; each target's scheduler puts pods on the
// node with most of itself free. The oracle knows all nodes as they are when the pod's turn comes, with the pods that
// were sent before it on them: a pod that no target could take then counts for nobody, one that was sent nowhere though
// some target could counts as lost.
import type { Pod } from '../../api/objects/core.ts';
import type { ClusterSummary } from '../../api/kinds/cluster-summary.ts';
import { isSmallChange } from '../../delegate-controller/capacity/small-change.ts';
import { toClusterSummary } from '../../delegate-controller/capacity/cluster-summary.ts';
import { NodeGrouper } from '../../delegate-controller/capacity/node-groups.ts';
import { NodeLedger, type NodeState } from '../../delegate-controller/capacity/node-ledger.ts';
import { toTargetNodeRecord } from '../../delegate-controller/target-cache/target-node.ts';
import { toTargetPodRecord, type TargetPod } from '../../delegate-controller/target-cache/target-pod.ts';
import { subtractAmounts, type ResourceAmounts } from '../../model/resources/resources.ts';
import { EquivalenceCache } from '../../scheduler/cache/equivalence-cache.ts';
import { toRequirements } from '../../scheduler/snapshot/target-capacity.ts';
import type { NodeRequirements } from '../../scheduler/snapshot/node-requirements.ts';
import { TargetViews } from '../../scheduler/cache/target-views.ts';
import type { Benchmark, Measurement } from '../benchmark.ts';
import { RandomSource } from '../load/random-source.ts';
import { spreadOf } from '../results/statistics.ts';
import { syntheticNode, syntheticPod } from '../load/synthetic-nodes.ts';

const TARGETS = 10;
const NODES = 60;
const TICK_MS = 20;
/** How often a target looks whether its summary has changed, in ms; it leaves out at most three small changes. */
const SUMMARY_MS = 1_300;
const LOOKS_AT_SMALL = 4;
/** From the decision until the target's scheduler runs, in ms. */
const VERDICT_MS = 60;
/** Fractions of the CPU of nodes without taints that a target's own pods hold at the start: usual, and nearly full. */
const FILLS = [0.8, 0.95];
const STEADY = { seconds: 30, podsPerTick: 1 };
const BURST = 1_000;

/** P5. */
export const FIRST_CHOICE: Benchmark = {
  id: 'P5',
  title: `the first choice takes the pod, of those that any of ${TARGETS} targets could take`,
  async run({ runs, onProgress }, signal): Promise<readonly Measurement[]> {
    const measurements: Measurement[] = [];
    for (const fill of FILLS) {
      const [steady, burst]: [number[], number[]] = [[], []];
      for (let run = 0; run < runs; run += 1) {
        signal.throwIfAborted();
        steady.push(simulate(
          { seed: run + 1, fill }, Array.from({ length: (STEADY.seconds * 1_000) / TICK_MS }, () => STEADY.podsPerTick),
        ));
        burst.push(
          simulate({ seed: run + 101, fill }, [BURST, ...Array.from({ length: SUMMARY_MS / TICK_MS }, () => 0)]),
        );
        onProgress(
          `P5: ${fill * 100} % full, run ${run + 1} of ${runs}: steady ${steady.at(-1)?.toFixed(4) ?? ''}, burst ` +
            (burst.at(-1)?.toFixed(4) ?? ''),
        );
      }
      const full = `targets ${fill * 100} % full at the start`;
      measurements.push(
        {
          variant: `steady-${fill}`, title: `${1_000 / TICK_MS} pods/s for ${STEADY.seconds} s, ${full}`, unit: 'share',
          ours: spreadOf(steady), goal: { figure: 'ours', atLeast: 0.98 },
        },
        {
          variant: `burst-${fill}`, title: `${BURST} pods at once, ${full}`, unit: 'share', ours: spreadOf(burst),
          goal: { figure: 'ours', atLeast: 0.9 },
        },
      );
    }
    return measurements;
  },
};

interface Sent {
  readonly uid: string;
  readonly requirements: NodeRequirements;
  /** Missing when it was sent nowhere: no target seemed to have room. */
  readonly target?: SimulatedTarget;
  readonly arrivesAt: number;
}

/** A target with live nodes, and its scheduler. */
class SimulatedTarget {
  readonly key: string;
  readonly ledger = new NodeLedger();
  readonly #grouper = new NodeGrouper();
  readonly #running: TargetPod[] = [];
  #version = 1;
  #published: ClusterSummary | undefined;
  #looks = 0;

  constructor(index: number, fill: number, random: RandomSource) {
    this.key = `ClusterTarget/c${index}`;
    for (let i = 0; i < NODES; i += 1) {
      const node = syntheticNode(i, random);
      this.ledger.setNode(node.metadata.name ?? '', toTargetNodeRecord(node));
    }
    for (let i = 0; this.#usedFraction() < fill; i += 1) this.place(randomPod(i, random));
  }

  /**
   * Puts a pod on the least allocated node that fits. Gives the version at which it has its node, or undefined when
   * none does.
   */
  place(pod: Pod): number | undefined {
    const { requests } = toRequirements(pod.spec);
    const node = this.#leastAllocated(requests);
    if (node === undefined) return undefined;
    const placed = toTargetPodRecord({ ...pod, spec: { ...pod.spec, nodeName: node.node.name } });
    this.ledger.changePod(undefined, placed);
    this.#running.push(placed);
    this.#version += 1;
    return this.#version;
  }

  /** One of its own pods ends, one comes. */
  churn(random: RandomSource, index: number): void {
    const [gone] = this.#running.splice(random.below(this.#running.length), 1);
    this.ledger.changePod(gone, undefined);
    this.#version += 1;
    this.place(randomPod(index, random));
  }

  #usedFraction(): number {
    let [used, total] = [0, 0];
    for (const { node, used: onNode } of this.ledger.states()) {
      if (node.taints.length > 0) continue;
      used += onNode.get('cpu') ?? 0;
      total += node.allocatable.get('cpu') ?? 0;
    }
    return total > 0 ? used / total : 1;
  }

  /** What the target publishes now, if it does. */
  summary(): ClusterSummary | undefined {
    const summary = toClusterSummary(this.ledger, this.#grouper, { podsResourceVersion: `${this.#version}` });
    this.#looks += 1;
    const before = this.#published;
    if (before !== undefined && this.#looks < LOOKS_AT_SMALL && isSmallChange(before, summary)) return undefined;
    [this.#published, this.#looks] = [summary, 0];
    return summary;
  }

  #leastAllocated(requests: ResourceAmounts): NodeState | undefined {
    let best: NodeState | undefined;
    let most = -1;
    for (const state of this.ledger.states()) {
      if (state.node.taints.length > 0) continue;
      const fraction = freeFraction(state, 'cpu') + freeFraction(state, 'memory');
      if (fraction > most && fitsIn(subtractAmounts(state.node.allocatable, state.used), requests)) [best, most] =
        [state, fraction];
    }
    return best;
  }
}

function fitsIn(free: ResourceAmounts, requests: ResourceAmounts): boolean {
  return [...requests].every(([resource, requested]) => requested === 0 || requested <= (free.get(resource) ?? 0));
}

function freeFraction({ node, used }: NodeState, resource: string): number {
  const total = node.allocatable.get(resource) ?? 0;
  return total > 0 ? (total - (used.get(resource) ?? 0)) / total : 0;
}

/** Fraction of pods that their first choice took. `arrivals` has how many come in each tick. */
function simulate(
  { seed, fill }: { readonly seed: number; readonly fill: number }, arrivals: readonly number[],
): number {
  const random = new RandomSource(seed);
  const targets = Array.from({ length: TARGETS }, (_, index) => new SimulatedTarget(index, fill, random));
  const world: World = { targets, views: new TargetViews(), decisions: new EquivalenceCache() };
  for (const { key } of targets) {
    world.views.update({ ref: { kind: 'ClusterTarget', name: key }, key, nodeName: key }, undefined);
  }
  const sent: Sent[] = [];
  const count = { taken: 0, lost: 0, nobody: 0 };
  for (let tick = 0; tick < arrivals.length || sent.length > 0; tick += 1) {
    const now = tick * TICK_MS;
    if (now % SUMMARY_MS === 0) for (const target of targets) {
      const summary = target.summary();
      if (summary !== undefined) world.views.publish(target.key, summary);
    }
    for (let i = 0; i < (arrivals[tick] ?? 0); i += 1) {
      sent.push(choose(world, { uid: `${tick}-${i}`, pod: randomPod(i, random), now }));
    }
    for (const target of targets) target.churn(random, tick);
    for (let next = sent[0]; next !== undefined && next.arrivesAt <= now; next = sent[0]) {
      sent.shift();
      count[judge(world, next)] += 1;
    }
  }
  return count.taken / Math.max(1, count.taken + count.lost);
}

interface World {
  readonly targets: readonly SimulatedTarget[];
  readonly views: TargetViews;
  readonly decisions: EquivalenceCache;
}

function choose({ targets, views, decisions }: World, { uid, pod, now }: {
  readonly uid: string; readonly pod: Pod; readonly now: number
}): Sent {
  const requirements = decisions.intern(toRequirements(pod.spec));
  const decision =
    decisions.decide({ namespace: 'team-a', requirements, rejectedBy: new Map() }, views.snapshots(), views.changes);
  const target = decision.kind === 'chosen' ? targets.find(({ key }) => key === decision.target.key) : undefined;
  if (target !== undefined) views.assume(target.key, uid, requirements);
  return { uid, requirements, ...(target !== undefined && { target }), arrivesAt: now + VERDICT_MS };
}

function judge({ views, targets }: World, { uid, requirements, target }: Sent): 'taken' | 'lost' | 'nobody' {
  const version = target?.place(podOf(requirements));
  if (target !== undefined && version !== undefined) {
    views.scheduled(target.key, uid, `${version}`);
    return 'taken';
  }
  if (target !== undefined) views.release(target.key, uid);
  // room on a node is there for one pod, not for all that wait
  return targets.some((each) => each.place(podOf(requirements)) !== undefined) ? 'lost' : 'nobody';
}

function randomPod(index: number, random: RandomSource): Pod {
  const { spec: { nodeName: _none, ...spec }, ...pod } = syntheticPod(index, '', random);
  return { ...pod, spec };
}

function podOf({ requests }: NodeRequirements): Pod {
  const list = { cpu: `${requests.get('cpu') ?? 0}m`, memory: `${requests.get('memory') ?? 0}` };
  return {
    apiVersion: 'v1', kind: 'Pod', metadata: {}, spec: { containers: [{ name: 'app', resources: { requests: list } }] },
  };
}
