// Turns an elected pod into a proxy pod, which the Isthmus scheduler places and which runs nothing. All but a few
// fields stay as the user wrote them; the admission record keeps the originals. Idempotent. The rules are written once,
// as the fields of a proxy pod: a pod is built from them here, a patch in proxy-patch.ts.
import {
  ADMISSION_RECORD_ANNOTATION,
  DELEGATE_FINALIZER, HAS_FINALIZER_LABEL, ADMIRALTY_PREFIX, PROVIDER_KEY, PROVIDER_VALUE, PROXY_SCHEDULER,
  SOURCE_MANIFEST_ANNOTATION, TRUE,
} from '../../api/objects/keys.ts';
import type { Pod, PodSpec, StringMap, Toleration } from '../../api/objects/core.ts';
import { optOutsFor } from '../../model/proxy/sidecar-opt-outs.ts';
import type { ClusterConstraints } from '../../model/proxy/proxy-pod.ts';
import type { ConstraintsOfPod } from './scheduling-constraints.ts';

/** A field or key with its value; undefined removes it. */
export type Field<T> = readonly [name: string, value: T];

/** Contents of a proxy pod in addition to its source pod. */
export interface ProxyParts {
  /** Text of the admission record. */
  readonly record: string;
  /** The source manifest, if it is copied. */
  readonly manifest?: string | undefined;
  readonly constraints: ConstraintsOfPod;
}

/** Fields that a proxy pod overrides. Everything else stays, including unknown fields. */
export interface ProxyFields {
  readonly labels: readonly Field<string>[];
  readonly annotations: readonly Field<string>[];
  readonly finalizers: readonly string[];
  readonly spec: readonly Field<unknown>[];
}

const PROXY_TOLERATIONS: readonly Toleration[] = [
  { key: PROVIDER_KEY, operator: 'Equal', value: PROVIDER_VALUE }, // on every virtual node
  // set by cloud route controllers, which do not know virtual nodes
  { key: 'node.kubernetes.io/network-unavailable', operator: 'Exists' },
  // An unreachable target, or a stopped Isthmus, must not evict the source's pods: without these the API server adds
  // 300 s.
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
];
const PROXY_NODE_SELECTOR: StringMap = { [PROVIDER_KEY]: PROVIDER_VALUE };
const HAS_FINALIZER: Field<string> = [HAS_FINALIZER_LABEL, TRUE];
const FINALIZERS: readonly string[] = [DELEGATE_FINALIZER];

/** The proxy pod's fields for a source pod. */
export function proxyFieldsOf(
  { metadata, spec }: Pod, { record, manifest, constraints: { constraints } }: ProxyParts,
): ProxyFields {
  const { labels = {}, annotations = {}, finalizers } = metadata;
  const written: readonly Field<string>[] = [
    [ADMISSION_RECORD_ANNOTATION, record],
    ...(manifest === undefined ? [] : [[SOURCE_MANIFEST_ANNOTATION, manifest] as const]),
  ];
  return {
    labels: [...optOutsFor('labels', labels), HAS_FINALIZER],
    annotations: [...optOutsFor('annotations', annotations), ...written],
    finalizers: finalizers === undefined
      ? FINALIZERS
      : [...finalizers.filter((finalizer) => !finalizer.startsWith(ADMIRALTY_PREFIX)), DELEGATE_FINALIZER],
    spec: specFields(spec, constraints),
  };
}

function specFields(
  spec: PodSpec, { nodeSelector, tolerations, affinity, topologySpreadConstraints }: ClusterConstraints,
): ProxyFields['spec'] {
  return [
    ['schedulerName', PROXY_SCHEDULER],
    ['nodeSelector', nodeSelector === undefined ? PROXY_NODE_SELECTOR : { ...nodeSelector, ...PROXY_NODE_SELECTOR }],
    ['tolerations', tolerations === undefined ? PROXY_TOLERATIONS : [...PROXY_TOLERATIONS, ...tolerations]],
    ['affinity', affinity],
    ['topologySpreadConstraints', topologySpreadConstraints],
    // Nothing runs here, so nothing needs a grace period; the finalizer keeps the pod until its delegate has stopped.
    ['terminationGracePeriodSeconds', hasSleepingHook(spec) ? spec.terminationGracePeriodSeconds : 0],
  ];
}

type Hook = { readonly sleep?: unknown };

/** API servers reject hooks that sleep for longer than the grace period (`core/validation` validateSleepAction). */
function hasSleepingHook({ containers, initContainers }: PodSpec): boolean {
  return [containers, initContainers].flat().some((container) => {
    const { lifecycle } =
      (container ?? {}) as { readonly lifecycle?: { readonly postStart?: Hook; readonly preStop?: Hook } };
    return (lifecycle?.postStart?.sleep ?? lifecycle?.preStop?.sleep ?? undefined) !== undefined;
  });
}

/** A pod with the fields of a proxy pod. */
export function toProxyPod(pod: Pod, { labels, annotations, finalizers, spec }: ProxyFields): Pod {
  const { metadata } = pod;
  return {
    ...pod,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, ...Object.fromEntries(labels) },
      annotations: { ...metadata.annotations, ...Object.fromEntries(annotations) },
      finalizers,
    },
    spec: withFields(pod.spec, spec),
  };
}

function withFields(spec: PodSpec, fields: ProxyFields['spec']): PodSpec {
  const all = { ...spec, ...Object.fromEntries(fields) };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as unknown as PodSpec;
}
