// The screen of what is in progress between targets, as the objects of the source show it: rollouts, moves,
// drains, and pods that a lost target has driven away.
import type { PlacementPolicy } from '../../api/kinds/placement-policy.ts';
import { MOVE_LABEL, TRUE } from '../../api/objects/keys.ts';
import { targetOverviews, nodeOf } from '../../cli/get/target-table.ts';
import { shortTargetName } from '../../model/naming/target-ref.ts';
import { objectKey } from '../../model/pod/pod.ts';
import { expiryOf } from '../../scheduler/policies/move-expiry.ts';
import { selectsPod, toKnownPolicy } from '../../scheduler/snapshot/placement-rules.ts';
import { HOST_NAME_LABEL } from '../../scheduler/snapshot/virtual-node-info.ts';
import type { Drain, Failback, PodMove, Revision, Rollout } from '../wire/placement-rows.ts';
import type { MovesScreen } from '../wire/screens.ts';
import { selectsText, type SeenPolicies } from './policies-view.ts';
import { MOST_ROWS } from './pod-lists.ts';
import { unreadableIn, knownRecords } from './reading.ts';
import type { SeenPod } from './seen-pod.ts';
import { targetsOf, type SeenSource } from './targets-view.ts';

/** Labels of the controllers of `apps/v1` with the revision of a pod. */
const REVISION_LABELS = ['pod-template-hash', 'controller-revision-hash'] as const;
const MOST_WORKLOADS = 5;

/** The screen; undefined until everything was read once. */
export function movesScreen(source: SeenSource, { policies }: SeenPolicies): MovesScreen | undefined {
  const { clusterTargets, targets, nodes, pods, namespace } = source;
  if ([policies, clusterTargets, targets, nodes, pods].some(({ kind }) => kind === 'reading')) return undefined;
  const known = knownRecords(pods)?.filter(({ status }) => status !== 'Succeeded' && status !== 'Failed');
  const parts = {
    rollouts: rolloutsOf(known ?? []), moves: movesOf(source, knownRecords(policies) ?? [], known),
    drains: drainsOf(source, known), failbacks: failbacksOf(source, known ?? []),
  };
  return {
    screen: 'moves', rollouts: parts.rollouts.slice(0, MOST_ROWS), moves: parts.moves.slice(0, MOST_ROWS),
    drains: parts.drains.slice(0, MOST_ROWS), failbacks: parts.failbacks.slice(0, MOST_ROWS),
    total: Object.values(parts).reduce((sum, { length }) => sum + length, 0),
    unreadable: [
      ...unreadableIn({ clustertargets: clusterTargets, nodes }, undefined),
      ...unreadableIn({ placementpolicies: policies, targets, pods }, namespace),
    ],
  };
}

function rolloutsOf(pods: readonly SeenPod[]): readonly Rollout[] {
  const workloads = grouped(pods, ({ namespace, workload, labels }) => (
    revisionOf(labels) === undefined ? [] : [`${namespace}/${workload}`]
  ));
  return [...workloads.values()].flatMap((group): Rollout[] => {
    const revisions = grouped(group, ({ labels }) => [revisionOf(labels) ?? '']);
    const [{ namespace, workload }] = group;
    if (revisions.size < 2) return [];
    const newestFirst = [...revisions].map(([hash, ones]) => toRevision(hash, ones))
      .toSorted((one, other) => (rank(one) < rank(other) ? 1 : -1));
    return [{ namespace, workload, revisions: newestFirst }];
  }).toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
}

function revisionOf(labels: SeenPod['labels']): string | undefined {
  return REVISION_LABELS.map((label) => labels[label]).find((hash) => hash !== undefined);
}

function toRevision(hash: string, pods: readonly SeenPod[]): Revision {
  return {
    hash, pods: pods.length, ready: pods.filter(({ isReady }) => isReady).length,
    createdAt: pods.map(({ createdAt }) => createdAt).toSorted().at(-1) ?? '',
  };
}

function rank({ createdAt, hash }: Revision): string {
  return `${createdAt} ${hash}`;
}

function nameOf({ namespace, workload }: Rollout): string {
  return `${namespace}/${workload}`;
}

function movesOf(
  source: SeenSource, policies: readonly PlacementPolicy[], pods: readonly SeenPod[] | undefined,
): readonly PodMove[] {
  const names = new Map(targetsOf(source).map((target) => [nodeOf(target), objectKey(target.metadata)]));
  return policies.filter(({ metadata }) => metadata.labels?.[MOVE_LABEL] === TRUE).map((policy) => {
    const { namespace = '', name = '', creationTimestamp = '' } = policy.metadata;
    const known = toKnownPolicy(policy);
    const node = policy.spec.require?.matchLabels?.[HOST_NAME_LABEL] ?? '';
    const selected = pods?.filter((pod) => selectsPod(known, pod, new Map()));
    const onTarget = selected?.filter(({ nodeName }) => nodeName === node).length;
    return {
      namespace, policy: name, selects: selectsText(known), target: names.get(node) ?? node, onTarget,
      elsewhere: selected && selected.length - (onTarget ?? 0), since: creationTimestamp,
      expiresAt: timeText(expiryOf(policy.metadata)),
    };
  }).toSorted((one, other) => (one.policy < other.policy ? -1 : 1));
}

function timeText(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString();
}

function drainsOf(source: SeenSource, pods: readonly SeenPod[] | undefined): readonly Drain[] {
  const byNode = pods && grouped(pods, ({ nodeName }) => (nodeName === undefined ? [] : [nodeName]));
  return targetOverviews(targetsOf(source), { pods: undefined, nodes: knownRecords(source.nodes) }).flatMap(
    ({ target, name, node, isCordoned }): Drain[] => {
      const isRemoved = target.metadata.deletionTimestamp !== undefined;
      if (!isCordoned && !isRemoved) return [];
      const onTarget = byNode && (byNode.get(node) ?? []);
      const terminating = onTarget?.filter(({ status }) => status === 'Terminating').length;
      return [{ target: name, isRemoved, pods: onTarget?.length, terminating }];
    },
  );
}

function failbacksOf(source: SeenSource, pods: readonly SeenPod[]): readonly Failback[] {
  const overviews = targetOverviews(targetsOf(source), { pods: undefined, nodes: undefined });
  const byKey: ReadonlyMap<string, (typeof overviews)[number]> = new Map(overviews.map((overview) => (
    [`${overview.target.metadata.namespace === undefined ? 'ClusterTarget' : 'Target'}/${overview.name}`, overview]
  )));
  const away = grouped(pods, ({ nodeName, status, lostTargets = [] }) => (
    nodeName === undefined || status === 'Terminating' ? []
      : lostTargets.filter((key) => byKey.get(key)?.node !== nodeName)
  ));
  return [...away].map(([key, ones]): Failback => {
    const state = byKey.get(key)?.state;
    const workloads = [...new Set(ones.map(({ namespace, workload }) => `${namespace}/${workload}`))];
    return {
      target: shortTargetName(key), pods: ones.length,
      isReady: state === undefined ? undefined : state === 'Ready',
      workloads: workloads.toSorted().slice(0, MOST_WORKLOADS),
    };
  }).toSorted((one, other) => (one.target < other.target ? -1 : 1));
}

/** The things by each of their keys, in the order in which they are given. */
function grouped<T>(things: readonly T[], keysOf: (thing: T) => readonly string[]): Map<string, [T, ...T[]]> {
  const groups = new Map<string, [T, ...T[]]>();
  for (const thing of things) for (const key of keysOf(thing)) {
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [thing]);
    else group.push(thing);
  }
  return groups;
}
