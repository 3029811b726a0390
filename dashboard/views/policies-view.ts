// The screen of placement policies: which pods each one is for now, and which targets it leaves to them.
import type { ClusterPlacementPolicy, PlacementPolicy } from '../../api/kinds/placement-policy.ts';
import type { Condition, Namespace, StringMap } from '../../api/objects/core.ts';
import { nodeOf } from '../../cli/get/target-table.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import { formatSelector } from '../../model/objects/label-selector.ts';
import { objectKey } from '../../model/pod/pod.ts';
import { exclusionBy } from '../../scheduler/policies/policy-reach.ts';
import { selectsPod, toKnownPolicy, type KnownPolicy } from '../../scheduler/snapshot/placement-rules.ts';
import { toTargetLabels, type TargetLabels } from '../../scheduler/snapshot/virtual-node-info.ts';
import type { Filters } from '../wire/routes.ts';
import type { PolicyRow } from '../wire/placement-rows.ts';
import type { PoliciesScreen } from '../wire/screens.ts';
import { MOST_ROWS } from './pod-lists.ts';
import { unreadableIn, knownRecords, type Reading } from './reading.ts';
import type { SeenPod } from './seen-pod.ts';
import { targetsOf, type SeenSource } from './targets-view.ts';

type AnyPolicy = PlacementPolicy | ClusterPlacementPolicy;

/** Of a policy without conditions. */
const UNREAD: Pick<Condition, 'status' | 'reason' | 'message'> =
  { status: 'Unknown', reason: 'Unknown', message: 'the scheduler has not read it yet; see "isthmus status"' };

/** Policies as the viewer may read them. */
export interface SeenPolicies {
  readonly policies: Reading<PlacementPolicy>;
  readonly clusterPolicies: Reading<ClusterPlacementPolicy>;
  /** Their labels are what cluster policies select by. */
  readonly namespaces: Reading<Namespace>;
}

/** The screen; undefined until everything was read once. */
export function policiesScreen(
  source: SeenSource, { policies, clusterPolicies, namespaces }: SeenPolicies, { namespace, text = '' }: Filters,
): PoliciesScreen | undefined {
  const { clusterTargets, targets, nodes, pods } = source;
  const readings = [policies, clusterPolicies, namespaces, clusterTargets, targets, nodes, pods];
  if (readings.some(({ kind }) => kind === 'reading')) return undefined;
  const seen: readonly AnyPolicy[] = [...(knownRecords(policies) ?? []), ...(knownRecords(clusterPolicies) ?? [])];
  const rows = seen.filter(({ metadata }) => objectKey(metadata).toLowerCase().includes(text.toLowerCase()))
    .toSorted((one, other) => (objectKey(one.metadata) < objectKey(other.metadata) ? -1 : 1));
  const labels = knownRecords(namespaces)?.map(({ metadata }) => [metadata.name ?? '', metadata.labels ?? {}] as const);
  const context = {
    pods: knownRecords(pods), targets: labelledTargets(source), namespaces: labels && new Map(labels),
  };
  const isSelecting = rows.some(({ spec }) => spec.namespaceSelector !== undefined);
  return {
    screen: 'policies', rows: rows.slice(0, MOST_ROWS).map((policy) => policyRow(policy, context)), total: rows.length,
    unreadable: [
      ...unreadableIn({ placementpolicies: policies }, namespace),
      ...unreadableIn({
        clusterplacementpolicies: clusterPolicies, ...(isSelecting && { namespaces }), clustertargets: clusterTargets,
        nodes,
      }, undefined),
      ...unreadableIn({ targets, pods }, namespace),
    ],
  };
}

/** What a policy is compared with; what is missing cannot be read. */
interface PolicyContext {
  readonly pods: readonly SeenPod[] | undefined;
  readonly targets: readonly LabelledTarget[] | undefined;
  readonly namespaces: ReadonlyMap<string, StringMap> | undefined;
}

interface LabelledTarget {
  /** `NAME`, or `NAMESPACE/NAME` of a Target. */
  readonly name: string;
  readonly namespace: string | undefined;
  readonly labels: TargetLabels;
}

