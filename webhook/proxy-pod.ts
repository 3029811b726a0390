// Step 2 of a pod's way: the elected pod becomes a proxy pod, which keeps the user's manifest, is scheduled by us and runs nothing.
// Rules of contract §2.1; one finalizer instead of one per target (design D9). The same pod put in again comes out unchanged.
import {
  DELEGATE_FINALIZER, HAS_FINALIZER_LABEL, OWN_PREFIX, PROVIDER_KEY, PROVIDER_VALUE, PROXY_SCHEDULER, SOURCE_MANIFEST_ANNOTATION,
  SOURCE_SIGNATURE_ANNOTATION, TRUE,
} from '../api/keys.ts';
import type { Pod, PodSpec, Toleration } from '../api/core.ts';
import type { SealedManifest } from '../model/sealed-manifest.ts';
import { optOutsFor } from './injected-sidecars.ts';
import type { Constraints, ConstraintsOfPod } from './scheduling-constraints.ts';

const PROXY_TOLERATIONS: readonly Toleration[] = [
  { key: PROVIDER_KEY, operator: 'Equal', value: PROVIDER_VALUE }, // on every virtual node
  { key: 'node.kubernetes.io/network-unavailable', operator: 'Exists' }, // from cloud route controllers, which do not know virtual nodes
  // A target that is away, or Isthmus itself, must not cost the source its pods (design D14): without these the API server adds 300 s.
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
];

/** The proxy pod for a pod, with its manifest and what chooses its cluster. Fields that are not named here stay, also those we do not know. */
export function toProxyPod(pod: Pod, sealed: SealedManifest, { constraints }: ConstraintsOfPod): Pod {
  return { ...pod, metadata: toProxyMetadata(pod, sealed), spec: toProxySpec(pod.spec, constraints) };
}

function toProxyMetadata({ metadata }: Pod, { manifest, signature }: SealedManifest): Pod['metadata'] {
  const { labels = {}, annotations = {} } = metadata;
  return {
    ...metadata,
    labels: { ...labels, ...optOutsFor('labels', labels), [HAS_FINALIZER_LABEL]: TRUE },
    annotations: {
      ...annotations,
      ...optOutsFor('annotations', annotations),
      [SOURCE_MANIFEST_ANNOTATION]: manifest,
      [SOURCE_SIGNATURE_ANNOTATION]: signature,
    },
    finalizers: [...(metadata.finalizers ?? []).filter((finalizer) => !finalizer.startsWith(OWN_PREFIX)), DELEGATE_FINALIZER],
  };
}

function toProxySpec(spec: PodSpec, { nodeSelector = {}, tolerations = [], affinity, topologySpreadConstraints }: Constraints): PodSpec {
  return {
    ...withoutConstraints(spec),
    schedulerName: PROXY_SCHEDULER,
    nodeSelector: { ...nodeSelector, [PROVIDER_KEY]: PROVIDER_VALUE },
    tolerations: [...PROXY_TOLERATIONS, ...tolerations],
    ...(affinity && { affinity }),
    ...(topologySpreadConstraints && { topologySpreadConstraints }),
    // Nothing runs here, so nothing needs time to stop; the finalizer keeps the pod until its delegate has stopped.
    terminationGracePeriodSeconds: 0,
  };
}

/** The very spec where there is nothing to leave out: most pods have neither, and a copy that leaves out costs more than the rest of a proxy. */
function withoutConstraints(spec: PodSpec): PodSpec {
  if (!Object.hasOwn(spec, 'affinity') && !Object.hasOwn(spec, 'topologySpreadConstraints')) return spec;
  const { affinity: _affinity, topologySpreadConstraints: _spread, ...kept } = spec;
  return kept;
}
