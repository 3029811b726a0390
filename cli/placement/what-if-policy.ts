// What if another placement policy applied to a pod: the policies as they would be then. Pure; nothing is created.
import { parse } from 'yaml';
import {
  CLUSTER_PLACEMENT_POLICY_KIND, PLACEMENT_POLICY_KIND, type PlacementPolicySpec,
} from '../../api/kinds/placement-policy.ts';
import { ISTHMUS_GROUP } from '../../api/objects/group-version.ts';
import type { KindDefinition, Schema } from '../../api/objects/schema.ts';
import { isRecord } from '../../model/objects/json-values.ts';
import { violationOf } from '../../model/objects/schema-check.ts';
import { exceedsYamlLimits, type YamlLimits } from '../../model/objects/yaml-limits.ts';
import { labelsAlike } from '../../model/pod/pod.ts';
import {
  selectsPod, toKnownPolicy, type KnownPolicy, type PolicyIndex, type SelectedObject,
} from '../../scheduler/snapshot/placement-rules.ts';

/** Which policy is supposed to apply: one of the pod's namespace, or one of the cluster. */
export interface PolicyName {
  readonly kind: 'PlacementPolicy' | 'ClusterPlacementPolicy';
  readonly name: string;
}

/** A policy with the spec that was written for the question; without one it is as it is stored. */
export interface WrittenPolicy extends PolicyName {
  readonly written?: WrittenSpec;
}

/** Policies as if one of them applied to the pod. */
export interface WhatIfPolicies {
  readonly kind: 'supposed';
  readonly policyIndex: PolicyIndex;
  /** `PlacementPolicy NAMESPACE/NAME` or `ClusterPlacementPolicy NAME`. */
  readonly title: string;
  readonly spec: PlacementPolicySpec;
  /** Titles of policies that apply now, and would not. */
  readonly replaces: readonly string[];
  /** Titles of policies that would apply beside it. */
  readonly keeps: readonly string[];
}

/** The same, or why it cannot be supposed: both are sentences. */
export type WhatIfPolicy =
  WhatIfPolicies | { readonly kind: 'impossible'; readonly why: string; readonly advice: string };

/** What was written, or why it is not valid YAML, as the end of a sentence. */
export type WrittenSpec =
  | { readonly kind: 'spec'; readonly spec: unknown } | { readonly kind: 'invalid'; readonly problem: string };

/** A policy, or why a manifest has none, as the end of a sentence. */
export type ReadPolicy = { readonly kind: 'policy'; readonly policy: WrittenPolicy }
  | { readonly kind: 'invalid'; readonly problem: string };

const KINDS: Readonly<Record<PolicyName['kind'], KindDefinition>> =
  { PlacementPolicy: PLACEMENT_POLICY_KIND, ClusterPlacementPolicy: CLUSTER_PLACEMENT_POLICY_KIND };
/** A policy of 16 tiers with 16 labels each is smaller. */
const LIMITS: YamlLimits = { depth: 24, lexemes: 20_000 };
const CHOOSE = 'Choose one of those that there are, or write a spec.';
const CORRECT = 'Correct the spec.';

/** Reads YAML or JSON. */
export function readWritten(text: string): WrittenSpec {
  if (exceedsYamlLimits(text, LIMITS)) return { kind: 'invalid', problem: 'is too large or too deeply nested' };
  try {
    return { kind: 'spec', spec: parse(text, { logLevel: 'error', maxAliasCount: 0 }) as unknown };
  } catch (error) {
    const [problem = ''] = error instanceof Error ? error.message.split('\n') : [];
    return { kind: 'invalid', problem: `is not valid YAML: ${problem.replace(/:$/, '')}` };
  }
}

/** Reads the manifest of one policy. Its namespace is that of the pod that it is supposed to apply to. */
export function readPolicyManifest(text: string): ReadPolicy {
  const read = readWritten(text);
  if (read.kind === 'invalid') return read;
  const { apiVersion, kind, metadata, spec } = isRecord(read.spec) ? read.spec : {};
  const isPolicy = kind === 'PlacementPolicy' || kind === 'ClusterPlacementPolicy';
  if (!isPolicy || apiVersion !== `${ISTHMUS_GROUP}/v1alpha1`) {
    const problem = `must be one ${ISTHMUS_GROUP}/v1alpha1 PlacementPolicy or ClusterPlacementPolicy`;
    return { kind: 'invalid', problem };
  }
  const name = isRecord(metadata) ? metadata['name'] : undefined;
  if (typeof name !== 'string' || name === '') return { kind: 'invalid', problem: 'needs metadata.name' };
  return { kind: 'policy', policy: { kind, name, written: { kind: 'spec', spec } } };
}

