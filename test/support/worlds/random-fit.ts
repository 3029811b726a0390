// Random small clusters with a pod each, put before the real kube-scheduler and before our summary and node fit: who
// says what. The clusters lie side by side in one control plane; a label keeps each pod in its own.
import type {
  KubernetesObject, Node, Pod, PodSpec, ResourceList, Taint, Toleration,
} from '../../../api/objects/core.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import { NAMESPACES, NODES, PODS, SERVICE_ACCOUNTS } from '../../../api/resource-types.ts';
import { RandomSource } from '../../../benchmarks/load/random-source.ts';
import { toClusterSummary } from '../../../delegate-controller/capacity/cluster-summary.ts';
import { NodeGrouper } from '../../../delegate-controller/capacity/node-groups.ts';
import { NodeLedger } from '../../../delegate-controller/capacity/node-ledger.ts';
import { toTargetNodeRecord } from '../../../delegate-controller/target-cache/target-node.ts';
import { toTargetPodRecord } from '../../../delegate-controller/target-cache/target-pod.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { isBound, isTerminal } from '../../../model/pod/pod.ts';
import { toRequirements, toTargetCapacity } from '../../../scheduler/snapshot/target-capacity.ts';
import { kwokNodeAnnotation } from '../../../sandbox/plan/component-arguments.ts';
import { WatchedCollection } from '../history/watched-collection.ts';

/** A cluster, and what the two sides said of its pod. */
export interface FitCase {
  readonly nodes: readonly Node[];
  readonly bound: readonly Pod[];
  readonly pod: Pod;
  readonly ours: string;
  readonly real: string;
}

const CASE = 'example.com/case';
const GPU = 'nvidia.com/gpu';
const RUNTIME_CLASSES: ResourceType =
  { group: 'node.k8s.io', version: 'v1', plural: 'runtimeclasses', kind: 'RuntimeClass', namespaced: false };
const EVERYTHING: Toleration = { operator: 'Exists' };
const PARALLEL = 32;

/**
 * Puts `count` cases before both. Needs a control plane without nodes, whose scheduler is not held back by client
 * limits.
 */
export async function runFitCases(
  client: ClusterClient, { count, seed }: { readonly count: number; readonly seed: number }, signal: AbortSignal,
): Promise<FitCase[]> {
  const random = new RandomSource(seed);
  const namespace = `fit-${seed}`;
  await client.apply(NAMESPACES, { metadata: { name: namespace } }, 'isthmus-test');
  await client.apply(SERVICE_ACCOUNTS, { metadata: { namespace, name: 'default' } }, 'isthmus-test');
  await client.apply(
    RUNTIME_CLASSES,
    {
      metadata: { name: 'sandboxed' }, handler: 'none', overhead: { podFixed: { cpu: '250m', memory: '120Mi' } },
    } as KubernetesObject,
    'isthmus-test',
  );
  const planned = Array.from({ length: count }, (_, index) => planCase(`${seed}-${index}`, namespace, random));
  const [nodes, pods] = await Promise.all(
    [new WatchedCollection(client, NODES).start(signal), new WatchedCollection(client, PODS).start(signal)],
  );
  await createAll(client, NODES, planned.flatMap((each) => each.nodes));
  const ready = planned.flatMap((each) => each.nodes).filter(isReady).length;
  await nodes.until(
    'nodes have the taints of their conditions',
    (all) => all.filter((node) => isReady(node) && !hasConditionTaint(node)).length >= ready, 60_000,
  );
  await createAll(client, PODS, planned.flatMap((each) => each.bound));
  await Promise.all(planned.flatMap((each) => each.bound).filter(
    (pod) => pod.status?.phase === 'Succeeded',
  ).map((pod) => (
    client.patch(PODS, { namespace, name: pod.metadata.name!, subresource: 'status' }, {
      patchType: 'merge', patch: { status: { phase: 'Succeeded' } },
    })
  )));
  const before = planned.flatMap((each) => each.bound);
  const ended = before.filter((pod) => pod.status?.phase === 'Succeeded').length;
  await pods.until(
    'all pods that have nodes are known',
    (all) => all.length >= before.length && all.filter(({ status }) => isTerminal(status?.phase)).length >= ended,
    60_000,
  );
  const worlds = planned.map(
    (each) => ({
      each, nodes: each.nodes.map((node) => nodes.get(node.metadata.name!)!),
      bound: each.bound.map((pod) => pods.get(keyOf(pod))!),
    }),
  );
  await createAll(client, PODS, planned.map(({ pod }) => pod));
  await pods.until(
    'every pod has a verdict', () => planned.every(({ pod }) => verdictOf(pods.get(keyOf(pod))) !== 'none'), 60_000,
  );
  const judged = worlds.map(({ each, ...world }) => (
    { ...world, pod: each.pod, ours: ourVerdict({ ...world, pod: pods.get(keyOf(each.pod))! }) }
  ));
  // The scheduler may have looked before it saw a node's taint go; then it looks again.
  const settled = () => judged.every(({ pod, ours }) => ours !== 'fits' || verdictOf(pods.get(keyOf(pod))) === 'fits');
  await pods.until('pods that fit are placed', settled, 15_000).catch(() => undefined);
  return judged.map(
    (each) => ({ ...each, pod: pods.get(keyOf(each.pod))!, real: verdictOf(pods.get(keyOf(each.pod))) }),
  );
}

