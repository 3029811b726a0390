// Scores in [0,1] of a target for a pod, and their weighted mean. Work that depends on all targets (the lowest price,
// counts by topology domain) is done once per pod.
import type { ScoreName } from '../../api/kinds/placement-policy.ts';
import { CPU, PODS, type ResourceAmounts } from '../../model/resources/resources.ts';
import { matchesNodeSelectorTerm } from '../../model/pod/node-selector.ts';
import { labelsByNode, requirementsIn } from './filters.ts';
import { podPreference } from './pod-affinity.ts';
import { DEFAULT_WEIGHTS } from '../snapshot/default-weights.ts';
import type { PodToSchedule, TargetSnapshot } from '../snapshot/snapshot.ts';
import type { TargetCapacity } from '../snapshot/target-capacity.ts';
import { spreadCount } from './topology-spread.ts';

/** Score of one target, in [0,1]. */
export type Score = (target: TargetSnapshot) => number;

/** A score prepared for one pod. */
export interface PreparedScore {
  readonly name: ScoreName;
  readonly weight: number;
  readonly score: Score;
}

type Prepare = (pod: PodToSchedule, targets: readonly TargetSnapshot[]) => Score | undefined;

/** Prepares each score; undefined when it does not apply to a pod. `targets` are the feasible ones. */
const SCORES: Readonly<Record<ScoreName, Prepare>> = {
  leastAllocated: (pod) => (target) => (
    target.capacity === undefined
      ? 0
      : leastAllocated(target.capacity, requirementsIn(pod, target).requests) * spareNodesFactor(pod, target)
  ),
  mostAllocated: (pod) => (target) =>
    (target.capacity === undefined ? 0 : 1 - leastAllocated(target.capacity, requirementsIn(pod, target).requests)),
  balanced: (pod) =>
    (target) => (target.capacity === undefined ? 0 : balanced(target.capacity, requirementsIn(pod, target).requests)),
  gpuForGpuPods: (pod) => (target) => gpuForGpuPods(pod, target),
  preferredAffinity,
  spread: (pod, targets) => lowestFirst(spreadCount(pod, targets), targets),
  rtt: () =>
    ({ nodeInfo: { rttMs } = {} }) =>
      (rttMs === undefined ? 0 : HALF_AT_RTT_MS / (HALF_AT_RTT_MS + Math.max(0, rttMs))),
  cost,
  locality: (pod) => (target) => locality(pod, target),
};

/** The round trip that scores one half, in ms: between a neighbouring region and another continent. */
const HALF_AT_RTT_MS = 50;

/** The scores that apply to a pod. */
export function prepareScores(pod: PodToSchedule, targets: readonly TargetSnapshot[]): readonly PreparedScore[] {
  const weights = pod.placement?.weights ?? DEFAULT_WEIGHTS;
  const prepared: PreparedScore[] = [];
  for (const [name, prepare] of Object.entries(SCORES) as [ScoreName, Prepare][]) {
    const weight = weights[name];
    const score = weight > 0 ? prepare(pod, targets) : undefined;
    if (score !== undefined) prepared.push({ name, weight, score });
  }
  return prepared;
}

/** Weighted mean of the scores, in [0,1]; 0 when none applies. */
export function weightedMean(scores: readonly PreparedScore[], target: TargetSnapshot): number {
  let [sum, weights] = [0, 0];
  for (const { weight, score } of scores) {
    sum += weight * score(target);
    weights += weight;
  }
  return weights === 0 ? 0 : Math.round((sum / weights) * ROUNDING) / ROUNDING;
}

/**
 * Means are rounded to this fraction, so that the order of additions makes no difference. A power of 2, so that
 * rounding is exact.
 */
const ROUNDING = 2 ** 40;

const ALWAYS_SCORED = [CPU, 'memory'];

/**
 * Fraction of the target that would stay free with the pod on it: the mean over CPU, memory and every other resource
 * that the pod requests (kube-scheduler's `NodeResourcesFit` with LeastAllocated, over the whole target).
 */
export function leastAllocated(capacity: TargetCapacity, requests: ResourceAmounts): number {
  let [sum, count] = [0, 0];
  const add = (resource: string) => {
    sum += freeFraction(capacity, requests, resource);
    count += 1;
  };
  for (const resource of ALWAYS_SCORED) add(resource);
  for (const resource of requests.keys()) if (resource !== PODS && !ALWAYS_SCORED.includes(resource)) add(resource);
  return sum / count;
}

/** From this number of fitting nodes on, one more makes no difference. */
const ENOUGH_NODES = 4;

/**
 * From ½ when no node fits the pod to 1 when four or more do. Between decision and verdict the target's own pods may
 * take a free node unseen; with a second and a third one the pod still fits (P5, docs/results/benchmarks.md).
 */
function spareNodesFactor(pod: PodToSchedule, target: TargetSnapshot): number {
  const nodes = target.capacity?.nodesFor(requirementsIn(pod, target), ENOUGH_NODES) ?? ENOUGH_NODES;
  return (1 + nodes / ENOUGH_NODES) / 2;
}

