// Builds the PodChaperon, which asks a target to run a pod, from the source pod. The delegate's labels must not match
// the target's own selectors, so each key gets our prefix, under which keys that differ still do.
import { createHash } from 'node:crypto';
import { ADMIRALTY_API_VERSION } from '../../api/objects/group-version.ts';
import type { PodAffinity, PodAffinityTerm } from '../../api/objects/affinity.ts';
import type { Container, ObjectMeta, Pod, PodSpec, StringMap } from '../../api/objects/core.ts';
import {
  CHAPERON_FINALIZER, TARGET_KEY_ANNOTATION,
  NO_PREFIX_LABEL_REGEXP_ANNOTATION, ADMIRALTY_PREFIX, PARENT_CLUSTER_LABEL, PARENT_NAMESPACE_ANNOTATION,
  PARENT_NAME_ANNOTATION, PARENT_UID_LABEL, SOURCE_WATCHES_PODS_ANNOTATION, SPEC_AT_BIND_ANNOTATION, TRUE,
  USE_SPEC_CONSTRAINTS_ANNOTATION,
} from '../../api/objects/keys.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { compileLabelPattern } from '../objects/label-pattern.ts';
import { matchesLabelSelector, selectorWithKeys } from '../objects/label-selector.ts';
import { isQueuedByKueue, isReadByOthers, withoutQueueing } from '../proxy/labels-read-by-others.ts';
import { delegateName, toLabelValue } from '../naming/names.ts';
import type { LiveChanges } from '../pod/live-changes.ts';
import { isTokenMount, tokenVolumesOf } from '../pod/pod-needs.ts';
import { RESERVED_LABELS } from '../pod/pod.ts';
import { redirectDownwardApi } from './downward-api.ts';

/** The proxy pod of a chaperon, and its source cluster (UID of kube-system). */
export interface ChaperonParent {
  readonly clusterId: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Labels of the proxy pod itself: other controllers of the source may have added some. */
  readonly labels?: StringMap;
  /** Digests of the spec of the proxy pod (`specDigests`). */
  readonly specDigests?: string | undefined;
}

/**
 * The chaperon for a source pod: the pod as its user wrote it, restored from the admission record of the proxy pod. Its
 * name, and so the delegate's, is derived from the parent's UID, which prevents a second one.
 */
export function toPodChaperon(sourcePod: Pod, parent: ChaperonParent): PodChaperon {
  const { labels = {}, annotations = {} } = sourcePod.metadata;
  const isQueued = isQueuedByKueue({ ...parent.labels, ...labels });
  const copied = withoutOwn(annotations);
  const delegateKey = (key: string): string =>
    Object.keys(toDelegateLabels({ [key]: labels[key] ?? '' }, annotations, isQueued))[0] ?? key;
  const constrained = Object.hasOwn(annotations, USE_SPEC_CONSTRAINTS_ANNOTATION)
    ? withoutConstraints(sourcePod.spec)
    : withOwnSelectors(sourcePod.spec, labels, delegateKey);
  const redirected =
    redirectDownwardApi(toDelegateSpec(constrained), { name: parent.name, labels, annotations: copied, delegateKey });
  return {
    apiVersion: ADMIRALTY_API_VERSION,
    kind: 'PodChaperon',
    metadata: {
      name: delegateName(parent.name, parent.uid),
      namespace: parent.namespace,
      labels: {
        ...toDelegateLabels(labels, annotations, isQueued), [PARENT_UID_LABEL]: parent.uid,
        [PARENT_CLUSTER_LABEL]: parent.clusterId,
        [PARENT_NAME_ANNOTATION]: toLabelValue(parent.name), [PARENT_NAMESPACE_ANNOTATION]: parent.namespace,
      },
      annotations: {
        ...(isQueued ? withoutQueueing(copied) : copied),
        ...redirected.annotations,
        [PARENT_NAME_ANNOTATION]: parent.name,
        [PARENT_NAMESPACE_ANNOTATION]: parent.namespace,
        [SOURCE_WATCHES_PODS_ANNOTATION]: TRUE,
        ...(parent.specDigests !== undefined && { [SPEC_AT_BIND_ANNOTATION]: parent.specDigests }),
      },
      finalizers: [CHAPERON_FINALIZER],
    },
    spec: redirected.spec,
  };
}