function keyOf({ metadata }: Pod): string {
  return `${metadata.namespace}/${metadata.name}`;
}

interface PlannedCase {
  readonly id: string;
  readonly namespace: string;
  readonly nodes: readonly Node[];
  readonly bound: readonly Pod[];
  readonly pod: Pod;
}

function ourVerdict({ nodes, bound, pod }: Pick<FitCase, 'nodes' | 'bound' | 'pod'>): string {
  const ledger = new NodeLedger();
  for (const node of nodes) ledger.setNode(node.metadata.name!, toTargetNodeRecord(node));
  for (const other of bound) ledger.changePod(undefined, toTargetPodRecord(other));
  const summary = JSON.parse(
    JSON.stringify(toClusterSummary(ledger, new NodeGrouper(), { podsResourceVersion: '1' })),
  ) as ReturnType<typeof toClusterSummary>;
  const fit = toTargetCapacity(summary).fit(toRequirements(pod.spec));
  return fit.kind === 'fits' ? 'fits' : `${fit.reason}: ${fit.message}`;
}

function verdictOf(pod: Pod | undefined): string {
  if (pod === undefined) return 'none';
  const scheduled = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (isBound(pod)) return 'fits';
  return scheduled?.status === 'False' && scheduled.reason === 'Unschedulable' ? `no: ${scheduled.message}` : 'none';
}

function isReady({ status }: Node): boolean {
  return status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
}

function hasConditionTaint({ spec }: Node): boolean {
  return spec?.taints?.some(({ key }) => key === 'node.kubernetes.io/not-ready') === true;
}

async function createAll<T extends KubernetesObject>(
  client: ClusterClient, type: ResourceType<T>, objects: readonly T[],
): Promise<void> {
  const waiting = objects.values();
  await Promise.all(Array.from({ length: PARALLEL }, async () => {
    for (const object of waiting) await client.create(type, object);
  }));
}

// --- generation

function planCase(id: string, namespace: string, random: RandomSource): PlannedCase {
  const nodes =
    Array.from({ length: 1 + random.below(4) }, (_, index) => randomNode(`node-${id}-${index}`, id, random));
  const bound = Array.from({ length: random.below(5) }, (_, index) => boundPod(
    { name: `bound-${id}-${index}`, namespace, nodeName: random.oneOf(nodes).metadata.name! }, random,
  ));
  return { id, namespace, nodes, bound, pod: randomPod(`pod-${id}`, { namespace, id, nodes }, random) };
}

function randomNode(name: string, id: string, random: RandomSource): Node {
  const room: ResourceList = {
    cpu: `${1_000 + random.below(9) * 1_000}m`, memory: `${3 + random.below(24)}Gi`,
    pods: `${random.oneOf([1, 3, 110, 110])}`, 'ephemeral-storage': `${4 + random.below(20)}Gi`,
    ...(random.chance(0.4) && { [GPU]: `${random.below(5)}` }),
    ...(random.chance(0.2) && { 'example.com/fpga': `${random.below(3)}` }),
    ...(random.chance(0.2) && { 'hugepages-2Mi': `${random.below(5) * 64}Mi` }),
  };
  const labels = {
    [CASE]: id, 'kubernetes.io/hostname': name, ...(random.chance(0.8) && { zone: random.oneOf(['a', 'b', 'c']) }),
    ...(random.chance(0.5) && { disk: random.oneOf(['ssd', 'hdd', '']) }),
    ...(random.chance(0.5) && { rank: random.oneOf(['1', '5', '10', '0', 'x', '007']) }),
  };
  const taint = (): Taint => ({
    key: random.oneOf(['team', 'gpu']), value: random.oneOf(['a', 'b', '']),
    effect: random.oneOf(['NoSchedule', 'NoSchedule', 'NoExecute', 'PreferNoSchedule']),
  });
  const taints = random.chance(0.3) ? [taint()] : [];
  const ready = !random.chance(0.08);
  // which keeps its heart beating
  const annotations = ready ? { [kwokNodeAnnotation.key]: kwokNodeAnnotation.value } : {};
  return {
    apiVersion: 'v1', kind: 'Node',
    metadata: { name, labels, annotations }, spec: { taints, ...(random.chance(0.08) && { unschedulable: true }) },
    status: { capacity: room, allocatable: room, conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  };
}

function boundPod(
  { name, namespace, nodeName }: { readonly name: string; readonly namespace: string; readonly nodeName: string },
  random: RandomSource,
): Pod {
  const spec = { ...randomSpec(random), nodeName, tolerations: [EVERYTHING], terminationGracePeriodSeconds: 0 };
  return {
    apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name }, spec,
    status: { phase: random.chance(0.15) ? 'Succeeded' : 'Pending' },
  };
}

