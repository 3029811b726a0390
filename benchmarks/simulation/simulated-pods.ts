// Pods of simulated clusters: elected ones, as the webhook would have made them, and ones that have run for long. Pure:
// source and targets, in different processes, make the same ones.
import type { Pod, StringMap } from '../../api/objects/core.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { ELECT_ANNOTATION } from '../../api/objects/keys.ts';
import { toDelegatePod } from '../../delegate-controller/chaperon/make-delegate-pod.ts';
import { planFeedback } from '../../delegate-controller/feedback/feedback-plan.ts';
import { withTargetKey, toPodChaperon } from '../../model/delegate/pod-chaperon.ts';
import { toChaperonRecord, toDelegatePodRecord } from '../../model/delegate/cached-delegate.ts';
import { virtualNodeName } from '../../model/naming/names.ts';
import { targetKey } from '../../model/naming/target-ref.ts';
import { restoreSourcePod } from '../../model/proxy/admission-record.ts';
import { toProxyPodRecord } from '../../model/proxy/proxy-pod.ts';
import { proxyFieldsOf, toProxyPod } from '../../webhook/proxy/make-proxy-pod.ts';
import { patched } from './api-request.ts';
import type { StoredObject } from './object-store.ts';

/** Namespace of all elected pods. */
export const LOAD_NAMESPACE = 'team-a';
/** What is done to a target while a benchmark runs; a label of its ClusterTarget. */
export type Health = 'healthy' | 'flapping' | 'black-hole';
export const HEALTH_LABEL = 'example.com/health';

/** A new elected pod, as the webhook would have made it; for targets of a kind, or for all. */
export function electedPod(name: string, health?: Health): StoredObject {
  const requests = { cpu: '10m', memory: '16Mi' };
  const nodeSelector: StringMap | undefined = health && { [HEALTH_LABEL]: health };
  const pod: Pod = {
    apiVersion: 'v1', kind: 'Pod',
    metadata: { namespace: LOAD_NAMESPACE, name, labels: { app: 'load' }, annotations: { [ELECT_ANNOTATION]: '' } },
    spec: { containers: [{ name: 'main', image: 'registry.example/load:v1', resources: { requests } }] },
    status: { phase: 'Pending' },
  };
  const constraints = nodeSelector === undefined ? {} : { nodeSelector };
  const parts = { record: '{"spec":{}}', constraints: { kind: 'constraints', constraints, warnings: [] } } as const;
  return toProxyPod(pod, proxyFieldsOf(pod, parts)) as unknown as StoredObject;
}

/** A pod that has run for long, in the source and in its target. */
export interface LongRunning {
  readonly proxy: StoredObject;
  readonly chaperon: StoredObject;
  readonly delegate: StoredObject;
}

/** Whose pods they are, and in which target they run. */
export interface Place {
  /** UID of the source's kube-system Namespace. */
  readonly clusterId: string;
  /** Name of the ClusterTarget. */
  readonly target: string;
}

const SINCE = '2026-01-01T00:00:00Z';

/** The pod of this number. */
export function longRunningPod(index: number, { clusterId, target }: Place): LongRunning {
  const ref = { kind: 'ClusterTarget', name: target } as const;
  const proxy = boundProxy(index, virtualNodeName(ref));
  const restored = restoreSourcePod(proxy);
  if (restored.kind === 'invalid') throw new RangeError(restored.message);
  const { namespace = '', name = '', uid = '' } = proxy.metadata;
  const made = withTargetKey(toPodChaperon(restored.pod, { clusterId, namespace, name, uid }), targetKey(ref));
  const chaperon: PodChaperon = {
    ...made, metadata: { ...made.metadata, uid: `chaperon-${index}`, creationTimestamp: SINCE, resourceVersion: '1' },
  };
  const pod = toDelegatePod(chaperon);
  const delegate = running(
    { ...pod, metadata: { ...pod.metadata, uid: `delegate-${index}`, creationTimestamp: SINCE, resourceVersion: '1' } },
    SINCE,
  );
  return {
    proxy: shown(proxy, chaperon, delegate), chaperon: chaperon as unknown as StoredObject,
    delegate: delegate as unknown as StoredObject,
  };
}

function boundProxy(index: number, nodeName: string): Pod {
  const elected = electedPod(`long-${index}`) as unknown as Pod;
  return {
    ...elected,
    metadata: { ...elected.metadata, uid: `proxy-${index}`, creationTimestamp: SINCE, resourceVersion: '1' },
    spec: { ...elected.spec, nodeName },
    status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'True', lastTransitionTime: SINCE }] },
  };
}

/** The proxy as the feedback controller leaves it. */
function shown(proxy: Pod, chaperon: PodChaperon, delegate: Pod): StoredObject {
  const stored = proxy as unknown as StoredObject;
  const record = toProxyPodRecord(proxy);
  if (record === undefined) return stored;
  const step = planFeedback(
    record, { kind: 'known', chaperon: toChaperonRecord(chaperon), delegate: toDelegatePodRecord(delegate) },
  );
  if (step.kind !== 'copy-status') return stored;
  const written = step.plan.flatMap((command) => (command.kind === 'patch' ? [command.patch] : []));
  return written.reduce<StoredObject>((object, patch) => patched(object, patch, false), stored);
}

/** The status of a pod that its kubelet runs since then (RFC 3339). */
export function running(pod: Pod, since: string): Pod {
  const condition = (type: string) => ({ type, status: 'True' as const, lastTransitionTime: since });
  const conditions = ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map(condition);
  const containerStatuses = pod.spec.containers.map(({ name, image = '' }) => ({
    name, image, ready: true, started: true, restartCount: 0, imageID: '', state: { running: { startedAt: since } },
  }));
  const addresses = { podIP: '10.1.2.3', hostIP: '10.0.0.1' };
  return {
    ...pod, spec: { ...pod.spec, nodeName: 'node-1' },
    status: { phase: 'Running', conditions, containerStatuses, ...addresses },
  };
}
