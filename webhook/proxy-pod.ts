// Step 2 of a pod's way: the elected pod becomes a proxy pod, which keeps the user's manifest, is scheduled by us and runs nothing.
// Rules of contract §2.1; one finalizer instead of one per target (design D9).
import {
  DELEGATE_FINALIZER, HAS_FINALIZER_LABEL, OWN_PREFIX, PROVIDER_KEY, PROVIDER_VALUE, PROXY_SCHEDULER, SOURCE_MANIFEST_ANNOTATION, TRUE,
} from '../api/keys.ts';
import type { Pod, PodSpec, Toleration } from '../api/core.ts';
import { saveSourceManifest } from '../model/source-manifest.ts';

/** Taints that virtual nodes carry, or get from cloud route controllers that do not know them. */
const PROXY_TOLERATIONS: readonly Toleration[] = [
  { key: PROVIDER_KEY, operator: 'Equal', value: PROVIDER_VALUE },
  { key: 'node.kubernetes.io/network-unavailable', operator: 'Exists' },
];

/** The proxy pod for a source pod. Fields that are not named here stay as they are, also those we do not know. */
export function toProxyPod(sourcePod: Pod): Pod {
  return { ...sourcePod, metadata: toProxyMetadata(sourcePod), spec: toProxySpec(sourcePod.spec) };
}

function toProxyMetadata(sourcePod: Pod): Pod['metadata'] {
  const { metadata } = sourcePod;
  return {
    ...metadata,
    labels: { ...metadata.labels, [HAS_FINALIZER_LABEL]: TRUE },
    annotations: { ...metadata.annotations, [SOURCE_MANIFEST_ANNOTATION]: saveSourceManifest(sourcePod) },
    finalizers: [...(metadata.finalizers ?? []).filter((finalizer) => !finalizer.startsWith(OWN_PREFIX)), DELEGATE_FINALIZER],
  };
}

function toProxySpec(spec: PodSpec): PodSpec {
  const { affinity: _affinity, topologySpreadConstraints: _spread, ...kept } = spec;
  return {
    ...kept,
    schedulerName: PROXY_SCHEDULER,
    nodeSelector: { [PROVIDER_KEY]: PROVIDER_VALUE },
    tolerations: PROXY_TOLERATIONS,
    // Nothing runs here, so nothing needs time to stop; the finalizer keeps the pod until its delegate has stopped.
    terminationGracePeriodSeconds: 0,
  };
}
