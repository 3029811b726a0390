import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Node, OwnerReference, Pod } from '../../../../api/objects/core.ts';
import {
  CLUSTER_TARGET_NAME_LABEL, DELEGATE_NAME_ANNOTATION, ELECT_ANNOTATION, PARENT_UID_LABEL, PROVIDER_KEY, PROVIDER_VALUE,
} from '../../../../api/objects/keys.ts';
import { delegateEdges, placementMap, type MapListings } from '../../../../dashboard/headlamp/placement-map.ts';
import type { HeadlampObject, Listing } from '../../../../dashboard/headlamp/plugin-lib.ts';
import { inHeadlamp, listed, READING, refused } from '../../../support/doubles/headlamp-double.ts';
import { shownPod, type ShownPod } from '../../../support/objects/seen-pods.ts';

const nodeIn = (node: Node, kind: string, cluster: string): HeadlampObject => inHeadlamp(node, kind, cluster);
const proxy = (given: ShownPod = {}, cluster = 'source'): HeadlampObject => (
  inHeadlamp(shownPod({ ...given, annotations: { [ELECT_ANNOTATION]: '', ...given.annotations } }), 'Pod', cluster)
);
const virtualNode = (name: string, more: Omit<Node, 'metadata'> = {}, cluster = 'source'): HeadlampObject => nodeIn({
  metadata: {
    name: `admiralty-${name}`, uid: `node-${cluster}-${name}`,
    labels: { [PROVIDER_KEY]: PROVIDER_VALUE, [CLUSTER_TARGET_NAME_LABEL]: name },
  },
  status: { conditions: [{ type: 'TargetReady', status: 'True' }] }, ...more,
}, 'Node', cluster);
const workload = (kind: string, uid: string, owner?: string, cluster = 'source'): HeadlampObject => inHeadlamp({
  metadata: { name: uid, uid, ...(owner !== undefined && { ownerReferences: [{ uid: owner } as OwnerReference] }) },
}, kind, cluster);
const delegateOf = (uid: string, name = 'web-1-abc', cluster = 'eu'): HeadlampObject => inHeadlamp({
  metadata: { namespace: 'shop', name, uid: `delegate-${cluster}-${name}`, labels: { [PARENT_UID_LABEL]: uid } },
  spec: { containers: [] },
} as Pod, 'Pod', cluster);

const drawn = (given: Partial<MapListings>) => {
  const map = placementMap({ pods: listed(), nodes: listed(), workloads: {}, ...given });
  return {
    boxes: map?.nodes.map(({ id }) => id), edges: map?.edges.map(({ source, target }) => `${source} > ${target}`),
    map,
  };
};
const inEu = { target: 'ClusterTarget/eu' };

describe('the map', () => {
  it('leads from workload to pod to target', () => {
    const pod = proxy({ ...inEu, owner: { kind: 'ReplicaSet', name: 'web' } });
    const { boxes, edges } = drawn({
      pods: listed(pod), nodes: listed(virtualNode('eu')),
      workloads: {
        replicasets: listed(workload('ReplicaSet', 'o', 'd')), deployments: listed(workload('Deployment', 'd')),
      },
    });
    assert.deepEqual(boxes, ['node-source-eu', 'uid-shop-web-1', 'o', 'd']);
    assert.deepEqual(edges, ['uid-shop-web-1 > o', 'o > d', 'uid-shop-web-1 > node-source-eu']);
  });

  it('makes no one group of all pods that are in a target', () => {
    const { map } = drawn({ pods: listed(proxy(inEu)), nodes: listed(virtualNode('eu')) });
    assert.deepEqual(map?.edges, [{
      id: 'isthmus-target-uid-shop-web-1', source: 'uid-shop-web-1', target: 'node-source-eu',
      nonGroupingSide: 'target',
    }]);
  });

  it('shows a target without pods, a pod without a target, and neither other pods nor other nodes', () => {
    const others = inHeadlamp({ metadata: { name: 'sidecar', uid: 'x' }, spec: { containers: [] } } as never, 'Pod');
    const worker = inHeadlamp({ metadata: { name: 'worker', uid: 'w' } }, 'Node');
    const { boxes, edges } = drawn({ pods: listed(proxy(), others), nodes: listed(virtualNode('eu'), worker) });
    assert.deepEqual([boxes, edges], [['node-source-eu', 'uid-shop-web-1'], []]);
  });

  it('says of a target whether it is ready and cordoned', () => {
    const lost = { type: 'TargetReady', status: 'False', reason: 'Unreachable' } as const;
    const { map } = drawn({ nodes: listed(
      virtualNode('eu'), virtualNode('us', { spec: { unschedulable: true } }),
      virtualNode('asia', { status: { conditions: [lost] } }),
    ) });
    assert.deepEqual(map?.nodes.map(({ label, subtitle, status }) => [label, subtitle, status]), [
      ['eu', 'Target', 'success'], ['us', 'Target, cordoned', 'warning'], ['asia', 'Target, Unreachable', 'error'],
    ]);
  });

  it('keeps clusters apart that have nodes of one name', () => {
    const { edges } = drawn({
      pods: listed(proxy(inEu), proxy({ ...inEu, name: 'db' }, 'second')),
      nodes: listed(virtualNode('eu'), virtualNode('eu', {}, 'second')),
    });
    assert.deepEqual(edges, ['uid-shop-web-1 > node-source-eu', 'uid-shop-db > node-second-eu']);
  });

  it('leads to the delegate where its cluster is selected', () => {
    const pod = proxy({ ...inEu, annotations: { [DELEGATE_NAME_ANNOTATION]: 'web-1-abc' } });
    const pods = [pod, delegateOf('uid-shop-web-1'), delegateOf('uid-shop-web-1', 'web-1-forged'), delegateOf('other')];
    const { boxes, edges } = drawn({ pods: listed(...pods), nodes: listed(virtualNode('eu')) });
    assert.deepEqual(boxes, ['node-source-eu', 'uid-shop-web-1', 'delegate-eu-web-1-abc']);
    assert.deepEqual(edges, ['uid-shop-web-1 > delegate-eu-web-1-abc', 'uid-shop-web-1 > node-source-eu']);
    assert.deepEqual(delegateEdges(pods), [{
      id: 'isthmus-delegate-uid-shop-web-1-eu', source: 'uid-shop-web-1', target: 'delegate-eu-web-1-abc',
    }]);
  });

  it('takes no owner of another cluster, and ends where owners go in a circle', () => {
    const pod = proxy({ owner: { kind: 'ReplicaSet', name: 'web' } });
    const jobs = listed(workload('Job', 'o', undefined, 'second'));
    assert.deepEqual(drawn({ pods: listed(pod), workloads: { jobs } }).boxes, ['uid-shop-web-1']);
    const circle = listed(workload('ReplicaSet', 'o', 'd'), workload('Deployment', 'd', 'o'));
    assert.deepEqual(drawn({ pods: listed(pod), workloads: { all: circle } }).boxes, ['uid-shop-web-1', 'o', 'd']);
  });
});

