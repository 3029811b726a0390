// Pods elected by their namespace: each gets the annotations that a user would have set, and is then admitted like any
// elected pod. A pod that can only run locally stays local without a warning, because it was not elected individually.
import type { ElectionStrategy, NamespaceElectionSpec, TargetSelector } from '../../api/kinds/namespace-election.ts';
import {
  CLUSTER_TARGET_NAME_LABEL, ELECT_ANNOTATION,
  PARENT_CLUSTER_LABEL, PARENT_UID_LABEL, PROXY_CONSTRAINTS_ANNOTATION, USE_SPEC_CONSTRAINTS_ANNOTATION,
} from '../../api/objects/keys.ts';
import type { Pod } from '../../api/objects/core.ts';
import { controllerOf, declinesElection, isElected } from '../../model/pod/pod.ts';
import { admitPod } from './admit-pod.ts';
import type { Admission, AdmissionContext } from '../review/admission-answer.ts';
import { diffJson } from '../review/json-patch.ts';

/** The election settings of a namespace that elects all of its pods. */
export interface Election {
  /** From its NamespaceElection; empty where there is none. */
  readonly spec: NamespaceElectionSpec;
  /** Names of ClusterTargets that are this cluster itself. */
  readonly selfTargets: readonly string[];
}

const DEFAULT_STRATEGY: ElectionStrategy = 'Remote';
/** Set by kubelets on mirror pods of static pods (`kubernetes.io/config.mirror`). */
const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';

/** Decides on a pod of such a namespace. The patch starts with the namespace's settings. */
export function admitPodOfNamespace(pod: Pod, election: Election, context: AdmissionContext): Admission {
  if (isElected(pod)) return admitPod(pod, context);
  const staysHere = (election.spec.strategy ?? DEFAULT_STRATEGY) === 'Local' || declinesElection(pod)
    || belongsHere(pod);
  if (staysHere) return { kind: 'pass' };
  const elected = electedBy(pod, election);
  const admission = admitPod(elected, context);
  if (admission.kind !== 'mutate') return admission;
  return { ...admission, patch: [...diffJson({ ...pod }, { ...elected }), ...admission.patch] };
}

/** Pods bound to a node, and delegates of other clusters. */
function belongsHere({ metadata, spec }: Pod): boolean {
  const { labels = {}, annotations = {} } = metadata;
  const isDelegate = [PARENT_UID_LABEL, PARENT_CLUSTER_LABEL].some((key) => Object.hasOwn(labels, key));
  return isDelegate || (spec.nodeName ?? '') !== '' || controllerOf(metadata)?.kind === 'DaemonSet'
    || Object.hasOwn(annotations, MIRROR_ANNOTATION);
}

function electedBy(pod: Pod, election: Election): Pod {
  const { annotations = {} } = pod.metadata;
  const hasOwnConstraints =
    [PROXY_CONSTRAINTS_ANNOTATION, USE_SPEC_CONSTRAINTS_ANNOTATION].some((key) => Object.hasOwn(annotations, key));
  const constraints = hasOwnConstraints ? undefined : constraintsOf(election);
  const added =
    { [ELECT_ANNOTATION]: '', ...(constraints !== undefined && { [PROXY_CONSTRAINTS_ANNOTATION]: constraints }) };
  return { ...pod, metadata: { ...pod.metadata, annotations: { ...annotations, ...added } } };
}

/** JSON, which is valid YAML; undefined when every target is allowed. */
function constraintsOf({ spec: { strategy = DEFAULT_STRATEGY, selector = {} }, selfTargets }: Election): string
  | undefined {
  const notHere = { key: CLUSTER_TARGET_NAME_LABEL, operator: 'NotIn', values: selfTargets };
  const isRemote = strategy === 'Remote' && selfTargets.length > 0;
  const matchExpressions = [...requirementsOf(selector), ...(isRemote ? [notHere] : [])];
  if (matchExpressions.length === 0) return undefined;
  const nodeSelectorTerms = [{ matchExpressions }];
  return JSON.stringify(
    { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } },
  );
}

function requirementsOf({ matchLabels = {}, matchExpressions = [] }: TargetSelector): readonly object[] {
  return [
    ...Object.entries(matchLabels).map(([key, value]) => ({ key, operator: 'In', values: [value] })),
    ...matchExpressions,
  ];
}
