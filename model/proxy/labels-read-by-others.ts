// Labels of a pod that are addressed to a service mesh or queue of the target (ADR 0041). They keep their keys on the
// delegate, where each is a request by the user. Labels that a mesh or queue of the source has set on the source pod as
// state get our prefix like any other: the target would trust them. `docs/delegation.md` lists both kinds.
import type { StringMap } from '../../api/objects/core.ts';

/**
 * Requests that a mesh reads: Istio's labels of pods (istio/api `label/labels.yaml`), Kuma's
 * (`pkg/plugins/runtime/k8s/metadata`). Linkerd's are annotations.
 */
const MESH_LABELS: ReadonlySet<string> = new Set([
  'sidecar.istio.io/inject',
  'istio.io/rev',
  'istio.io/dataplane-mode',
  'istio.io/use-waypoint',
  'istio.io/use-waypoint-namespace',
  // The workload's name in telemetry and policies; the injector derives it from `app` and `version`, which have other
  // keys on the delegate.
  'service.istio.io/canonical-name',
  'service.istio.io/canonical-revision',
  'service.istio.io/workload-name',
  'kuma.io/sidecar-injection',
  'kuma.io/mesh',
]);

/** The domain of Kueue's keys. */
const KUEUE_PREFIX = 'kueue.x-k8s.io/';

/** Requests that Kueue reads (kueue `pkg/controller/constants`, `pkg/controller/jobs/pod`). */
const QUEUE_LABELS: ReadonlySet<string> = new Set(
  ['queue-name', 'priority-class', 'max-exec-time-seconds', 'pod-group-name'].map((name) => KUEUE_PREFIX + name),
);

/** Labels that Kueue sets on a pod, or on its template, when it queues or admits it (kueue `pkg/constants`). */
const QUEUED_MARKS: readonly string[] =
  ['managed', 'podset', 'cluster-queue-name', 'local-queue-name'].map((name) => KUEUE_PREFIX + name);

/** Whether the source cluster's Kueue has queued or admitted the pod. */
export function isQueuedByKueue(labels: StringMap): boolean {
  return QUEUED_MARKS.some((key) => Object.hasOwn(labels, key));
}

/** Whether a label keeps its key on the delegate by default. A pod that the source has queued is not queued again. */
export function isReadByOthers(key: string, isQueuedInSource: boolean): boolean {
  return MESH_LABELS.has(key) || (!isQueuedInSource && QUEUE_LABELS.has(key));
}

/**
 * The annotations without those of the source's Kueue, if it queued the pod: another Kueue would act on them, or reject
 * the pod.
 */
export function withoutQueueing(annotations: StringMap): StringMap {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !key.startsWith(KUEUE_PREFIX)));
}
