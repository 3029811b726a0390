// Keeps DaemonSets off virtual nodes. The taint keeps off most; those that tolerate every taint (network plugins, log
// collectors) would have a pod on each virtual node that never starts. The DaemonSet controller creates none on a node
// that the template's required affinity excludes.
import type { KubernetesObject, PodSpec } from '../../api/objects/core.ts';
import type { NodeSelectorRequirement, NodeSelectorTerm } from '../../api/objects/selectors.ts';
import { PROVIDER_KEY, PROVIDER_VALUE } from '../../api/objects/keys.ts';
import { firstUntoleratedTaint, VIRTUAL_NODE_TAINT } from '../../model/pod/tolerations.ts';
import type { Admission } from '../review/admission-answer.ts';
import { diffJson } from '../review/json-patch.ts';

/** The part of an `apps/v1` DaemonSet that selects nodes. */
export interface DaemonSet extends KubernetesObject {
  readonly spec: { readonly template: { readonly spec: PodSpec } };
}

const NOT_VIRTUAL: NodeSelectorRequirement = { key: PROVIDER_KEY, operator: 'NotIn', values: [PROVIDER_VALUE] };

/**
 * Decides on a DaemonSet as the API server sent it. A template that mentions virtual nodes itself is left unchanged.
 */
export function keepOffVirtualNodes(daemonSet: KubernetesObject): Admission {
  const { spec } = daemonSet as DaemonSet;
  const { template } = spec;
  const { affinity, tolerations } = template.spec;
  if (firstUntoleratedTaint([VIRTUAL_NODE_TAINT], tolerations) !== undefined || speaksOfVirtualNodes(template.spec)) {
    return { kind: 'pass' };
  }
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  // Go prints null for a list that was left out; the API server denies that after us, and says why.
  if (required !== undefined && !Array.isArray(required.nodeSelectorTerms)) return { kind: 'pass' };
  const nodeSelectorTerms = required === undefined
    ? [{ matchExpressions: [NOT_VIRTUAL] }]
    : required.nodeSelectorTerms.map(withoutVirtualNodes);
  const nodeAffinity =
    { ...affinity?.nodeAffinity, requiredDuringSchedulingIgnoredDuringExecution: { ...required, nodeSelectorTerms } };
  const after = {
    ...daemonSet,
    spec: { ...spec, template: { ...template, spec: { ...template.spec, affinity: { ...affinity, nodeAffinity } } } },
  };
  return { kind: 'mutate', patch: diffJson(asJson(daemonSet), asJson(after)), warnings: [] };
}

function speaksOfVirtualNodes({ nodeSelector = {}, affinity }: PodSpec): boolean {
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  return Object.hasOwn(nodeSelector, PROVIDER_KEY) || terms
    .some(({ matchExpressions = [] }) => matchExpressions.some(({ key }) => key === PROVIDER_KEY));
}

/** Terms are ORed. An empty term matches no node, and must not start to match. */
function withoutVirtualNodes(term: NodeSelectorTerm): NodeSelectorTerm {
  const { matchExpressions = [], matchFields = [] } = term;
  const isEmpty = matchExpressions.length + matchFields.length === 0;
  return isEmpty ? term : { ...term, matchExpressions: [...matchExpressions, NOT_VIRTUAL] };
}

function asJson(object: object): Readonly<Record<string, unknown>> {
  return object as Readonly<Record<string, unknown>>;
}
