// Filters: which targets may get a pod. An ordered chain; the first rejection of a target counts and is reported. Work
// that depends on all targets (counts by topology domain, the next tier) is done once per pod, not once per target.
import { matchesNodeSelector } from '../../model/pod/node-selector.ts';
import { firstUntoleratedTaint, toleratesCordon } from '../../model/pod/tolerations.ts';
import { ruleAgainst } from '../snapshot/placement-rules.ts';
import { podAffinityFilter } from './pod-affinity.ts';
import { replicaShareFilter } from './replica-shares.ts';
import type { PlacementConstraints, PodToSchedule, TargetSnapshot } from '../snapshot/snapshot.ts';
import type { Rejection } from '../snapshot/rejection.ts';
import type { TargetCapacity } from '../snapshot/target-capacity.ts';
import type { NodeRequirements } from '../snapshot/node-requirements.ts';
import { tierFilter } from './tiers.ts';
import { topologySpreadFilter } from './topology-spread.ts';

/** Returns why the target is rejected, or undefined when it passes. */
export type Check = (target: TargetSnapshot) => Rejection | undefined;

/** A named filter. `prepare` returns undefined when the filter does not apply to the pod. */
export interface Filter {
  readonly name: string;
  readonly prepare: (pod: PodToSchedule, targets: readonly TargetSnapshot[]) => Check | undefined;
}

/** A filter prepared for one pod. */
export interface PreparedFilter {
  readonly name: string;
  readonly check: Check;
}

/**
 * All filters in order: the administrator's decisions, the user's constraints, the target's capacity. A Target of
 * another namespace is not reported at all: see {@link isUsableFrom}.
 */
export const FILTERS: readonly Filter[] = [
  { name: 'Policy', prepare: policy }, // placement policies allow it
  // the target is reachable and accepts our credentials
  { name: 'Available', prepare: () => ({ unavailable }) => unavailable },
  { name: 'VirtualNode', prepare: virtualNode }, // its virtual node exists and is not cordoned
  { name: 'Taints', prepare: taints }, // the pod tolerates the taints on the virtual node
  { name: 'NodeAffinity', prepare: nodeAffinity }, // nodeSelector and required affinity of the proxy pod
  // pod affinity and anti-affinity
  { name: 'PodAffinity', prepare: (pod, targets) => podAffinityFilter(pod, labelsByNode(targets)) },
  { name: 'TopologySpread', prepare: topologySpreadFilter }, // maxSkew over clusters
  { name: 'Override', prepare: override }, // the policy's patch applies to the delegate
  { name: 'Summary', prepare: () => hasSummary }, // it has published a ClusterSummary
  { name: 'NotRejected', prepare: notRejected }, // its scheduler, quota or admission has not just rejected the pod
  { name: 'Resources', prepare: resources }, // a node has free capacity for the pod now, or would after a scale-up
  { name: 'Share', prepare: replicaShareFilter }, // its part of the replicas (replica share) is not used up
  { name: 'Tier', prepare: tierFilter }, // its tier is open
];

/** The filters that apply to a pod, in order. `targets` are those that are usable from its namespace. */
export function prepareFilters(pod: PodToSchedule, targets: readonly TargetSnapshot[]): readonly PreparedFilter[] {
  const prepared: PreparedFilter[] = [];
  for (const { name, prepare } of FILTERS) {
    const check = prepare(pod, targets);
    if (check !== undefined) prepared.push({ name, check });
  }
  return prepared;
}

/**
 * Filters whose result differs between pods of one class (those with equal placement inputs: see EquivalenceCache); all
 * other results are cached until the target changes.
 */
export const UNCACHED_FILTERS: ReadonlySet<string> = new Set(['NotRejected']);

/** Whether a target serves pods of this namespace: a Target serves only its own namespace. */
export function isUsableFrom(target: TargetSnapshot, namespace: string): boolean {
  return target.ref.kind === 'ClusterTarget' || target.ref.namespace === namespace;
}

/** Labels of virtual nodes, by node name. */
export function labelsByNode(
  targets: readonly TargetSnapshot[],
): ReadonlyMap<string, Readonly<Record<string, string>>> {
  return new Map(targets.map(({ nodeName, nodeInfo }) => [nodeName, nodeInfo?.labels ?? {}]));
}

/** What the pod's delegate requires of a node of this target. */
export function requirementsIn(pod: PodToSchedule, target: TargetSnapshot): NodeRequirements {
  return pod.placement?.overridden?.get(target.key) ?? pod.requirements;
}

/** What administrators decide about a pod and a target. */
interface AllowedPod {
  readonly placement?: Pick<PlacementConstraints, 'rules' | 'constraints'>;
}

/**
 * Why administrators keep a pod away from the target that has its candidate: they may have decided so since it was
 * sent. Without a virtual node nobody can tell.
 */
export function exclusionFrom(
  placement: NonNullable<AllowedPod['placement']>, target: TargetSnapshot | undefined,
): Rejection | undefined {
  if (target?.nodeInfo?.hasNode !== true) return undefined;
  const checks = [policy, virtualNode, taints].map((prepare) => prepare({ placement }));
  return target.nodeInfo.leaving ?? checks.map((check) => check?.(target)).find((found) => found !== undefined);
}