function randomPod(
  name: string,
  { namespace, id, nodes }: { readonly namespace: string; readonly id: string; readonly nodes: readonly Node[] },
  random: RandomSource,
): Pod {
  const nodeSelector = {
    [CASE]: id,
    ...(random.chance(0.2) && { zone: random.oneOf(['a', 'b']) }), ...(random.chance(0.1) && { disk: 'ssd' }),
    ...(random.chance(0.1) && { 'kubernetes.io/hostname': random.oneOf(nodes).metadata.name! }),
  };
  const spec = {
    ...randomSpec(random), nodeSelector, tolerations: randomTolerations(random),
    ...(random.chance(0.3) && { affinity: randomAffinity(nodes, random) }),
  };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name }, spec };
}

function randomTolerations(random: RandomSource): Toleration[] {
  if (random.chance(0.5)) return [];
  const key = random.oneOf(['team', 'gpu']);
  return [random.oneOf<Toleration>([
    { key, operator: 'Exists' },
    { key, operator: 'Equal', value: random.oneOf(['a', 'b', '']) }, { key, value: 'a', effect: 'NoSchedule' },
    { key, operator: 'Exists', effect: 'NoExecute' }, { key, operator: 'Exists', effect: 'NoSchedule' },
  ])];
}

function randomAffinity(nodes: readonly Node[], random: RandomSource): NonNullable<PodSpec['affinity']> {
  const expression = () => {
    const key = random.oneOf(['zone', 'disk', 'rank', 'kubernetes.io/hostname']);
    const operator = random.oneOf(['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt']);
    if (operator === 'Gt' || operator === 'Lt') return { key: 'rank', operator, values: [`${random.below(12)}`] };
    if (operator === 'Exists' || operator === 'DoesNotExist') return { key, operator };
    const values = key === 'kubernetes.io/hostname'
      ? [random.oneOf(nodes).metadata.name!]
      : [random.oneOf(['a', 'b', 'ssd', '', '1', '5']), random.oneOf(['b', 'c', 'hdd', '10'])];
    return { key, operator, values };
  };
  const term = () => ({
    ...(random.chance(0.9) && { matchExpressions: Array.from({ length: 1 + random.below(2) }, expression) }),
    ...(random.chance(0.15) && {
      matchFields: [
        { key: 'metadata.name', operator: random.oneOf(['In', 'NotIn']), values: [random.oneOf(nodes).metadata.name!] },
      ],
    }),
  });
  return {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution:
        { nodeSelectorTerms: Array.from({ length: 1 + random.below(2) }, term) },
    },
  };
}

function randomSpec(random: RandomSource): PodSpec {
  const containers = Array.from({ length: 1 + random.below(2) }, (_, index) => (
    { name: `app-${index}`, image: 'none', ...randomResources(random, 3_000) }
  ));
  const initContainers = Array.from({ length: random.below(3) }, (_, index) => ({
    name: `init-${index}`,
    image: 'none', ...randomResources(random, 3_000), ...(random.chance(0.4) && { restartPolicy: 'Always' }),
  }));
  return {
    containers, initContainers, serviceAccountName: 'default', automountServiceAccountToken: false,
    ...(random.chance(0.15) && { runtimeClassName: 'sandboxed' }),
    ...(random.chance(0.15) && { resources: { requests: { cpu: `${7_000 + random.below(500)}m`, memory: '24Gi' } } }),
    ...(random.chance(0.15) && { resources: { limits: { cpu: '8', memory: '25Gi' } } }),
  } as PodSpec;
}

function randomResources(random: RandomSource, mostCpu: number): object {
  const requests: ResourceList = {
    ...(random.chance(0.8) && { cpu: `${random.below(mostCpu / 3)}m` }),
    ...(random.chance(0.7) && { memory: random.oneOf([`${random.below(2_000)}Mi`, '1e8', '0.3Gi', '123456789']) }),
    ...(random.chance(0.2) && { 'ephemeral-storage': `${random.below(6_000)}Mi` }),
  };
  const devices: ResourceList = {
    ...(random.chance(0.08) && { [GPU]: `${1 + random.below(2)}` }),
    ...(random.chance(0.03) && { 'example.com/fpga': '1' }),
    ...(random.chance(0.03) && { cpu: '2', memory: '2Gi', 'hugepages-2Mi': `${64 * (1 + random.below(2))}Mi` }),
  };
  const limits = { ...devices, ...(random.chance(0.2) && { cpu: '2500m', memory: '3Gi' }) };
  return { resources: { requests: { ...requests, ...devices }, limits } };
}
