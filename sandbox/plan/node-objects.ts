// The Node objects of a sandbox cluster. Pure. kwok, or each real node's kubelet, adds conditions, addresses and the
// kubelet port.
import { kwokNodeAnnotation } from './component-arguments.ts';
import type { ClusterPlan } from './cluster-plan.ts';
import type { RealNetworkPlan } from './real-node-plan.ts';

/** Zones of a region, given to its nodes in turn. */
const zones = ['a', 'b', 'c'];

/** A simulated Node as it is sent to the API server. */
export interface NodeObject {
  readonly apiVersion: 'v1';
  readonly kind: 'Node';
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly status: {
    readonly capacity: Readonly<Record<string, string>>;
    readonly allocatable: Readonly<Record<string, string>>;
    readonly nodeInfo: { readonly architecture: 'amd64'; readonly operatingSystem: 'linux' };
  };
}

function resources(gpus: number): Readonly<Record<string, string>> {
  const plain = { cpu: '32', memory: '128Gi', pods: '110', 'ephemeral-storage': '100Gi' };
  return gpus > 0 ? { ...plain, 'nvidia.com/gpu': String(gpus) } : plain;
}

function labels(plan: ClusterPlan, name: string, index: number): Readonly<Record<string, string>> {
  return {
    'kubernetes.io/hostname': name,
    'kubernetes.io/arch': 'amd64',
    'kubernetes.io/os': 'linux',
    'node.kubernetes.io/instance-type': plan.gpus > 0 ? 'sandbox-gpu-32cpu-128gi' : 'sandbox-32cpu-128gi',
    'topology.kubernetes.io/region': plan.region,
    'topology.kubernetes.io/zone': `${plan.region}-${zones[index % zones.length]}`,
  };
}

/**
 * The nodes of a cluster, named `<cluster>-node-1` and so on, each with 32 CPU, 128Gi, 110 pods and 100Gi of ephemeral
 * storage.
 */
export function nodeObjects(plan: ClusterPlan): readonly NodeObject[] {
  return Array.from({ length: plan.nodes }, (_, index) => {
    const name = `${plan.name}-node-${index + 1}`;
    return {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name,
        labels: labels(plan, name, index),
        annotations: { [kwokNodeAnnotation.key]: kwokNodeAnnotation.value },
      },
      status: {
        capacity: resources(plan.gpus),
        allocatable: resources(plan.gpus),
        nodeInfo: { architecture: 'amd64', operatingSystem: 'linux' },
      },
    };
  });
}

/** A real Node before its kubelet adds what it knows: this machine's size, its addresses and conditions. */
export interface RealNodeObject {
  readonly apiVersion: 'v1';
  readonly kind: 'Node';
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: { readonly podCIDR: string; readonly podCIDRs: readonly string[] };
}

/** The real nodes of a cluster. */
export function realNodeObjects(plan: ClusterPlan, { nodes }: RealNetworkPlan): readonly RealNodeObject[] {
  return nodes.map(({ name, podRanges }, index) => {
    const { 'node.kubernetes.io/instance-type': _simulated, ...known } = labels(plan, name, index);
    const spec = { podCIDR: podRanges[0] ?? '', podCIDRs: podRanges };
    return { apiVersion: 'v1', kind: 'Node', metadata: { name, labels: known }, spec };
  });
}