describe('what cannot be read', () => {
  it('is waited for while it is being read', () => {
    assert.equal(drawn({ pods: READING }).map, undefined);
    assert.equal(drawn({ nodes: READING }).map, undefined);
  });

  it('makes a box of pods, and of workloads where pods can be read', () => {
    const unreadable = (given: Partial<MapListings>) => (
      drawn(given).map?.nodes.map(({ label, subtitle }) => [label, subtitle])
    );
    const workloads = { jobs: refused() };
    assert.deepEqual(unreadable({ pods: refused(), workloads }), [['pods of cluster source', 'Cannot be shown']]);
    assert.deepEqual(unreadable({ workloads }), [['jobs of cluster source', 'Cannot be shown']]);
  });

  it('leaves the target of a pod on the map, as the pod names it, with the reason', () => {
    const pods = listed(proxy(inEu), proxy({ ...inEu, name: 'db' }));
    const { boxes, edges, map } = drawn({ pods, nodes: refused() });
    assert.deepEqual(boxes, ['isthmus-node-source/admiralty-eu', 'uid-shop-web-1', 'uid-shop-db']);
    assert.equal(edges?.length, 2);
    const [{ label, subtitle, unreadable } = {}] = map?.nodes ?? [];
    assert.deepEqual([label, subtitle], ['eu', 'Target, not readable']);
    assert.match(unreadable?.[0]?.advice ?? '', /permission to list nodes/);
  });

  it('is not taken for a node that is not there, nor the other way round', () => {
    const [box] = drawn({ pods: listed(proxy(inEu)) }).map?.nodes ?? [];
    assert.equal(box?.subtitle, 'Target, without a node');
    const partly: Listing = { items: [], errors: [{ message: 'no', status: 403, cluster: 'source-2' }] };
    const [mine] = drawn({ pods: listed(proxy(inEu)), nodes: partly }).map?.nodes ?? [];
    assert.equal(mine?.subtitle, 'Target, without a node', 'the nodes of another cluster are not readable');
    const unknown: Listing = { items: null, errors: [{ message: 'no route' }] };
    const [any] = drawn({ pods: listed(proxy(inEu)), nodes: unknown }).map?.nodes ?? [];
    assert.equal(any?.subtitle, 'Target, not readable', 'an error without a cluster is of all');
  });
});

describe('every map', () => {
  const cluster = fc.constantFrom('source', 'eu');
  const name = fc.constantFrom('a', 'b', 'c');
  const objects = fc.array(fc.oneof(
    fc.tuple(name, cluster, fc.boolean()).map(([one, at, isBound]) => (
      proxy({ name: one, ...(isBound && { ...inEu, annotations: { [DELEGATE_NAME_ANNOTATION]: `${one}-x` } }) }, at)
    )),
    fc.tuple(name, cluster).map(([one, at]) => delegateOf(`uid-shop-${one}`, `${one}-x`, at)),
  ), { maxLength: 12 });

  it('has only lines between its boxes', () => {
    fc.assert(fc.property(objects, fc.boolean(), (pods, isReadable) => {
      const map = placementMap({
        pods: listed(...pods), nodes: isReadable ? listed(virtualNode('eu')) : refused(), workloads: {},
      });
      const ids = new Set(map?.nodes.map(({ id }) => id));
      for (const { source, target } of map?.edges ?? []) assert.ok(ids.has(source) && ids.has(target));
    }));
  });

  it('has every proxy pod', () => {
    fc.assert(fc.property(objects, (pods) => {
      const map = placementMap({ pods: listed(...pods), nodes: listed(), workloads: {} });
      const ids = new Set(map?.nodes.map(({ id }) => id));
      for (const { jsonData } of pods) {
        if ((jsonData as Pod).spec.schedulerName !== undefined) assert.ok(ids.has(jsonData.metadata.uid ?? ''));
      }
    }));
  });
});