/**
 * Maps the labels, or the terms of a selector, of a source object to those in a target. Labels that meshes and queues
 * of the target read keep their keys (ADR 0041); the object's annotations may name more.
 */
export function toDelegateLabels(labels: StringMap, annotations: StringMap, isQueuedInSource = false): StringMap {
  const isWanted = keptLabels(annotations);
  return prefixLabels(labels, (key, value) => isReadByOthers(key, isQueuedInSource) || isWanted(key, value));
}

/**
 * Changes of the labels of a source pod by the keys of its delegate. Which key a former value had is not known where
 * the pod names labels that keep theirs: the key that it does not have now is removed.
 */
export function toDelegateLabelChanges(
  changes: NonNullable<LiveChanges['labels']>, { labels = {}, annotations = {} }: ObjectMeta,
): NonNullable<LiveChanges['labels']> {
  const isQueued = isQueuedByKueue(labels);
  const namesKept = Object.hasOwn(annotations, NO_PREFIX_LABEL_REGEXP_ANNOTATION);
  return Object.fromEntries(Object.entries(changes).flatMap(([key, value]) => {
    const now = Object.keys(toDelegateLabels({ [key]: value ?? '' }, annotations, isQueued))[0] ?? key;
    return [...(namesKept ? [[key, null], [prefixKey(key), null]] as const : []), [now, value] as const];
  }));
}

/**
 * Moves each key under our domain: `app` becomes `P/app` as in Admiralty, and `a.io/x` becomes `a.io.P/x`, so that
 * `a.io/x` and `b.io/x` stay distinct (Admiralty merges them). No two keys that admission accepts become one (P/ itself
 * is reserved). Labels for which `isKept` holds keep their keys.
 */
export function prefixLabels(
  labels: StringMap, isKept: (key: string, value: string) => boolean = () => false,
): StringMap {
  return Object.fromEntries(
    Object.entries(labels).map(([key, value]) => [isKept(key, value) ? key : prefixKey(key), value]),
  );
}

/** Those that keep their keys by the annotation; an empty one keeps none. Admission has rejected invalid ones. */
function keptLabels(annotations: StringMap): (key: string, value: string) => boolean {
  const expression = annotations[NO_PREFIX_LABEL_REGEXP_ANNOTATION] ?? '';
  const pattern = expression === '' ? undefined : compileLabelPattern(expression);
  return pattern?.kind === 'pattern' ? pattern.matches : () => false;
}

const OWN_DOMAIN = ADMIRALTY_PREFIX.slice(0, -1);
const MAX_LABEL_PREFIX = 253;

function prefixKey(key: string): string {
  if (RESERVED_LABELS.has(ADMIRALTY_PREFIX + key)) return `${OWN_DOMAIN}.${ADMIRALTY_PREFIX}${key}`;
  const slash = key.indexOf('/');
  if (slash === -1) return ADMIRALTY_PREFIX + key;
  const prefix = `${key.slice(0, slash)}.${OWN_DOMAIN}`;
  // A prefix that leaves no space for ours is replaced by its digest.
  const fitting = prefix.length > MAX_LABEL_PREFIX
    ? `${createHash('sha256').update(prefix).digest('hex').slice(0, 40)}.${OWN_DOMAIN}`
    : prefix;
  return `${fitting}/${key.slice(slash + 1)}`;
}

function withoutOwn(annotations: StringMap): StringMap {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !key.startsWith(ADMIRALTY_PREFIX)));
}

