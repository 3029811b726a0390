// What an API server of a source serves of targets, for commands that look at them.
import type { ClusterTarget } from '../../../api/kinds/cluster-target.ts';
import type { Node, Secret } from '../../../api/objects/core.ts';
import { PROVIDER_KEY, PROVIDER_VALUE } from '../../../api/objects/keys.ts';
import { virtualNodeName } from '../../../model/naming/names.ts';
import type { ServedObjects } from './answering-api-server.ts';
import { CREATED_AT } from '../objects/builders.ts';

/** A ClusterTarget, the Secret with this kubeconfig and its virtual node. */
export function servedTarget(name: string, kubeconfig: string): {
  readonly target: ClusterTarget; readonly secret: Secret; readonly node: Node
} {
  const metadata = { name, uid: `uid-${name}`, resourceVersion: '1', creationTimestamp: CREATED_AT };
  const data = { config: Buffer.from(kubeconfig).toString('base64') };
  return {
    target: { metadata, spec: { kubeconfigSecret: { namespace: 'isthmus-system', name } } },
    secret: { metadata: { ...metadata, namespace: 'isthmus-system' }, data },
    node: {
      metadata: {
        ...metadata, name: virtualNodeName({ kind: 'ClusterTarget', name }), labels: { [PROVIDER_KEY]: PROVIDER_VALUE },
      },
      spec: {},
    },
  };
}

/** A source with these targets and a namespace team-a that has opted in; `more` adds to it. */
export function servedSource(
  targets: readonly ReturnType<typeof servedTarget>[], more: ServedObjects = {},
): ServedObjects {
  const namespace = (name: string, labels = {}) =>
    ({ metadata: { name, uid: `uid-${name}`, resourceVersion: '1', labels } });
  return {
    namespaces: [namespace('kube-system'), namespace('team-a', { 'multicluster-scheduler': 'enabled' })],
    clustertargets: targets.map(({ target }) => target), targets: [],
    secrets: targets.map(({ secret }) => secret), nodes: targets.map(({ node }) => node),
    pods: [],
    placementpolicies: [], clusterplacementpolicies: [], configmaps: [], namespaceelections: [], clustersummaries: [],
    ...more,
  };
}
