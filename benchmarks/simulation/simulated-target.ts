// What happens in a simulated target: its delegate controller, scheduler and kubelet, each after a delay. A chaperon
// gets its delegate, which is bound and runs; one that is deleted is let go. A summary is renewed each minute.
import type { Pod } from '../../api/objects/core.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { STOPS_UNCONFIRMED_ANNOTATION, TRUE } from '../../api/objects/keys.ts';
import { toClusterSummary } from '../../delegate-controller/capacity/cluster-summary.ts';
import { NodeGrouper } from '../../delegate-controller/capacity/node-groups.ts';
import { NodeLedger } from '../../delegate-controller/capacity/node-ledger.ts';
import { toDelegatePod } from '../../delegate-controller/chaperon/make-delegate-pod.ts';
import { toTargetNodeRecord } from '../../delegate-controller/target-cache/target-node.ts';
import { onAbort } from '../../kubernetes/flow/abort.ts';
import { RandomSource } from '../load/random-source.ts';
import { syntheticNode } from '../load/synthetic-nodes.ts';
import type { ObjectStore, StoredObject } from './object-store.ts';
import { longRunningPod, running, type Place } from './simulated-pods.ts';

/** Size and speed of a target. */
export interface TargetShape {
  readonly nodes: number;
  /** Until each of its components has done its step, in ms. */
  readonly stepMs: number;
  /** Different targets have different nodes. */
  readonly seed: number;
}

const CHAPERONS = 'podchaperons.multicluster.admiralty.io';
const SUMMARIES = 'clustersummaries.multicluster.admiralty.io';
/** The delegate controller renews its summary so often. */
const HEARTBEAT_MS = 60_000;

/** Makes a store behave as a target with Isthmus in it, until `signal` aborts. */
export function simulateTarget(store: ObjectStore, shape: TargetShape, signal: AbortSignal): void {
  store.create('namespaces', named('kube-system'));
  const summary = summaryOf(shape);
  store.create(SUMMARIES, withTime(summary));
  const beat = (): void => void store.update({ collection: SUMMARIES, name: 'singleton' }, withTime);
  const first = setTimeout(() => {
    beat();
    const beats = setInterval(beat, HEARTBEAT_MS);
    onAbort(signal, () => clearInterval(beats));
  }, new RandomSource(shape.seed).below(HEARTBEAT_MS)); // targets do not renew theirs all at once
  onAbort(signal, () => clearTimeout(first));
  store.listen(CHAPERONS, ({ type, object }) => {
    if (type === 'ADDED') setTimeout(() => run(store, object, shape.stepMs), shape.stepMs);
    else if (type === 'MODIFIED' && object.metadata.deletionTimestamp !== undefined) {
      setTimeout(() => letGo(store, object), shape.stepMs);
    }
  });
}

/** Pods that a target has had for long. */
export interface LongRunningPods {
  readonly from: number;
  readonly count: number;
  readonly place: Place;
}

/** Stores them, with their chaperons. */
export function fillTarget(store: ObjectStore, { from, count, place }: LongRunningPods): void {
  for (let index = from; index < from + count; index += 1) {
    const { chaperon, delegate } = longRunningPod(index, place);
    store.create('pods', delegate); // first, so that no delegate is made for the chaperon
    store.create(CHAPERONS, chaperon);
  }
}

function named(name: string): StoredObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

function withTime(summary: StoredObject): StoredObject {
  const annotations = { ...summary.metadata.annotations, [STOPS_UNCONFIRMED_ANNOTATION]: TRUE };
  const observed = { ...(summary['observed'] as object), time: new Date().toISOString() };
  return { ...summary, metadata: { ...summary.metadata, annotations }, observed };
}

function summaryOf({ nodes, seed }: TargetShape): StoredObject {
  const ledger = new NodeLedger();
  const random = new RandomSource(seed);
  for (let index = 0; index < nodes; index += 1) {
    const node = syntheticNode(index, random);
    ledger.setNode(node.metadata.name ?? '', toTargetNodeRecord(node));
  }
  return toClusterSummary(ledger, new NodeGrouper(), { podsResourceVersion: '1' }) as unknown as StoredObject;
}

/** Creates the delegate, binds it and reports it as running, one step after another. */
function run(store: ObjectStore, chaperon: StoredObject, stepMs: number): void {
  const pod = toDelegatePod(chaperon as unknown as PodChaperon);
  const at = { collection: 'pods', namespace: pod.metadata.namespace, name: pod.metadata.name ?? '' };
  if (store.get({ ...at, collection: CHAPERONS }) === undefined || store.get(at) !== undefined) return;
  store.create('pods', pod as unknown as StoredObject);
  const change = (to: (pod: Pod) => Pod): void => {
    if (store.get(at) === undefined) return;
    store.update(at, (object) => to(object as unknown as Pod) as unknown as StoredObject);
  };
  // one timer after the other: timers of different lengths may swap on a busy machine
  setTimeout(() => {
    change(scheduled);
    setTimeout(() => change((bound) => running(bound, now())), stepMs);
  }, stepMs);
}

function now(): string {
  return new Date().toISOString().replace(/\.\d+Z/, 'Z');
}

function scheduled(pod: Pod): Pod {
  const conditions = [{ type: 'PodScheduled', status: 'True' as const }];
  return { ...pod, spec: { ...pod.spec, nodeName: 'node-1' }, status: { phase: 'Pending', conditions } };
}

function letGo(store: ObjectStore, { metadata: { namespace, name = '' } }: StoredObject): void {
  if (store.get({ collection: 'pods', namespace, name }) !== undefined) {
    store.delete({ collection: 'pods', namespace, name });
  }
  if (store.get({ collection: CHAPERONS, namespace, name }) === undefined) return;
  store.update(
    { collection: CHAPERONS, namespace, name },
    (object) => ({ ...object, metadata: { ...object.metadata, finalizers: [] } }),
  );
}