/** Targets with a virtual node: nothing is known of the labels of others. Undefined where nodes cannot be read. */
function labelledTargets(source: SeenSource): readonly LabelledTarget[] | undefined {
  const nodes = knownRecords(source.nodes);
  if (nodes === undefined) return undefined;
  const byName = new Map(nodes.map((node) => [node.metadata.name, node]));
  return targetsOf(source).flatMap((target) => {
    const { metadata } = target;
    const nodeName = nodeOf(target);
    const node = byName.get(nodeName);
    if (node === undefined) return [];
    const kind = metadata.namespace === undefined ? 'ClusterTarget' : 'Target';
    const labels = toTargetLabels({ kind, nodeName, node, labels: metadata.labels ?? {} });
    return [{ name: objectKey(metadata), namespace: metadata.namespace, labels }];
  }).toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

function policyRow(policy: AnyPolicy, context: PolicyContext): PolicyRow {
  const { namespace, name = '' } = policy.metadata;
  const known = toKnownPolicy(policy);
  const [isValid, selected] = [known.problem === undefined, selectedBy(known, context)];
  return {
    kind: namespace === undefined ? 'ClusterPlacementPolicy' : 'PlacementPolicy', namespace, name,
    ...stateOf(policy, known.problem), selects: selectsText(known), rules: isValid ? rulesText(known) : [],
    pods: selected?.length, namespaces: selected && new Set(selected.map((pod) => pod.namespace)).size,
    ...(isValid && targetFields(known, context)),
  };
}

/** What the scheduler says of a policy; an invalid one may not have been read yet. */
function stateOf(
  { status }: AnyPolicy, problem: string | undefined,
): Pick<PolicyRow, 'state' | 'isReady' | 'message'> {
  if (problem !== undefined) return { state: 'Invalid', isReady: false, message: problem };
  const { status: isReady, reason, message } = findCondition(status?.conditions, 'Ready') ?? UNREAD;
  return isReady === 'True' ? { state: 'Ready', isReady: true, message }
    : { state: reason ?? 'Unknown', isReady: false, message };
}

/** Undefined where pods, or the labels that they are selected by, cannot be read. */
function selectedBy(policy: KnownPolicy, { pods, namespaces }: PolicyContext): readonly SeenPod[] | undefined {
  const isUnknown = policy.namespace === undefined && policy.spec.namespaceSelector !== undefined
    && namespaces === undefined;
  return isUnknown ? undefined : pods?.filter((pod) => selectsPod(policy, pod, namespaces ?? new Map()));
}

function targetFields(policy: KnownPolicy, { targets }: PolicyContext): Pick<PolicyRow, 'excluded' | 'left'> {
  const concerned = targets?.filter(({ namespace }) => (
    namespace === undefined || policy.namespace === undefined || namespace === policy.namespace
  ));
  const excluded = concerned?.flatMap(({ name, labels }) => {
    const rejection = exclusionBy(policy, labels);
    return rejection === undefined ? [] : [{ target: name, ...rejection }];
  });
  const out = new Set(excluded?.map(({ target }) => target));
  return { excluded, left: concerned?.map(({ name }) => name).filter((name) => !out.has(name)) };
}

/** Which pods a policy is for: `pods with app=web in namespaces with team=a`. */
export function selectsText({ namespace, spec }: KnownPolicy): string {
  const { podSelector, namespaceSelector } = spec;
  const pods = podSelector === undefined ? 'all pods' : `pods with ${formatSelector(podSelector)}`;
  if (namespace !== undefined || namespaceSelector === undefined) return pods;
  return `${pods} in namespaces with ${formatSelector(namespaceSelector)}`;
}

function rulesText({ spec }: KnownPolicy): readonly string[] {
  const { require, forbid, tiers, replicas, spread, weights, overrides, failover, failback } = spec;
  const given = (value: unknown, text: string) => (value === undefined ? [] : [text]);
  return [
    ...given(require, `requires targets with ${formatSelector(require ?? {})}`),
    ...given(forbid, `forbids targets with ${formatSelector(forbid ?? {})}`),
    ...given(tiers, `tiers: ${tiers?.map(({ targets }) => formatSelector(targets)).join(', then ')}`),
    ...given(replicas, `shares: ${replicas?.shares.map(({ targets }) => formatSelector(targets)).join('; ')}`),
    ...given(spread, `spreads over ${spread?.map(({ topologyKey }) => topologyKey).join(', ')}`),
    ...given(weights, `weights: ${Object.entries(weights ?? {}).map((pair) => pair.join(' ')).join(', ')}`),
    ...given(overrides, `overrides pods in ${overrides?.map(({ targets }) => formatSelector(targets)).join('; ')}`),
    ...given(failover, `failover: ${failover}`), ...given(failback, `failback: ${failback}`),
  ];
}