/** The policies that could apply to pods of a namespace, those of the namespace first. */
export function policiesFor(namespace: string, { policies }: PolicyIndex): readonly PolicyName[] {
  const names = (known: readonly KnownPolicy[], kind: PolicyName['kind']) =>
    known.map(({ title }) => ({ kind, name: nameOf(title) })).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return [
    ...names(policies.filter((policy) => policy.namespace === namespace), 'PlacementPolicy'),
    ...names(policies.filter((policy) => policy.namespace === undefined), 'ClusterPlacementPolicy'),
  ];
}

function nameOf(title: string): string {
  return title.slice(Math.max(title.lastIndexOf('/'), title.lastIndexOf(' ')) + 1);
}

/**
 * The policies as if this one applied to the pod, whatever it selects. One that applies already takes its own place,
 * another one that of all policies of its kind that apply. With a spec, the policy is as written, and need not exist.
 */
export function supposePolicyApplies(
  pod: SelectedObject, policyIndex: PolicyIndex, { kind, name, written }: WrittenPolicy,
): WhatIfPolicy {
  if (!policyIndex.isComplete) {
    return impossible('Placement policies cannot be read.', 'It needs the permission to list policies and namespaces.');
  }
  const metadata = kind === 'PlacementPolicy' ? { namespace: pod.namespace, name } : { name };
  const { title } = toKnownPolicy({ metadata, spec: {} });
  const existing = policyIndex.policies.find((policy) => policy.title === title);
  if (written === undefined && existing === undefined) return impossible(`There is no ${title}.`, CHOOSE);
  const problem = written === undefined ? existing?.problem : problemOf(kind, written);
  if (problem !== undefined) return impossible(`${title} ${problem}.`, CORRECT);
  const spec = (written?.kind === 'spec' ? written.spec : existing?.spec) as PlacementPolicySpec;
  const policy = toKnownPolicy({ metadata, spec });
  if (policy.problem !== undefined) return impossible(`${title} ${policy.problem}.`, CORRECT);
  const applying = policyIndex.policies.filter((one) => selectsPod(one, pod, policyIndex.namespaces));
  const isItself = applying.some((one) => one.title === title);
  const replaced = applying.filter((one) => (isItself ? one.title === title : isSameKind(one, policy)));
  const others = policyIndex.policies.filter((one) => one.title !== title && !replaced.includes(one));
  return {
    kind: 'supposed', title, spec,
    policyIndex: { ...policyIndex, policies: [...others, selecting(policy, pod, policyIndex)] },
    replaces: titlesOf(replaced).filter((one) => one !== title),
    keeps: titlesOf(applying.filter((one) => !replaced.includes(one))),
  };
}

function impossible(why: string, advice: string): WhatIfPolicy {
  return { kind: 'impossible', why, advice };
}

/** What an API server would reject, as the end of a sentence that begins with the policy. */
function problemOf(kind: PolicyName['kind'], written: WrittenSpec): string | undefined {
  if (written.kind === 'invalid') return written.problem;
  const schema: Schema = KINDS[kind].properties['spec'] ?? {};
  const violation = violationOf(written.spec, schema, 'spec');
  const problem = violation === undefined
    ? ruleViolation(written.spec as PlacementPolicySpec) : `${violation.field} ${violation.message}`;
  return problem === undefined ? undefined : `is not valid: ${problem}`;
}

/** The CEL rules of the spec, which no parser of ours knows; those of its parts the scheduler's parser checks, too. */
function ruleViolation({ forbid, tiers, replicas }: PlacementPolicySpec): string | undefined {
  if (tiers !== undefined && replicas !== undefined) {
    return 'tiers and replicas are two ways to divide pods; use one of them';
  }
  const { matchLabels = {}, matchExpressions = [] } = forbid ?? {};
  const forbidsAll = forbid !== undefined && Object.keys(matchLabels).length + matchExpressions.length === 0;
  return forbidsAll
    ? 'forbid with an empty selector forbids every target; name the labels that are forbidden' : undefined;
}

function isSameKind(one: KnownPolicy, other: KnownPolicy): boolean {
  return (one.namespace === undefined) === (other.namespace === undefined);
}

function titlesOf(policies: readonly KnownPolicy[]): readonly string[] {
  return policies.map(({ title }) => title).toSorted();
}

/** The policy as if it selected pods like this one: its spread counts those. */
function selecting(policy: KnownPolicy, pod: SelectedObject, { namespaces }: PolicyIndex): KnownPolicy {
  if (selectsPod(policy, pod, namespaces)) return policy;
  const { namespaceSelector: _elsewhere, ...spec } = policy.spec;
  return { ...policy, spec: { ...spec, podSelector: { matchLabels: labelsAlike(pod.labels) } } };
}
