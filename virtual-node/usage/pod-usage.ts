// What elected pods use, as a kubelet would tell it (Kubernetes `pkg/kubelet/metrics/collectors` resource metrics, and the Summary API), made from
// what the target's metrics server says of their delegates. A metrics server of the source reads it, and so does kubectl top.
import type { ResourceList } from '../../api/objects/core.ts';
import type { PodMetrics } from '../../api/objects/pod-metrics.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { parseQuantity, toBytes, type Bytes } from '../../model/resources/quantity.ts';

declare const unit: unique symbol;

/** CPU time in 10^-9 of a core, as the Summary API counts it. */
export type NanoCores = number & { readonly [unit]: 'NanoCores' };

/** What is used on average over an interval (CPU) or at its end (memory). */
export interface Usage {
  readonly cpu: NanoCores;
  readonly memory: Bytes;
}

/** One pod. */
export interface PodUsage {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** End of the interval, in ms since the epoch. */
  readonly takenAt: number;
  readonly containers: readonly (Usage & { readonly name: string })[];
}

/** A whole virtual node: the elected pods on it. */
export interface NodeUsage extends Usage {
  /** CPU time used since the beginning, in s. */
  readonly cpuSeconds: number;
  /** In ms since the epoch. */
  readonly takenAt: number;
}

/**
 * CPU time since the start of a container is told for a container that started so many seconds before the figure was taken and has used as much
 * ever since. metrics-server (≥ 0.5, `pkg/storage/pod.go`) then needs no figure before it, so any replica may answer any time. It does so for 10 s
 * at least, and less than its resolution, which is 15 s or 60 s in every usual installation.
 */
const WINDOW_SECONDS = 11;
/** metrics-server takes 0 for a figure that is missing, and then leaves out the pod. */
const LEAST = 1;

/** What the target says of the delegate of `proxy`. Containers that only the target knows are left out. Undefined when it says nothing of use. */
export function toPodUsage({ timestamp = '', containers = [] }: PodMetrics, { namespace, name, uid, containers: known = [] }: ProxyPod): PodUsage | undefined {
  const takenAt = Date.parse(timestamp);
  const used = containers.flatMap((container) => {
    const usage = known.includes(container.name) ? toUsage(container.usage) : undefined;
    return usage === undefined ? [] : [{ name: container.name, ...usage }];
  });
  return Number.isNaN(takenAt) || used.length === 0 ? undefined : { namespace, name, uid, takenAt, containers: used };
}

function toUsage({ cpu = '', memory = '' }: ResourceList = {}): Usage | undefined {
  const [time, bytes] = [parseQuantity(cpu), parseQuantity(memory)];
  if (time.kind === 'invalid' || bytes.kind === 'invalid') return undefined;
  return { cpu: atLeast(Number(time.nanos)) as NanoCores, memory: atLeast(toBytes(bytes)) as Bytes };
}

function atLeast(figure: number): number {
  return Math.max(LEAST, figure);
}

/** What all of them use together. */
export function totalUsage(usages: readonly Usage[]): Usage {
  const sum = (figure: (usage: Usage) => number) => atLeast(usages.reduce((all, usage) => all + figure(usage), 0));
  return { cpu: sum(({ cpu }) => cpu) as NanoCores, memory: sum(({ memory }) => memory) as Bytes };
}

/** The usage of a node at `now` (ms since the epoch) from that of its pods; its CPU time goes on from what was told before. */
export function nodeUsageAt(pods: readonly PodUsage[], before: NodeUsage | undefined, now: number): NodeUsage {
  const usage = totalUsage(pods.flatMap(({ containers }) => containers));
  const seconds = before === undefined ? WINDOW_SECONDS : Math.max(0, now - before.takenAt) / 1_000;
  return { ...usage, cpuSeconds: (before?.cpuSeconds ?? 0) + (usage.cpu * seconds) / 1e9, takenAt: now };
}

/** One kind of figure and its lines. */
interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  readonly lines: readonly string[];
}

/** The page `/metrics/resource`, in Prometheus' text format with the names that kubelets use. `failed`: a target did not answer. */
export function toResourceMetrics(pods: readonly PodUsage[], node: NodeUsage | undefined, failed: boolean): string {
  const ofContainers = (figure: (usage: Usage, takenAt: number) => string) =>
    pods.flatMap(({ namespace, name, takenAt, containers }) =>
      containers.map((usage) => `{container="${usage.name}",namespace="${namespace}",pod="${name}"} ${figure(usage, takenAt)}`));
  const ofNode = (figure: (usage: NodeUsage) => string) => (node === undefined ? [] : [` ${figure(node)} ${node.takenAt}`]);
  const families: readonly Family[] = [
    { name: 'container_cpu_usage_seconds_total', type: 'counter', help: 'CPU time of the container, in s', lines: ofContainers(({ cpu }, at) => `${seconds((cpu * WINDOW_SECONDS) / 1e9)} ${at}`) },
    { name: 'container_memory_working_set_bytes', type: 'gauge', help: 'Working set of the container, in bytes', lines: ofContainers(({ memory }, at) => `${memory} ${at}`) },
    { name: 'container_start_time_seconds', type: 'gauge', help: 'Since when its CPU time is told, in s since the epoch', lines: ofContainers((_usage, at) => seconds(at / 1_000 - WINDOW_SECONDS)) },
    { name: 'node_cpu_usage_seconds_total', type: 'counter', help: 'CPU time of all elected pods of the node, in s', lines: ofNode(({ cpuSeconds }) => seconds(cpuSeconds)) },
    { name: 'node_memory_working_set_bytes', type: 'gauge', help: 'Working set of all elected pods of the node, in bytes', lines: ofNode(({ memory }) => String(memory)) },
    { name: 'resource_scrape_error', type: 'gauge', help: '1 when a target did not tell its figures, else 0', lines: [` ${failed ? 1 : 0}`] },
  ];
  return families.map(({ name, type, help, lines }) => `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.map((line) => `${name}${line}\n`).join('')}`).join('');
}

function seconds(value: number): string {
  return value.toFixed(9);
}

/** The page `/stats/summary` (kubelet's `stats/v1alpha1` Summary), as far as it is known of pods that run elsewhere. */
export function toStatsSummary(nodeName: string, pods: readonly PodUsage[], node: NodeUsage): object {
  return {
    node: { nodeName, ...toStats(node, node.takenAt) },
    pods: pods.map(({ namespace, name, uid, takenAt, containers }) => ({
      podRef: { name, namespace, uid },
      ...toStats(totalUsage(containers), takenAt),
      containers: containers.map((usage) => ({ name: usage.name, ...toStats(usage, takenAt) })),
    })),
  };
}

function toStats({ cpu, memory }: Usage, takenAt: number): object {
  const time = new Date(takenAt).toISOString();
  return { cpu: { time, usageNanoCores: cpu }, memory: { time, workingSetBytes: memory } };
}
