// What Admiralty 0.17 leaves in two clusters for one elected pod: the proxy in the source and the PodChaperon in the
// target, in the shape that its
// webhook, scheduler and controllers give them (its `pkg/model/proxypod` and `pkg/model/delegatepod`).
import { stringify } from 'yaml';
import type { Pod } from '../../../api/objects/core.ts';
import type { PodChaperon } from '../../../api/kinds/pod-chaperon.ts';

const P = 'multicluster.admiralty.io/';

/** Where a pod is, and what it is called. */
export interface AdmiraltyPod {
  readonly namespace: string;
  readonly name: string;
  /** Virtual node; missing before the bind. */
  readonly nodeName?: string;
  /** Finalizers of its namespaced Targets. */
  readonly finalizers?: readonly string[];
}

/** The proxy pod, ready to be created. */
export function admiraltyProxy({ namespace, name, nodeName, finalizers = [] }: AdmiraltyPod): Pod {
  const containers = [{ name: 'main', image: 'example/main:1' }];
  const manifest = stringify({
    apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, annotations: { [`${P}elect`]: '' } },
    spec: { containers },
  });
  return {
    metadata: {
      namespace, name, labels: { [`${P}has-finalizer`]: 'true' },
      annotations: { [`${P}elect`]: '', [`${P}sourcepod-manifest`]: manifest }, finalizers,
    },
    spec: {
      containers, schedulerName: 'admiralty-proxy',
      terminationGracePeriodSeconds: 0, nodeSelector: { 'virtual-kubelet.io/provider': 'admiralty' },
      tolerations: [{ key: 'virtual-kubelet.io/provider', value: 'admiralty' }, {
        key: 'node.kubernetes.io/network-unavailable', operator: 'Exists',
      }], ...(nodeName !== undefined && { nodeName }),
    },
  };
}

/**
 * The chaperon of a stored proxy. Its name is generated, and `clusterName` is what the values of Admiralty's chart say.
 */
export function admiraltyChaperon(
  { metadata: { namespace, name = '', uid = '' } }: Pod, clusterName: string, suffix = 'x7k2p',
): PodChaperon {
  return {
    metadata: {
      namespace,
      name: `${name}-${suffix}`, labels: { [`${P}parent-uid`]: uid, [`${P}parent-cluster-name`]: clusterName },
      annotations: {
        [`${P}parent-name`]: name, [`${P}parent-namespace`]: namespace, [`${P}is-reserved`]: 'true',
        [`${P}is-allowed`]: 'true',
      },
    },
    spec: { containers: [{ name: 'main', image: 'example/main:1' }], schedulerName: 'admiralty-candidate' },
  } as PodChaperon;
}
