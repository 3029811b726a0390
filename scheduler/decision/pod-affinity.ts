// Inter-pod affinity and anti-affinity over virtual nodes instead of nodes, as in kube-scheduler's plugin
// InterPodAffinity: required terms of the pod, required anti-affinity of existing pods, preferred terms of the pod. As
// there, a pod counts for a required affinity when all terms mean it, and for anti-affinity when one does. A topology
// domain is the set of virtual nodes with one value of a label: one cluster, or the clusters of one region.
import type { StringMap } from '../../api/objects/core.ts';
import type { PodAffinityTerm } from '../../api/objects/affinity.ts';
import { formatSelector, matchesLabelSelector, withLabelKeys } from '../../model/objects/label-selector.ts';
import { labelOf } from '../../model/pod/node-selector.ts';
import type { PodClass } from '../snapshot/placed-pods.ts';
import type { PlacementConstraints, PodToSchedule, TargetSnapshot } from '../snapshot/snapshot.ts';
import type { Rejection } from '../snapshot/rejection.ts';

/** The pod that a term belongs to. */
interface TermOwner {
  readonly namespace: string;
  readonly labels: StringMap;
}

/** A term with its number of matching pods in each domain. */
interface CountedTerm {
  readonly term: PodAffinityTerm;
  readonly byDomain: ReadonlyMap<string, number>;
}

/** Labels by virtual node. */
export type NodeLabels = ReadonlyMap<string, StringMap>;

/** Whether a term of `owner` selects a pod with these labels in this namespace. */
function means(
  term: PodAffinityTerm, owner: TermOwner, pod: TermOwner, namespaces: PlacementConstraints['namespaces'],
): boolean {
  const selector = withLabelKeys(
    withLabelKeys(term.labelSelector, term.matchLabelKeys, owner.labels), term.mismatchLabelKeys, owner.labels, 'NotIn',
  );
  return isInNamespaces(term, owner, pod.namespace, namespaces) && matchesLabelSelector(selector, pod.labels);
}

function isInNamespaces(
  { namespaces = [], namespaceSelector }: PodAffinityTerm, owner: TermOwner, namespace: string,
  known: PlacementConstraints['namespaces'],
): boolean {
  if (namespaces.length === 0 && namespaceSelector === undefined) return namespace === owner.namespace;
  return namespaces.includes(namespace) || matchesLabelSelector(namespaceSelector, known.get(namespace) ?? {});
}

/** Counts for each term the pods that all of the terms mean: those of one required affinity, or one term alone. */
function countTerms(
  terms: readonly PodAffinityTerm[], owner: TermOwner, placement: PlacementConstraints, nodes: NodeLabels,
): readonly CountedTerm[] {
  const counted = terms.map((term) => ({ term, byDomain: new Map<string, number>() }));
  if (counted.length === 0) return counted;
  for (const placed of placement.placed) {
    if (!terms.every((term) => means(term, owner, placed, placement.namespaces))) continue;
    for (const { term, byDomain } of counted) addDomains(byDomain, placed, term.topologyKey, nodes);
  }
  return counted;
}

function addDomains(byDomain: Map<string, number>, { byNode }: PodClass, topologyKey: string, nodes: NodeLabels): void {
  for (const [nodeName, count] of byNode) {
    const domain = labelOf(nodes.get(nodeName) ?? {}, topologyKey);
    if (domain !== undefined) byDomain.set(domain, (byDomain.get(domain) ?? 0) + count);
  }
}

/** The filter for a pod, or undefined when no term of the pod or of an existing pod applies. */
export function podAffinityFilter(pod: PodToSchedule, nodes: NodeLabels): (
  (target: TargetSnapshot) => Rejection | undefined
) | undefined {
  const { placement } = pod;
  if (placement === undefined) return undefined;
  const owner = { namespace: pod.namespace, labels: placement.labels };
  const { podAffinity, podAntiAffinity } = placement.constraints.affinity ?? {};
  const affinityTerms = podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  const affinity = countTerms(affinityTerms, owner, placement, nodes);
  const antiAffinity = (podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).flatMap(
    (term) => countTerms([term], owner, placement, nodes),
  );
  const excluded = excludedDomains(owner, placement, nodes);
  if (affinity.length + antiAffinity.length + excluded.size === 0) return undefined;
  // The first pod of a self-affine group is allowed: no matching pod exists yet, and the pod matches its own term.
  const isFirst =
    affinity.every(({ term, byDomain }) => byDomain.size === 0 && means(term, owner, owner, placement.namespaces));
  return ({ nodeName }) => {
    const labels = nodes.get(nodeName) ?? {};
    return affinityRejection(affinity, labels, isFirst)
      ?? antiAffinityRejection(antiAffinity, labels)
      ?? existingPodRejection(excluded, labels);
  };
}

