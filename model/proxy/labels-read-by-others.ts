// Labels of a pod that a service mesh or a queue of the target is to read (ADR 0041). They keep their keys on the delegate, where each is
// a wish of the user. What a mesh or a queue of the source has written down about the source pod is moved like any other label: there it
// would be believed. `docs/delegation.md` lists both sorts.
import type { StringMap } from '../../api/objects/core.ts';

/** Wishes that a mesh reads: Istio's labels of pods (istio/api `label/labels.yaml`), Kuma's (`pkg/plugins/runtime/k8s/metadata`). Linkerd's are annotations. */
const MESH_WISHES: ReadonlySet<string> = new Set([
  'sidecar.istio.io/inject',
  'istio.io/rev',
  'istio.io/dataplane-mode',
  'istio.io/use-waypoint',
  'istio.io/use-waypoint-namespace',
  // What the workload is called in telemetry and policies; the injector makes them of `app` and `version`, which the delegate has under other keys.
  'service.istio.io/canonical-name',
  'service.istio.io/canonical-revision',
  'service.istio.io/workload-name',
  'kuma.io/sidecar-injection',
  'kuma.io/mesh',
]);

/** The domain of Kueue's keys. */
const KUEUE_PREFIX = 'kueue.x-k8s.io/';

/** Wishes that Kueue reads (kueue `pkg/controller/constants`, `pkg/controller/jobs/pod`). */
const QUEUE_WISHES: ReadonlySet<string> = new Set(['queue-name', 'priority-class', 'max-exec-time-seconds', 'pod-group-name'].map((name) => KUEUE_PREFIX + name));

/** Labels that Kueue puts on a pod, or on the template of its pods, when it queues or admits it (kueue `pkg/constants`). */
const QUEUED_MARKS: readonly string[] = ['managed', 'podset', 'cluster-queue-name', 'local-queue-name'].map((name) => KUEUE_PREFIX + name);

/** Whether Kueue of the pod's own cluster has it in its queues, or has let it out of them. */
export function isQueuedByKueue(labels: StringMap): boolean {
  return QUEUED_MARKS.some((key) => Object.hasOwn(labels, key));
}

/** Whether a label keeps its key on the delegate without being asked to. A pod that the source has queued is not queued again. */
export function isReadByOthers(key: string, isQueuedInSource: boolean): boolean {
  return MESH_WISHES.has(key) || (!isQueuedInSource && QUEUE_WISHES.has(key));
}

/** The annotations without what Kueue of the source goes by, where it has queued the pod: another Kueue would act on them, or refuse the pod. */
export function withoutQueueing(annotations: StringMap): StringMap {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !key.startsWith(KUEUE_PREFIX)));
}
