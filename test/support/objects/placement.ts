// What placement is decided by, built from small changes, for tests of filters, scores and policies.
import type { ResourceList, StringMap, Taint } from '../../../api/objects/core.ts';
import type { PlacementPolicySpec } from '../../../api/kinds/placement-policy.ts';
import type { ClusterConstraints } from '../../../model/proxy/proxy-pod.ts';
import { parseResourceList } from '../../../model/resources/resources.ts';
import type { PodClass } from '../../../scheduler/snapshot/placed-pods.ts';
import {
  NO_RULES, rulesFor, toKnownPolicy, type KnownPolicy, type PlacementRules, type PolicyIndex,
} from '../../../scheduler/snapshot/placement-rules.ts';
import type { ScoreWeights } from '../../../model/proxy/score-weights.ts';
import { mergeWeights } from '../../../scheduler/snapshot/default-weights.ts';
import type { PlacementConstraints, PodToSchedule, TargetSnapshot } from '../../../scheduler/snapshot/snapshot.ts';
import { toVirtualNodeInfo, type NodeInfoSources } from '../../../scheduler/snapshot/virtual-node-info.ts';
import { aTarget, withNodes, type Change } from './builders.ts';

/** A pod of team-a labelled `app: web` that asks for little; `wishes` change what it is placed by. */
export function aPodWithConstraints(
  placement: Partial<Omit<PlacementConstraints, 'weights'>> & { readonly weights?: Partial<ScoreWeights> } = {},
  requests: ResourceList = { cpu: '1' },
): PodToSchedule {
  return {
    namespace: 'team-a',
    requirements: { requests: parseResourceList({ pods: '1', ...requests }).amounts },
    rejectedBy: new Map(),
    placement: {
      labels: { app: 'web' }, constraints: {}, rules: NO_RULES,
      waitedSeconds: 0, placed: [], namespaces: new Map([['team-a', { team: 'a' }], ['team-b', { team: 'b' }]]),
      ...placement,
      weights: mergeWeights(placement.weights),
    },
  };
}

/** The pod with these constraints. */
export const constrained = (constraints: ClusterConstraints) => aPodWithConstraints({ constraints });

/** A target with a virtual node; `labels` are those of its object. */
export function aPlace(name: string, labels: StringMap = {}, ...changes: Change<TargetSnapshot>[]): TargetSnapshot {
  return aTarget(name, withNodeInfo({ labels }), ...changes);
}

/** Changes what the nodeInfo are put together from. */
export function withNodeInfo(
  sources: Partial<NodeInfoSources> & { readonly taints?: readonly Taint[]; readonly cordoned?: boolean },
): Change<TargetSnapshot> {
  return (target) => {
    const { taints = [], cordoned = false, ...rest } = sources;
    const node = {
      metadata: { labels: { 'virtual-kubelet.io/provider': 'admiralty' } }, spec: { taints, unschedulable: cordoned },
    };
    return {
      ...target,
      nodeInfo: toVirtualNodeInfo({
        nodeName: target.nodeName, node, labels: target.nodeInfo?.labels ?? {}, spec: {}, ...rest,
      }),
    };
  };
}

/** No node has room. */
export const full = (): Change<TargetSnapshot> => withNodes({ cpu: '0', memory: '0', pods: '0' });

/** Pods of one kind, by the name of their target. */
export function placed(
  byTarget: Readonly<Record<string, number>>, change: Partial<Omit<PodClass, 'byNode'>> = {},
): PodClass {
  const byNode = new Map(Object.entries(byTarget).map(([name, count]) => [`admiralty-${name}`, count]));
  return { namespace: 'team-a', labels: { app: 'web' }, terminating: false, ...change, byNode };
}

/** A policy of team-a. */
export function aPolicy(spec: PlacementPolicySpec, name = 'p'): KnownPolicy {
  return toKnownPolicy({ metadata: { namespace: 'team-a', name }, spec });
}

/** A policy of the cluster. */
export function aClusterPolicy(spec: PlacementPolicySpec, name = 'cp'): KnownPolicy {
  return toKnownPolicy({ metadata: { name }, spec });
}

/** A policy index that is complete. */
export function aPolicyIndex(...policies: readonly KnownPolicy[]): PolicyIndex {
  return { isComplete: true, policies, namespaces: new Map([['team-a', { team: 'a' }], ['team-b', { team: 'b' }]]) };
}

/** The rules that one policy of team-a makes for all of its pods. */
export function rulesOf(spec: PlacementPolicySpec): PlacementRules {
  return rulesFor({ namespace: 'team-a', labels: {} }, aPolicyIndex(aClusterPolicy(spec)));
}