/** Removes constraints that chose the cluster: they do not apply to its nodes. */
function withoutConstraints(spec: PodSpec): PodSpec {
  const {
    nodeSelector: _nodeSelector, affinity: _affinity, tolerations: _tolerations, topologySpreadConstraints: _spread,
    ...rest
  } = spec;
  return rest;
}

/** A term of pod affinity, or a topology spread constraint. */
type PodsTerm = Pick<PodAffinityTerm, 'labelSelector' | 'matchLabelKeys' | 'mismatchLabelKeys'>;

/**
 * Selectors that match the pod itself are about its replicas, which are kept apart, together or spread: they get the
 * keys that labels have on delegates. Others may be about pods of the target itself.
 */
function withOwnSelectors(spec: PodSpec, labels: StringMap, delegateKey: (key: string) => string): PodSpec {
  const { affinity, topologySpreadConstraints: spread } = spec;
  const own = <T extends PodsTerm>(term: T): T => {
    // no API server has checked the admission record, so it may lack either
    const selector = (term as T | undefined)?.labelSelector ?? undefined;
    if (selector === undefined || !matchesLabelSelector(selector, labels)) return term;
    const { matchLabelKeys: equal, mismatchLabelKeys: other } = term;
    return {
      ...term, labelSelector: selectorWithKeys(selector, delegateKey),
      ...(equal && { matchLabelKeys: equal.map(delegateKey) }),
      ...(other && { mismatchLabelKeys: other.map(delegateKey) }),
    };
  };
  const ofPods = ({
    requiredDuringSchedulingIgnoredDuringExecution: required,
    preferredDuringSchedulingIgnoredDuringExecution: preferred,
  }: PodAffinity): PodAffinity => ({
    ...(required && { requiredDuringSchedulingIgnoredDuringExecution: required.map(own) }),
    ...(preferred && {
      preferredDuringSchedulingIgnoredDuringExecution:
        preferred.map((each) => ({ ...each, podAffinityTerm: own(each.podAffinityTerm) })),
    }),
  });
  return {
    ...spec,
    ...(affinity && {
      affinity: {
        ...affinity, ...(affinity.podAffinity && { podAffinity: ofPods(affinity.podAffinity) }),
        ...(affinity.podAntiAffinity && { podAntiAffinity: ofPods(affinity.podAntiAffinity) }),
      },
    }),
    ...(spread && { topologySpreadConstraints: spread.map(own) }),
  };
}

function toDelegateSpec(spec: PodSpec): PodSpec {
  // The target resolves the priority class, which its preemption policy comes from as well, and places the pod itself.
  // A pod is sent only once its gates are open.
  const {
    priority: _priority, preemptionPolicy: _preemption, nodeName: _nodeName, schedulingGates: _gates, ...rest
  } = spec;
  return withoutServiceAccountToken(rest);
}

/** The chaperon with the key of its target, because another target of the source may point to the same cluster. */
export function withTargetKey({ metadata, ...chaperon }: PodChaperon, target: string): PodChaperon {
  return {
    ...chaperon, metadata: { ...metadata, annotations: { ...metadata.annotations, [TARGET_KEY_ANNOTATION]: target } },
  };
}

function withoutServiceAccountToken(spec: PodSpec): PodSpec {
  const tokenVolumes = tokenVolumesOf(spec);
  if (tokenVolumes.size === 0) return spec;
  return {
    ...spec,
    containers: spec.containers.map(withoutTokenMount),
    ...(spec.initContainers && { initContainers: spec.initContainers.map(withoutTokenMount) }),
    ...(spec.volumes && { volumes: spec.volumes.filter((volume) => !tokenVolumes.has(volume.name)) }),
  };
}

function withoutTokenMount(container: Container): Container {
  if (container.volumeMounts === undefined) return container;
  return { ...container, volumeMounts: container.volumeMounts.filter((mount) => !isTokenMount(mount)) };
}