/** Free fraction of each scored resource, in [0,1], with the pod on the target. */
function freeFractions(capacity: TargetCapacity, requests: ResourceAmounts): readonly number[] {
  const resources = new Set([...ALWAYS_SCORED, ...requests.keys()]);
  resources.delete(PODS);
  return [...resources].map((resource) => freeFraction(capacity, requests, resource));
}

function freeFraction(capacity: TargetCapacity, requests: ResourceAmounts, resource: string): number {
  const total = capacity.allocatable.get(resource) ?? 0;
  const left = (capacity.free.get(resource) ?? 0) - (requests.get(resource) ?? 0);
  // a target that reports more free than allocatable gains nothing
  return total > 0 ? Math.min(Math.max(0, left) / total, 1) : 0;
}

/**
 * How evenly resources would be used: 1 when all are used alike (kube-scheduler's `NodeResourcesBalancedAllocation`,
 * dominant against least).
 */
function balanced(capacity: TargetCapacity, requests: ResourceAmounts): number {
  const fractions = freeFractions(capacity, requests);
  return 1 - (Math.max(...fractions) - Math.min(...fractions));
}

const IS_GPU = /(?:^|[/.-])gpu(?:$|[.-])|\/mig-/;

/** 0 for a pod that requests no GPU on a target that has some, so that GPUs stay free for others; 1 otherwise. */
function gpuForGpuPods(pod: PodToSchedule, target: TargetSnapshot): number {
  const wantsGpu = hasGpu(requirementsIn(pod, target).requests);
  return !wantsGpu && target.capacity !== undefined && hasGpu(target.capacity.allocatable) ? 0 : 1;
}

function hasGpu(amounts: ResourceAmounts): boolean {
  for (const [resource, amount] of amounts) {
    if (amount > 0 && IS_GPU.test(resource)) return true;
  }
  return false;
}

/** Preferred node affinity and pod (anti-)affinity, normalized from 0 for the lowest sum to 1 for the highest. */
function preferredAffinity(pod: PodToSchedule, targets: readonly TargetSnapshot[]): Score | undefined {
  const terms = pod.placement?.constraints.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution
    ?? [];
  const near = podPreference(pod, labelsByNode(targets));
  if (terms.length === 0 && near === undefined) return undefined;
  const preference = (target: TargetSnapshot) => {
    const labels = target.nodeInfo?.labels ?? {};
    const byNode = terms.reduce(
      (sum, { weight, preference: term }) =>
        sum + (matchesNodeSelectorTerm(term, labels, target.nodeName) ? weight : 0),
      0,
    );
    return byNode + (near?.(target) ?? 0);
  };
  return lowestFirst((target) => -preference(target), targets);
}

/** 1 for the targets with the lowest value, 0 for those with the highest; Infinity scores 0. */
function lowestFirst(valueOf: Score | undefined, targets: readonly TargetSnapshot[]): Score | undefined {
  if (valueOf === undefined) return undefined;
  let [least, most] = [Infinity, -Infinity];
  for (const target of targets) {
    const value = valueOf(target);
    if (value === Infinity) continue;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return (target) => {
    const value = valueOf(target);
    if (value === Infinity) return 0;
    return most > least ? Math.min(1, Math.max(0, (most - value) / (most - least))) : 1;
  };
}

/** The lowest price of the pod divided by the price here; a target without prices scores 0, a free one 1. */
function cost(pod: PodToSchedule, targets: readonly TargetSnapshot[]): Score {
  let cheapest = Infinity;
  for (const target of targets) cheapest = Math.min(cheapest, priceOf(pod, target) ?? Infinity);
  return (target) => {
    const price = priceOf(pod, target);
    if (price === undefined) return 0;
    return price <= cheapest ? 1 : cheapest / price;
  };
}

/** Price of the pod per hour on a target; undefined when nothing that the pod requests has a price there. */
export function priceOf(pod: PodToSchedule, target: TargetSnapshot): number | undefined {
  const prices = target.nodeInfo?.prices;
  if (prices === undefined) return undefined;
  const { requests } = requirementsIn(pod, target);
  let sum: number | undefined;
  for (const [resource, price] of prices) {
    const amount = requests.get(resource) ?? 0;
    if (amount > 0) sum = (sum ?? 0) + price * amount;
  }
  return sum;
}

/** Distance between target and source: 1 for the source itself, ¾ in its zone, ½ in its region, else 0. */
function locality({ placement }: PodToSchedule, { nodeInfo }: TargetSnapshot): number {
  if (nodeInfo?.isSelf === true) return 1;
  const { region, zone } = placement?.location ?? {};
  const isIn = (key: string, value: string | undefined) => value !== undefined && nodeInfo?.labels[key] === value;
  if (isIn('topology.kubernetes.io/zone', zone)) return 0.75;
  return isIn('topology.kubernetes.io/region', region) ? 0.5 : 0;
}
