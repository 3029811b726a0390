// Plans a sandbox cluster before anything starts: names, folders, ports and CIDRs. Pure; the ports are arguments.
import { join } from 'node:path';
import { hostPort } from '../../model/network/socket-address.ts';
import {
  addressIn, ofEach, planRealNetwork, serviceRange, slotPodRange, type IpFamilies, type RealNetworkPlan,
} from './real-node-plan.ts';

/** The programs of one cluster, in the order in which they are started. */
export const componentNames = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok'] as const;

/** The name of one program of a cluster. */
export type ComponentName = (typeof componentNames)[number];

/** TCP ports on 127.0.0.1 that one cluster listens on; etcd listens on Unix sockets in the cluster's folder. */
export interface ClusterPorts {
  readonly apiServer: number;
  /** The kubelet port of every node. */
  readonly kubelet: number;
  /** kwok's own port, behind the kubelet port. */
  readonly kwok: number;
}

/** How many ports {@link clusterPorts} takes. */
export const portsPerCluster = 3;

/** Everything that is decided about one cluster before its start. */
export interface ClusterPlan {
  readonly name: string;
  /** Absolute folder with everything of this cluster but its kubeconfig. */
  readonly directory: string;
  /** Absolute path of the admin kubeconfig. */
  readonly kubeconfigPath: string;
  readonly ports: ClusterPorts;
  /** One range of each family, the cluster's first. */
  readonly serviceCidrs: readonly string[];
  /** One range of each family. */
  readonly podCidrs: readonly string[];
  readonly region: string;
  /** Address that the API server listens on. */
  readonly address: string;
  /** Number of nodes, simulated by kwok unless `realNetwork` is there. */
  readonly nodes: number;
  /** The network of the cluster's real nodes. */
  readonly realNetwork?: RealNetworkPlan;
  /** `nvidia.com/gpu` of each node. */
  readonly gpus: number;
  /** Whether the API server writes an audit log. */
  readonly audit: boolean;
  /** Client limits in requests a second. */
  readonly clientLimits: ClientLimits;
  /** Whether certificate signing requests are signed. */
  readonly signsCertificates: boolean;
}

/**
 * Client limits of the control plane's own programs in requests a second; a limit that is left out is the stock one.
 */
export interface ClientLimits {
  /** Stock: 50, bursts of 100. */
  readonly scheduler?: number;
  /** Stock: 20, bursts of 30. */
  readonly controllerManager?: number;
}

/** The parameters of a sandbox; every number is already checked. */
export interface SandboxShape {
  /** Absolute folder of the sandbox. */
  readonly directory: string;
  readonly targets: number;
  /** Nodes of every target. */
  readonly nodes: number;
  /** Nodes of the source; plain clusters of users have some, a demo needs none. */
  readonly sourceNodes: number;
  readonly gpus: number;
  readonly audit: boolean;
  readonly clientLimits: ClientLimits;
  /** With real nodes: the families of each cluster in turn; IPv4 alone where there is none. */
  readonly families?: readonly IpFamilies[];
  /** With real nodes: the first of the slots that the clusters' networks take, one for each. */
  readonly firstSlot?: number;
}

/** Most targets of one sandbox: the address ranges below have room for so many. */
export const maxTargets = 60;

/**
 * With more targets no cluster signs certificate requests: its signers hold four of the 11 inotify instances of a
 * control plane, and Linux gives a user 128.
 */
const mostTargetsThatSign = 8;

/** The regions targets are said to be in, in turn. */
const regions = ['eu-west', 'us-east', 'ap-south', 'eu-north', 'us-west', 'ap-northeast'];

/** The names of the clusters, the source first: `source`, `target-1`, `target-2`, … */
export function clusterNames(targets: number): readonly string[] {
  return ['source', ...Array.from({ length: targets }, (_, index) => `target-${index + 1}`)];
}

/** Names the ports that were found free for one cluster; throws when there are fewer than {@link portsPerCluster}. */
export function clusterPorts(free: readonly number[]): ClusterPorts {
  const [apiServer = 0, kubelet = 0, kwok = 0] = free;
  if (kwok === 0) throw new RangeError(`A cluster needs ${portsPerCluster} ports, got ${free.length}`);
  return { apiServer, kubelet, kwok };
}

/**
 * One plan per cluster, the source first. Service and pod ranges of the clusters do not overlap, so that an address
 * names its cluster. `ports` has one entry per cluster.
 */
export function planClusters(shape: SandboxShape, ports: readonly ClusterPorts[]): readonly ClusterPlan[] {
  return clusterNames(shape.targets).map((name, index) => {
    const own = ports[index];
    if (own === undefined) throw new RangeError(`No ports for cluster ${name}`);
    const directory = join(shape.directory, name);
    return {
      name,
      directory,
      kubeconfigPath: join(shape.directory, `${name}.kubeconfig`),
      ports: own,
      region: index === 0 ? 'home' : (regions[(index - 1) % regions.length] ?? 'home'),
      ...nodesOf(shape, name, index),
      gpus: shape.gpus,
      audit: shape.audit,
      clientLimits: shape.clientLimits,
      signsCertificates: shape.targets <= mostTargetsThatSign,
    };
  });
}

/** How many nodes a cluster has, of what kind, and the addresses that follow from it. */
function nodesOf(
  shape: SandboxShape, clusterName: string, index: number,
): Pick<ClusterPlan, 'address' | 'nodes' | 'serviceCidrs' | 'podCidrs' | 'realNetwork'> {
  const nodes = index === 0 ? shape.sourceNodes : shape.nodes;
  if (shape.firstSlot === undefined) {
    return { address: '127.0.0.1', nodes, serviceCidrs: [serviceRange(index)], podCidrs: [slotPodRange(index)] };
  }
  const slot = shape.firstSlot + index;
  const families = shape.families?.[index] ?? ['IPv4'];
  const directory = join(shape.directory, clusterName);
  const realNetwork = planRealNetwork({ clusterName, directory, nodes, families, slot });
  const [address = ''] = realNetwork.addresses;
  return {
    address, nodes, serviceCidrs: ofEach(families, (family) => serviceRange(index, family)),
    podCidrs: ofEach(families, (family) => slotPodRange(slot, family)), realNetwork,
  };
}

/** Absolute path of one of a cluster's files. */
export function clusterFile(plan: ClusterPlan, ...names: readonly string[]): string {
  return join(plan.directory, ...names);
}

/** The address of a cluster's API server. */
export function serverUrl(plan: ClusterPlan): string {
  return `https://${hostPort(plan.address, plan.ports.apiServer)}`;
}

/** The first address of the service range: the API server's own Service `kubernetes`. */
export function apiServiceAddress(plan: ClusterPlan): string {
  return serviceAddress(plan, 1);
}

/** An address of the first service range by its number. */
export function serviceAddress(plan: ClusterPlan, number: number): string {
  return addressIn(plan.serviceCidrs[0] ?? '', number);
}