function affinityRejection(
  affinity: readonly CountedTerm[], labels: StringMap, isFirst: boolean,
): Rejection | undefined {
  for (const { term, byDomain } of affinity) {
    const domain = labelOf(labels, term.topologyKey);
    if (domain === undefined) return missingKey(term.topologyKey, 'pod affinity');
    if (isFirst || (byDomain.get(domain) ?? 0) > 0) continue;
    return {
      reason: 'PodAffinity',
      message:
        `no pod with ${[...new Set(affinity.map((each) => describeTerm(each.term)))].join(' and ')} is in ` +
          `${term.topologyKey}=${domain}; relax the pod's podAffinity, or place such a pod there first`,
    };
  }
  return undefined;
}

/** Matching pods in the domain of these labels; 0 where the label is missing. */
function countIn({ term, byDomain }: CountedTerm, labels: StringMap): number {
  const domain = labelOf(labels, term.topologyKey);
  return domain === undefined ? 0 : (byDomain.get(domain) ?? 0);
}

function antiAffinityRejection(antiAffinity: readonly CountedTerm[], labels: StringMap): Rejection | undefined {
  for (const counted of antiAffinity) {
    const { term } = counted;
    const count = countIn(counted, labels);
    if (count > 0) return {
      reason: 'PodAntiAffinity',
      message:
        `${count} ${count === 1 ? 'pod' : 'pods'} with ${describeTerm(term)} ${count === 1 ? 'is' : 'are'} in ` +
          `${term.topologyKey}=${labels[term.topologyKey]}; relax the pod's podAntiAffinity, or add a target elsewhere`,
    };
  }
  return undefined;
}

/** `key=value` of the domains that existing pods exclude by their required anti-affinity. */
function excludedDomains(owner: TermOwner, placement: PlacementConstraints, nodes: NodeLabels): ReadonlySet<string> {
  const excluded = new Set<string>();
  for (const placed of placement.placed) {
    for (const term of placed.antiAffinity ?? []) {
      if (!means(term, placed, owner, placement.namespaces)) continue;
      for (const nodeName of placed.byNode.keys()) {
        const domain = labelOf(nodes.get(nodeName) ?? {}, term.topologyKey);
        if (domain !== undefined) excluded.add(`${term.topologyKey}=${domain}`);
      }
    }
  }
  return excluded;
}

function existingPodRejection(excluded: ReadonlySet<string>, labels: StringMap): Rejection | undefined {
  for (const domain of excluded) {
    const split = domain.indexOf('=');
    if (labels[domain.slice(0, split)] !== domain.slice(split + 1)) continue;
    return {
      reason: 'ExistingPodAntiAffinity',
      message:
        `a pod in ${domain} has a podAntiAffinity that matches this pod; change the podAntiAffinity of that pod, or ` +
          'the labels of this one',
    };
  }
  return undefined;
}

/** Why a target without the topology label is rejected. */
export function missingKey(topologyKey: string, what: string): Rejection {
  return {
    reason: 'MissingTopologyKey',
    message: `it has no label ${topologyKey}, which the pod's ${what} needs; label its ClusterTarget or Target`,
  };
}

function describeTerm({ labelSelector }: PodAffinityTerm): string {
  return labelSelector === undefined ? 'no labels at all' : formatSelector(labelSelector);
}

/**
 * Sum of the weights of the preferred terms that a target satisfies, minus those of anti-affinity; undefined when the
 * pod has none.
 */
export function podPreference(pod: PodToSchedule, nodes: NodeLabels): ((target: TargetSnapshot) => number) | undefined {
  const { placement } = pod;
  const { podAffinity, podAntiAffinity } = placement?.constraints.affinity ?? {};
  const terms = [
    ...(podAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
      ({ weight, podAffinityTerm }) => ({ weight: -weight, podAffinityTerm }),
    ),
  ];
  if (placement === undefined || terms.length === 0) return undefined;
  const owner = { namespace: pod.namespace, labels: placement.labels };
  const counted =
    terms.flatMap(({ weight, podAffinityTerm }) => countTerms([podAffinityTerm], owner, placement, nodes).map(
      (counts) => ({ weight, ...counts }),
    ));
  return ({ nodeName }) => {
    const labels = nodes.get(nodeName) ?? {};
    return counted.reduce((sum, { weight, ...counts }) => sum + weight * countIn(counts, labels), 0);
  };
}