function policy({ placement }: AllowedPod): Check | undefined {
  const rules = placement?.rules;
  if (rules === undefined || (rules.blocked === undefined && rules.require.length + rules.forbid.length === 0)) {
    return undefined;
  }
  return ({ nodeInfo }) => ruleAgainst(rules, nodeInfo);
}

/** As kube-scheduler's plugin NodeUnschedulable: a pod that tolerates the cordon's taint may go there. */
function virtualNode({ placement }: AllowedPod): Check | undefined {
  if (placement === undefined) return undefined;
  const ignoresCordon = toleratesCordon(placement.constraints.tolerations);
  return ({ nodeInfo, nodeName }) => {
    if (nodeInfo === undefined) return undefined;
    if (!nodeInfo.hasNode) return {
      reason: 'NoVirtualNode',
      message: `its virtual node ${nodeName} does not exist; check that the component virtual-node runs`,
    };
    if (!nodeInfo.cordoned || ignoresCordon) return undefined;
    return {
      reason: 'Cordoned', message: `its virtual node is cordoned; "kubectl uncordon ${nodeName}" allows pods again`,
    };
  };
}

function taints({ placement }: AllowedPod): Check | undefined {
  const tolerations = placement?.constraints.tolerations;
  if (placement === undefined) return undefined;
  return ({ nodeInfo, nodeName }) => {
    const taint = firstUntoleratedTaint(nodeInfo?.taints, tolerations);
    if (taint === undefined) return undefined;
    const text = `${taint.key}${taint.value ? `=${taint.value}` : ''}:${taint.effect}`;
    return {
      reason: 'UntoleratedTaint',
      message:
        `its virtual node ${nodeName} has taint ${text}; tolerate it in the pod's constraints for choosing a ` +
          `cluster, or remove the taint`,
    };
  };
}

function nodeAffinity({ placement }: PodToSchedule): Check | undefined {
  const { nodeSelector, affinity } = placement?.constraints ?? {};
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (nodeSelector === undefined && required === undefined) return undefined;
  const wanted = Object.entries(nodeSelector ?? {});
  return ({ nodeInfo, nodeName }) => {
    if (nodeInfo === undefined || matchesNodeSelector(
      { ...(nodeSelector && { nodeSelector }), ...(affinity && { affinity }) }, nodeInfo.labels, nodeName,
    )) return undefined;
    const missed = wanted.find(([key, value]) => nodeInfo.labels[key] !== value);
    if (missed === undefined) return {
      reason: 'NodeAffinity',
      message:
        "no term of the pod's required node affinity matches its labels; relax the affinity, or label the " +
          "ClusterTarget or Target",
    };
    const [key, value] = missed;
    const has = Object.hasOwn(nodeInfo.labels, key) ? `${key}=${nodeInfo.labels[key] ?? ''}` : `no label ${key}`;
    return {
      reason: 'NodeSelector',
      message:
        `the pod selects ${key}=${value} and it has ${has}; change the selector, or label the ClusterTarget or Target`,
    };
  };
}

function override({ placement }: PodToSchedule): Check | undefined {
  const unpatchable = placement?.unpatchable;
  if (unpatchable === undefined || unpatchable.size === 0) return undefined;
  return ({ key }) => {
    const message = unpatchable.get(key);
    return message === undefined ? undefined : { reason: 'OverrideFailed', message };
  };
}

/** Rejects a target without a ClusterSummary. One that is unavailable is left to the filter for that. */
function hasSummary(target: TargetSnapshot): Rejection | undefined {
  if (target.capacity !== undefined || target.unavailable !== undefined) return undefined;
  return {
    reason: 'NoSummary',
    message: 'it has not published a ClusterSummary; check that the delegate controller runs there',
  };
}

function notRejected({ rejectedBy }: PodToSchedule): Check | undefined {
  return rejectedBy.size === 0 ? undefined : (target) => rejectedBy.get(target.key);
}

function resources(pod: PodToSchedule): Check {
  return (target) => {
    if (target.capacity === undefined) return undefined;
    const fit = target.capacity.fit(requirementsIn(pod, target));
    if (fit.kind === 'fits' || fitsAfterScaleUp(pod, target)) return undefined;
    return {
      reason: fit.reason,
      message: headroomOf(target) === undefined
        ? fit.message
        : `${fit.message}, nor would a node that its autoscaler may add`,
    };
  };
}

/** Nodes that the target's autoscaler may add: as its object declares them, else as its nodes tell. */
function headroomOf({ nodeInfo, capacity }: TargetSnapshot): TargetCapacity | undefined {
  return nodeInfo?.headroom ?? capacity?.headroom;
}

/** Whether a node that the target's autoscaler may add fits the pod. */
export function fitsAfterScaleUp(pod: PodToSchedule, target: TargetSnapshot): boolean {
  return headroomOf(target)?.hasRoomFor(requirementsIn(pod, target)) ?? false;
}
