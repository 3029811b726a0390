// Resource usage of elected pods in the formats of a kubelet (Kubernetes `pkg/kubelet/metrics/collectors` resource
// metrics, and the Summary API), computed from the target's metrics server. The source's metrics-server reads it, and
// so kubectl top works.
import type { ResourceList } from '../../api/objects/core.ts';
import type { PodMetrics } from '../../api/objects/pod-metrics.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { parseQuantity, toBytes, type Bytes } from '../../model/resources/quantity.ts';

declare const unit: unique symbol;

/** CPU usage in 10^-9 cores, as the Summary API counts it. */
export type NanoCores = number & { readonly [unit]: 'NanoCores' };

/** Average over an interval (CPU), or the value at its end (memory). */
export interface Usage {
  readonly cpu: NanoCores;
  readonly memory: Bytes;
}

/** Usage of one pod. */
export interface PodUsage {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** End of the interval, in ms since the epoch. */
  readonly takenAt: number;
  readonly containers: readonly (Usage & { readonly name: string })[];
}

/** Usage of a virtual node: of the elected pods on it. */
export interface NodeUsage extends Usage {
  /** CPU time since the first response, in s. */
  readonly cpuSeconds: number;
  /** In ms since the epoch. */
  readonly takenAt: number;
}

/**
 * The CPU time of a container is published as if it had started this many seconds before the sample, with constant
 * usage since. metrics-server (≥ 0.5, `pkg/storage/pod.go`) then needs no earlier sample, so any replica may respond at
 * any time. It does this for at least 10 s, and less than its resolution, which is 15 s or 60 s in every usual
 * installation.
 */
const WINDOW_SECONDS = 11;
/**
 * CPU time is published a ten-millionth lower: metrics-server reads the start as a float of nanoseconds, and kubectl
 * rounds what it makes of it up to a milli-CPU.
 */
const ROUNDED_DOWN = 1 - 1e-7;
/** metrics-server treats 0 as missing, and then leaves out the pod. */
const LEAST = 1;

/**
 * Usage of the delegate of `proxy`, without containers that only the target has. Undefined when the metrics are of no
 * use.
 */
export function toPodUsage(
  { timestamp = '', containers = [] }: PodMetrics, { namespace, name, uid, containers: known = [] }: ProxyPod,
): PodUsage | undefined {
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

function atLeast(value: number): number {
  return Math.max(LEAST, value);
}

/** Their total usage. */
function totalUsage(usages: readonly Usage[]): Usage {
  const sum = (valueOf: (usage: Usage) => number) => atLeast(usages.reduce((all, usage) => all + valueOf(usage), 0));
  return { cpu: sum(({ cpu }) => cpu) as NanoCores, memory: sum(({ memory }) => memory) as Bytes };
}

/**
 * Usage of a node at `now` (ms since the epoch) from that of its pods; its CPU time continues from the previous value.
 */
export function nodeUsageAt(pods: readonly PodUsage[], before: NodeUsage | undefined, now: number): NodeUsage {
  const usage = totalUsage(pods.flatMap(({ containers }) => containers));
  const seconds = before === undefined ? WINDOW_SECONDS : Math.max(0, now - before.takenAt) / 1_000;
  return { ...usage, cpuSeconds: (before?.cpuSeconds ?? 0) + (usage.cpu * seconds) / 1e9, takenAt: now };
}

/** A metric family with its lines. */
interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  readonly lines: readonly string[];
}

/**
 * The page `/metrics/resource`, in Prometheus' text format with the kubelet's metric names. `failed`: a target did not
 * respond.
 */
export function toResourceMetrics(pods: readonly PodUsage[], node: NodeUsage | undefined, failed: boolean): string {
  const ofContainers = (valueOf: (usage: Usage, takenAt: number) => string) =>
    pods.flatMap(({ namespace, name, takenAt, containers }) =>
      containers.map(
        (usage) => `{container="${usage.name}",namespace="${namespace}",pod="${name}"} ${valueOf(usage, takenAt)}`,
      ));
  const ofNode = (valueOf: (usage: NodeUsage) => string) =>
    (node === undefined ? [] : [` ${valueOf(node)} ${node.takenAt}`]);
  const families: readonly Family[] = [
    {
      name: 'container_cpu_usage_seconds_total', type: 'counter', help: 'CPU time of the container, in s',
      lines: ofContainers(({ cpu }, at) => `${seconds((ROUNDED_DOWN * cpu * WINDOW_SECONDS) / 1e9)} ${at}`),
    },
    {
      name: 'container_memory_working_set_bytes', type: 'gauge', help: 'Working set of the container, in bytes',
      lines: ofContainers(({ memory }, at) => `${memory} ${at}`),
    },
    {
      name: 'container_start_time_seconds', type: 'gauge',
      help: 'Start of its CPU time, in s since the epoch',
      lines: ofContainers((_usage, at) => seconds(at / 1_000 - WINDOW_SECONDS)),
    },
    {
      name: 'node_cpu_usage_seconds_total', type: 'counter', help: 'CPU time of all elected pods of the node, in s',
      lines: ofNode(({ cpuSeconds }) => seconds(cpuSeconds)),
    },
    {
      name: 'node_memory_working_set_bytes', type: 'gauge',
      help: 'Working set of all elected pods of the node, in bytes', lines: ofNode(({ memory }) => String(memory)),
    },
    {
      name: 'resource_scrape_error', type: 'gauge', help: '1 if the usage in a target could not be read, else 0',
      lines: [` ${failed ? 1 : 0}`],
    },
  ];
  return families.map(
    ({ name, type, help, lines }) =>
      `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.map((line) => `${name}${line}\n`).join('')}`,
  ).join('');
}

function seconds(value: number): string {
  return value.toFixed(9);
}

/**
 * The page `/stats/summary` (kubelet's `stats/v1alpha1` Summary), with the fields that are known of pods in a target.
 */
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
