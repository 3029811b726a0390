// The configuration files of a real node's programs. Pure.
import { stringify } from 'yaml';
import { EVERY_ADDRESS } from '../../model/network/socket-address.ts';
import { clusterFile, serviceAddress, type ClusterPlan } from './cluster-plan.ts';
import type { RealNodePlan } from './real-node-plan.ts';

/** What a node is configured with beside its plan. */
export interface NodeSurroundings {
  /** `http://ADDRESS:PORT` of the registry that stands for all registries. */
  readonly registry: string;
  /** Folders with executables: the CNI plugins, and runc. */
  readonly cniPlugins: string;
  readonly runc: string;
}

/** The sandbox's images that every pod and the cluster's DNS are made of. */
export const pauseImage = 'registry.k8s.io/pause:3.10';

/** Bytes of a packet between nodes, less room for the pod plane's headers. */
const podMtu = 1_450;

const yaml = (value: object): string => stringify(value, { lineWidth: 0 });

/** TOML's basic strings are JSON's. */
const toml = (text: string): string => JSON.stringify(text);

/**
 * containerd's configuration, in its third version. It may not lower the OOM score below its own: this machine's root
 * may lack the capability, as in a container.
 */
function containerd(node: RealNodePlan, { cniPlugins, runc }: NodeSurroundings): string {
  const images = "plugins.'io.containerd.cri.v1.images'";
  const runtime = "plugins.'io.containerd.cri.v1.runtime'";
  return `version = 3
[${images}.pinned_images]
  sandbox = ${toml(pauseImage)}
[${images}.registry]
  config_path = ${toml(`${node.directory}/certs.d`)}
[${runtime}]
  restrict_oom_score_adj = true
[${runtime}.cni]
  bin_dirs = [${toml(cniPlugins)}]
  conf_dir = ${toml(`${node.directory}/cni`)}
[${runtime}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[${runtime}.containerd.runtimes.runc.options]
  BinaryName = ${toml(runc)}
  SystemdCgroup = false
`;
}

/** Every registry is the sandbox's; a parameter says which one was meant. */
function registryHosts({ registry }: NodeSurroundings): string {
  return `server = ${toml(registry)}\n[host.${toml(registry)}]\n  capabilities = ["pull", "resolve"]\n`;
}

/** Pods are connected to their node by a pair of interfaces each, and routed. */
function cni(node: RealNodePlan): string {
  const ipam = {
    type: 'host-local', ranges: node.podRanges.map((subnet) => [{ subnet }]),
    routes: node.podRanges.map((range) => ({ dst: range.includes(':') ? '::/0' : '0.0.0.0/0' })),
  };
  return JSON.stringify({
    cniVersion: '1.0.0',
    name: 'sandbox',
    plugins: [
      { type: 'ptp', ipMasq: false, mtu: podMtu, ipam }, { type: 'portmap', capabilities: { portMappings: true } },
    ],
  });
}

function kubelet(plan: ClusterPlan, node: RealNodePlan): string {
  return yaml({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: node.addresses.some((one) => one.includes(':')) ? EVERY_ADDRESS : '0.0.0.0',
    authentication: { anonymous: { enabled: false }, x509: { clientCAFile: clusterFile(plan, 'pki', 'ca.crt') } },
    authorization: { mode: 'Webhook' },
    tlsCertFile: clusterFile(plan, 'pki', `${node.name}-server.crt`),
    tlsPrivateKeyFile: clusterFile(plan, 'pki', `${node.name}-server.key`),
    containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
    cgroupDriver: 'cgroupfs',
    failCgroupV1: false,
    failSwapOn: false,
    makeIPTablesUtilChains: false,
    clusterDomain: 'cluster.local',
    clusterDNS: [serviceAddress(plan, 10)],
    resolvConf: `${node.directory}/resolv.conf`,
    // A sandbox shares its disk and memory with everything else on the machine, and evicts only at the very end.
    imageGCHighThresholdPercent: 100,
    evictionHard: { 'memory.available': '50Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
    nodeStatusUpdateFrequency: '5s',
    syncFrequency: '10s',
  });
}

function kubeProxy(plan: ClusterPlan, node: RealNodePlan): string {
  return yaml({
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'nftables',
    hostnameOverride: node.name,
    clusterCIDR: plan.podCidrs.join(','),
    clientConnection: { kubeconfig: clusterFile(plan, 'kube-proxy.kubeconfig') },
    // The limits of connection tracking belong to the whole machine: they stay as they are.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  });
}

/** Pods' packets to outside the cluster go out under the node's address. */
function masquerade(plan: ClusterPlan, node: RealNodePlan): string {
  const tables = node.podRanges.map((range, index) => {
    const family = range.includes(':') ? 'ip6' : 'ip';
    const condition = `${family} saddr ${range} ${family} daddr != ${plan.podCidrs[index]} oifname "eth0"`;
    return `table ${family} sandbox {\n  chain postrouting {\n    type nat hook postrouting priority srcnat; ` +
      `policy accept;\n    ${condition} masquerade\n  }\n}\n`;
  });
  return tables.join('');
}

/** The files of a node by their paths within its folder. */
export function nodeFiles(
  plan: ClusterPlan, node: RealNodePlan, surroundings: NodeSurroundings,
): Readonly<Record<string, string>> {
  return {
    'containerd.toml': containerd(node, surroundings),
    'certs.d/_default/hosts.toml': registryHosts(surroundings),
    'cni/10-sandbox.conflist': cni(node),
    'kubelet.yaml': kubelet(plan, node),
    'kube-proxy.yaml': kubeProxy(plan, node),
    'masquerade.nft': masquerade(plan, node),
    'resolv.conf': 'search invalid\nnameserver 127.0.0.1\n',
  };
}
