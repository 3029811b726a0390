// Nodes and pods of a large mixed cluster, with a cloud provider's labels: pools of several instance types in three
// zones, some with GPUs.
import type { Node, Pod, ResourceList, Taint } from '../../api/objects/core.ts';
import type { RandomSource } from './random-source.ts';

interface InstanceType {
  readonly name: string;
  readonly room: ResourceList;
  readonly gpu?: string;
}

const GPU = 'nvidia.com/gpu';
const room = (cpu: number, gib: number, rest: ResourceList = {}): ResourceList => (
  {
    cpu: `${cpu * 1000 - 80}m`, memory: `${gib * 1024 * 1024 - 1_051_000}Ki`, 'ephemeral-storage': '95551679124',
    pods: cpu > 8 ? '234' : '58', ...rest,
  }
);

/** Instance types; the last three have GPUs or slices of them. */
export const INSTANCE_TYPES: readonly InstanceType[] = [
  { name: 'm6i.xlarge', room: room(4, 16) },
  { name: 'm6i.4xlarge', room: room(16, 64) }, { name: 'c6i.2xlarge', room: room(8, 16) },
  { name: 'c6i.8xlarge', room: room(32, 64) },
  { name: 'r6i.2xlarge', room: room(8, 64) }, { name: 'r6i.8xlarge', room: room(32, 256) },
  { name: 'g5.12xlarge', room: room(48, 192, { [GPU]: '4' }), gpu: 'NVIDIA-A10G' },
  { name: 'p4d.24xlarge', room: room(96, 1152, { [GPU]: '8' }), gpu: 'NVIDIA-A100-SXM4-40GB' },
  { name: 'p4de.24xlarge', room: room(96, 1152, { 'nvidia.com/mig-1g.10gb': '56' }), gpu: 'NVIDIA-A100-SXM4-80GB' },
];

/** A ready node. Its hostname, instance ID and feature timestamp are its own; all else it shares. */
export function syntheticNode(index: number, random: RandomSource): Node {
  const type = random.chance(0.1) ? random.oneOf(INSTANCE_TYPES.slice(6)) : random.oneOf(INSTANCE_TYPES.slice(0, 6));
  const zone = `eu-west-1${random.oneOf(['a', 'b', 'c'])}`;
  const name = `ip-10-${index >> 8}-${index & 255}-${random.below(250)}.eu-west-1.compute.internal`;
  const taints: Taint[] = type.gpu === undefined ? [] : [{ key: GPU, value: 'present', effect: 'NoSchedule' }];
  const metadata = {
    name,
    labels: { ...labelsOf(name, type, zone), 'example.com/instance-id': `i-0${(index * 2654435761).toString(16)}` },
  };
  return {
    apiVersion: 'v1', kind: 'Node', metadata, spec: { taints },
    status: { capacity: type.room, allocatable: type.room, conditions: [{ type: 'Ready', status: 'True' }] },
  };
}

function labelsOf(name: string, type: InstanceType, zone: string): Record<string, string> {
  const pool = type.gpu === undefined ? 'general' : 'gpu';
  return {
    'beta.kubernetes.io/arch': 'amd64', 'beta.kubernetes.io/instance-type': type.name, 'beta.kubernetes.io/os': 'linux',
    'eks.amazonaws.com/capacityType': 'ON_DEMAND',
    'eks.amazonaws.com/nodegroup': `${pool}-${type.name.replace('.', '-')}`,
    'failure-domain.beta.kubernetes.io/region': 'eu-west-1', 'failure-domain.beta.kubernetes.io/zone': zone,
    'k8s.io/cloud-provider-aws': 'f94b1d0f4d7a9b9b7d0d7f1e3cbb0b4c',
    'kubernetes.io/arch': 'amd64', 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux',
    'node.kubernetes.io/instance-type': type.name, 'topology.ebs.csi.aws.com/zone': zone,
    'topology.kubernetes.io/region': 'eu-west-1', 'topology.kubernetes.io/zone': zone,
    ...(type.gpu !== undefined && {
      'nvidia.com/gpu.present': 'true',
      'nvidia.com/gpu.product': type.gpu, 'nvidia.com/gpu.count': '8', 'nvidia.com/gpu.family': 'ampere',
      'nvidia.com/gpu.memory': '40960', 'nvidia.com/gfd.timestamp': `17${name.length}${name.replace(/\D/g, '')}`,
    }),
  };
}

/** Requests as users write them: a few sizes of CPU and memory, any combination. */
export function syntheticRequests(random: RandomSource): ResourceList {
  return {
    cpu: `${random.oneOf([50, 100, 250, 500, 1000, 2000])}m`,
    memory: `${random.oneOf([64, 128, 256, 512, 1024, 2048, 4096])}Mi`,
  };
}

/** A pod that runs on a node. */
export function syntheticPod(index: number, nodeName: string, random: RandomSource): Pod {
  return {
    apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'team-a', name: `web-${index}`, uid: `uid-${index}` },
    spec:
      { nodeName, containers: [{ name: 'app', image: 'app:1', resources: { requests: syntheticRequests(random) } }] },
    status: { phase: 'Running' },
  };
}
