import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { ClusterSummary } from '../../../../api/kinds/cluster-summary.ts';
import type { Node, ResourceList, Taint } from '../../../../api/objects/core.ts';
import {
  CLUSTER_TARGET_NAME_LABEL, PROVIDER_KEY, RESOURCE_METRICS_PATH_ANNOTATION, TARGET_LABELS_ANNOTATION,
  TARGET_NAME_LABEL, TARGET_NAMESPACE_LABEL,
} from '../../../../api/objects/keys.ts';
import type { TargetRef } from '../../../../model/naming/target-ref.ts';
import {
  isMetadataUpToDate, isStatusUpToDate, toNodeLease, toStatusPatch, toVirtualNode, toVirtualNodeStatus,
} from '../../../../virtual-node/node/virtual-node.ts';
import {
  afterMergePatch, aNode, annotated, frozen, labelled, tainted, withoutAnnotation, withReady,
} from '../../../support/objects/builders.ts';

const C2: TargetRef = { kind: 'ClusterTarget', name: 'c2' };
const AT = { sourceId: 'source', kubelet: { address: '10.0.0.7', port: 10_250 } };
const THEN = '2026-01-01T00:00:00Z';
const NOW = '2026-01-02T00:00:00Z';
const SOON = '2026-01-02T00:04:59Z';

function aSummary(capacity: ResourceList = { cpu: '8' }, labels: Record<string, string> = {}): ClusterSummary {
  return frozen({ metadata: { name: 'singleton', labels }, capacity, allocatable: capacity });
}

describe('toVirtualNode', () => {
  it('has the labels and the taint by which Admiralty and its users know it', () => {
    assert.deepEqual(toVirtualNode(C2, undefined), {
      metadata: {
        name: 'admiralty-c2',
        // metrics-server reads it
        annotations: {
          [TARGET_LABELS_ANNOTATION]: '[]',
          'metrics.k8s.io/resource-metrics-path': '/nodes/admiralty-c2/metrics/resource',
        },
        labels: {
          type: 'virtual-kubelet', [PROVIDER_KEY]: 'admiralty',
          'kubernetes.io/role': 'cluster', 'alpha.service-controller.kubernetes.io/exclude-balancer': 'true',
          'node.kubernetes.io/exclude-from-external-load-balancers': 'true', [CLUSTER_TARGET_NAME_LABEL]: 'c2',
        },
      },
      spec: { taints: [{ key: PROVIDER_KEY, value: 'admiralty', effect: 'NoSchedule' }] },
    });
  });

  it('of a Target says whose it is', () => {
    const { labels } = toVirtualNode({ kind: 'Target', namespace: 'team-a', name: 't' }, undefined).metadata;
    assert.deepEqual(
      [labels?.[TARGET_NAMESPACE_LABEL], labels?.[TARGET_NAME_LABEL], labels?.[CLUSTER_TARGET_NAME_LABEL]],
      ['team-a', 't', undefined],
    );
  });

  it('shows where the target is and what it runs on', () => {
    const labels = {
      'topology.kubernetes.io/zone': 'z', 'topology.kubernetes.io/region': 'r', 'kubernetes.io/arch': 'arm64',
      'kubernetes.io/os': 'linux', 'node.kubernetes.io/instance-type': 'm',
    };
    const shown = toVirtualNode(C2, aSummary({}, labels)).metadata.labels;
    for (const [key, value] of Object.entries(labels)) assert.equal(shown?.[key], value, key);
  });

  it('does not show what spec.excludedLabelsRegexp matches, and nothing where that is no expression', () => {
    const labels = { 'topology.kubernetes.io/zone': 'z', 'kubernetes.io/arch': 'arm64', 'kubernetes.io/os': 'linux' };
    const shown = (excluded: string) => Object.keys(
      toVirtualNode(C2, aSummary({}, labels), { excluded }).metadata.labels ?? {},
    ).filter((key) => key in labels).toSorted();
    assert.deepEqual(shown('^kubernetes\\.io/(arch|os)='), ['topology.kubernetes.io/zone']);
    assert.deepEqual(shown('=linux$'), ['kubernetes.io/arch', 'topology.kubernetes.io/zone']);
    assert.deepEqual(shown(''), Object.keys(labels).toSorted());
    assert.deepEqual(shown('('), []);
  });

  it('keeps the taints of others, for an apply replaces them all, unless they have changed meanwhile', () => {
    const others: Taint[] = [{ key: 'maintenance', value: 'soon', effect: 'NoSchedule' }, {
      key: PROVIDER_KEY, value: 'admiralty', effect: 'NoExecute',
    }];
    const before = {
      ...aNode(), metadata: { name: 'admiralty-c2', resourceVersion: '7' },
      spec: { taints: [...others, { key: PROVIDER_KEY, value: 'wrong', effect: 'NoSchedule' }] },
    } as Node;
    const { metadata, spec } = toVirtualNode(C2, undefined, undefined, frozen(before));
    assert.deepEqual([metadata.resourceVersion, spec?.taints], [
      '7', [...others, { key: PROVIDER_KEY, value: 'admiralty', effect: 'NoSchedule' }],
    ]);
    const again = { ...before, spec: spec! };
    assert.deepEqual(toVirtualNode(C2, undefined, undefined, frozen(again)).spec, spec);
  });

  it('C2-15: lets a target not say who it is, nor what it is for', () => {
    const own = toVirtualNode(C2, undefined);
    const key = fc.constantFrom(
      ...Object.keys(own.metadata.labels ?? {}), 'kubernetes.io/hostname', 'node-role.kubernetes.io/control-plane',
      '__proto__', 'isthmus.dev/x', 'x.k8s.io/y', 'type',
    );
    fc.assert(fc.property(
      fc.dictionary(key, fc.string()), (labels) => assert.deepEqual(toVirtualNode(C2, aSummary({}, labels)), own),
    ));
  });

  it('says which of its labels are the word of the target', () => {
    const { metadata } = toVirtualNode(
      C2, aSummary({}, { pool: 'gpu', 'topology.kubernetes.io/region': 'r', 'kubernetes.io/hostname': 'h' }),
    );
    assert.equal(metadata.annotations?.[TARGET_LABELS_ANNOTATION], '["pool","topology.kubernetes.io/region"]');
  });

  it('keeps what the target last said while nothing is known of it, and what others have said is theirs', () => {
    const known = toVirtualNode(C2, aSummary({}, { pool: 'gpu' }));
    const { labels, annotations } = toVirtualNode(C2, undefined, {}, labelled({ team: 'a' })(known)).metadata;
    assert.deepEqual([labels, annotations], [known.metadata.labels, known.metadata.annotations]);
  });

  it('keeps what the target last said also where somebody took off the annotation that lists it', () => {
    const known = toVirtualNode(C2, aSummary({}, { pool: 'gpu' }));
    for (const text of [undefined, 'x']) {
      const annotations = text === undefined ? {} : { [TARGET_LABELS_ANNOTATION]: text };
      const before = { ...known, metadata: { ...known.metadata, annotations } };
      assert.deepEqual(toVirtualNode(C2, undefined, {}, before).metadata.labels, known.metadata.labels);
    }
  });
});

describe('isMetadataUpToDate', () => {
  const zone = { 'topology.kubernetes.io/zone': 'a' };
  const wanted = toVirtualNode(C2, aSummary({}, zone));
  const cases: Record<string, readonly [stored: Node, shows: boolean]> = {
    'a node as it was applied': [wanted, true],
    'a node with a label of its users': [labelled({ team: 'a' })(wanted), true],
    'a node with a further taint':
      [tainted(...(wanted.spec?.taints ?? []), { key: 'k', effect: 'NoExecute' })(wanted), true],
    'a node whose label was changed': [labelled({ [CLUSTER_TARGET_NAME_LABEL]: 'x' })(wanted), false],
    'a node without our taint': [tainted()(wanted), false],
    'a node whose taint keeps nobody away':
      [tainted({ key: PROVIDER_KEY, value: 'admiralty', effect: 'PreferNoSchedule' })(wanted), false],
    'a node whose taint has another value':
      [tainted({ key: PROVIDER_KEY, value: 'x', effect: 'NoSchedule' })(wanted), false],
    'a node that shows what its target no longer says':
      [toVirtualNode(C2, aSummary({}, { ...zone, 'topology.kubernetes.io/region': 'old' })), false],
    'a node that does not say where its usage is':
      [withoutAnnotation(RESOURCE_METRICS_PATH_ANNOTATION)(wanted), false],
    'a node with an annotation of its users': [annotated({ ...wanted.metadata.annotations, note: 'x' })(wanted), true],
    'a node without any of it': [aNode(), false],
  };
  for (const [sentence, [stored, shows]] of Object.entries(cases)) {
    it(`${shows ? 'is content with' : 'corrects'} ${sentence}`, () => assert.equal(
      isMetadataUpToDate(frozen(stored), frozen(wanted)), shows,
    ));
  }

  it('is not told from a taint that carries the time it was added', () => {
    const [taint] = wanted.spec?.taints ?? [];
    assert.equal(isMetadataUpToDate(tainted({ ...taint, timeAdded: NOW } as Taint)(wanted), wanted), true);
  });
});

describe('toVirtualNodeStatus', () => {
  it('says where the kubelet API is: an address, or a name that API servers resolve, and never a host name of its own',
    () => {
    const { addresses, daemonEndpoints } = toVirtualNodeStatus(aSummary(), AT, undefined, NOW);
    assert.deepEqual([addresses, daemonEndpoints], [
      [{ type: 'InternalIP', address: '10.0.0.7' }], { kubeletEndpoint: { Port: 10_250 } },
    ]);
    const named =
      toVirtualNodeStatus(aSummary(), { ...AT, kubelet: { address: 'kubelet.example', port: 1 } }, undefined, NOW);
    assert.deepEqual(named.addresses, [{ type: 'InternalDNS', address: 'kubelet.example' }]);
    assert.deepEqual(toVirtualNodeStatus(aSummary(), { ...AT, kubelet: undefined }, undefined, NOW).addresses, []);
  });

  it('shows what kubectl get nodes prints: the version of the target, the last one while that is not known', () => {
    const labels = { 'kubernetes.io/arch': 'arm64', 'kubernetes.io/os': 'linux' };
    const { nodeInfo } = toVirtualNodeStatus(aSummary({}, labels), { ...AT, targetVersion: 'v1.36.3' }, undefined, NOW);
    assert.deepEqual([nodeInfo['kubeletVersion'], nodeInfo['architecture'], nodeInfo['operatingSystem']], [
      'v1.36.3', 'arm64', 'linux',
    ]);
    const before: Node = { metadata: {}, status: { nodeInfo } };
    assert.equal(toVirtualNodeStatus(undefined, AT, frozen(before), NOW).nodeInfo['kubeletVersion'], 'v1.36.3');
    const upgraded =
      toVirtualNodeStatus(aSummary({}, labels), { ...AT, targetVersion: 'v1.37.0' }, frozen(before), NOW);
    assert.equal(upgraded.nodeInfo['kubeletVersion'], 'v1.37.0');
    assert.equal(isStatusUpToDate({ metadata: {}, status: { ...upgraded, nodeInfo } }, upgraded), false);
  });

  it('tells by TargetReady that the target cannot be used, while Ready stays True', () => {
    const problem = { reason: 'Unreachable', message: 'no answer' };
    const conditions = (context: Parameters<typeof toVirtualNodeStatus>[1], before?: Node) =>
      toVirtualNodeStatus(undefined, context, before, NOW).conditions.map(
        ({ type, status, reason }) => `${type}=${status} ${reason}`,
      );
    assert.deepEqual(conditions({ ...AT, problem }), ['Ready=True TargetServed', 'TargetReady=False Unreachable']);
    assert.deepEqual(conditions(AT), ['Ready=True TargetServed', 'TargetReady=True Ready']);
  });

  it('keeps what it showed while the totals are not known', () => {
    const before: Node = { metadata: {}, status: { capacity: { cpu: '4' }, allocatable: { cpu: '3' } } };
    const { capacity, allocatable } = toVirtualNodeStatus(undefined, AT, frozen(before), NOW);
    assert.deepEqual([capacity, allocatable], [{ cpu: '4' }, { cpu: '3' }]);
  });

  it('shows the totals of the target', () => {
    const { capacity, allocatable } = toVirtualNodeStatus(
      frozen({ metadata: {}, capacity: { cpu: '9' }, allocatable: { cpu: '8' } }), AT, undefined, NOW,
    );
    assert.deepEqual([capacity, allocatable], [{ cpu: '9' }, { cpu: '8' }]);
  });

  const shares = [
    { source: 'source', limits: { cpu: '2', 'example/gpu': '1' } },
    { source: 'stopped', limits: {}, cordoned: true as const }, { source: '*', limits: { cpu: '20', memory: '1Gi' } },
  ];
  const expected: Record<string, object> = {
    'source': { cpu: '2', memory: '8Gi', pods: '9' },
    'stopped': { cpu: '8', memory: '8Gi', pods: '0' },
    'any other': { cpu: '8', memory: '1Gi', pods: '9' },
  };
  for (const [source, allocatable] of Object.entries(expected)) {
    it(`shows to ${source} what it may use, and no resource that the target lacks`, () => {
      const summary = { metadata: {}, allocatable: { cpu: '8', memory: '8Gi', pods: '9' }, shares };
      assert.deepEqual(
        toVirtualNodeStatus(frozen(summary), { ...AT, sourceId: source }, undefined, NOW).allocatable, allocatable,
      );
    });
  }

  it('shows no more than the quotas of the namespace grant, of what the target has', () => {
    const summary = { metadata: {}, allocatable: { cpu: '8', memory: '8Gi', pods: '9' }, shares };
    const quota = new Map([['cpu', 1_000], ['memory', 2 ** 34], ['pods', 3], ['example/gpu', 4]]);
    assert.deepEqual(toVirtualNodeStatus(summary, { ...AT, quota }, undefined, NOW).allocatable, {
      cpu: '1', memory: '8Gi', pods: '3',
    });
  });

  it('keeps what it showed while quotas are not known: more than they grant would be taken back at once', () => {
    const summary = { metadata: {}, capacity: { cpu: '9' }, allocatable: { cpu: '8' } };
    const before: Node = { metadata: {}, status: { capacity: { cpu: '9' }, allocatable: { cpu: '2' } } };
    assert.deepEqual(
      toVirtualNodeStatus(summary, { ...AT, quota: 'unknown' }, frozen(before), NOW).allocatable, { cpu: '2' },
    );
    assert.deepEqual(
      toVirtualNodeStatus(summary, { ...AT, quota: 'unknown' }, undefined, NOW).allocatable, { cpu: '8' },
    );
  });

  it('shows none where there are none', () => assert.deepEqual(
    toVirtualNodeStatus({ metadata: {} }, AT, undefined, NOW).capacity, {},
  ));

  it('is ready: a node that is not has its pods deleted', () => {
    const [ready] = toVirtualNodeStatus(aSummary(), AT, undefined, NOW).conditions;
    assert.deepEqual([ready?.type, ready?.status, ready?.lastTransitionTime], ['Ready', 'True', NOW]);
    assert.equal(toVirtualNodeStatus(aSummary(), AT, aNode(withReady('Unknown')), NOW).conditions[0]?.status, 'True');
  });

  it('keeps since when it is ready, and the conditions of others', () => {
    const before = {
      ...aNode(),
      status: {
        conditions:
          [{ type: 'Ready', status: 'True', lastTransitionTime: THEN }, { type: 'DiskPressure', status: 'False' }],
      },
    } as Node;
    const { conditions } = toVirtualNodeStatus(aSummary(), AT, frozen(before), NOW);
    assert.equal(conditions.find(({ type }) => type === 'Ready')?.lastTransitionTime, THEN);
    assert.ok(conditions.some(({ type }) => type === 'DiskPressure'));
  });

  it('is shown after one write, whatever was shown before, resources that the target lost included', () => {
    const room = fc.dictionary(
      fc.constantFrom('cpu', 'memory', 'nvidia.com/gpu', '__proto__'), fc.oneof(fc.nat(9).map(String), fc.nat(9)),
    );
    fc.assert(
      fc.property(room, room, (before, now) => {
        const stored: Node = { ...aNode(), status: { capacity: before, allocatable: before } };
        const wanted = toVirtualNodeStatus(aSummary(now), AT, stored, NOW);
        const after =
          { ...stored, status: afterMergePatch(stored.status, toStatusPatch(frozen(stored), wanted)) } as Node;
        assert.equal(isStatusUpToDate(after, toVirtualNodeStatus(aSummary(now), AT, after, SOON)), true);
      }),
    );
  });

  it('says when it was reported, again after five minutes as a kubelet does, and not before', () => {
    const first: Node = { ...aNode(), status: toVirtualNodeStatus(aSummary(), AT, undefined, NOW) };
    assert.deepEqual(first.status?.conditions?.map(({ lastHeartbeatTime }) => lastHeartbeatTime), [NOW, NOW]);
    assert.equal(isStatusUpToDate(first, toVirtualNodeStatus(aSummary(), AT, frozen(first), SOON)), true);
    const later = toVirtualNodeStatus(aSummary(), AT, frozen(first), '2026-01-02T00:05:00Z');
    assert.equal(isStatusUpToDate(first, later), false);
    assert.deepEqual(
      later.conditions.map(({ lastHeartbeatTime, lastTransitionTime }) => [lastHeartbeatTime, lastTransitionTime]),
      [0, 1].map(() => ['2026-01-02T00:05:00Z', NOW]),
    );
    const changed =
      toVirtualNodeStatus(aSummary(), { ...AT, problem: { reason: 'Unreachable', message: 'm' } }, frozen(first), SOON);
    assert.deepEqual(changed.conditions.map(({ lastHeartbeatTime }) => lastHeartbeatTime), [SOON, SOON]);
  });

  it('stamps no condition of others', () => {
    const before = {
      ...aNode(), status: { conditions: [{ type: 'DiskPressure', status: 'False', lastHeartbeatTime: THEN }] },
    } as Node;
    const [disk] = toVirtualNodeStatus(aSummary(), AT, frozen(before), NOW).conditions;
    assert.equal(disk?.lastHeartbeatTime, THEN);
  });

  it('is not shown by a node that says something else', () => {
    const stored: Node =
      { ...aNode(), status: toVirtualNodeStatus(aSummary({ cpu: '8', memory: '1Gi' }), AT, undefined, THEN) };
    for (const capacity of [
      { cpu: '8' }, { cpu: '8', memory: '2Gi' }, { cpu: '8', memory: '1Gi', pods: '1' }, { cpu: '8', pods: '1Gi' },
    ]) {
      const status = toVirtualNodeStatus(aSummary(capacity), AT, stored, THEN);
      assert.equal(isStatusUpToDate(stored, status), false, JSON.stringify(capacity));
    }
  });
});

describe('toNodeLease', () => {
  it('is where the node lifecycle controller looks for it, and goes with its node', () => {
    assert.deepEqual(toNodeLease({ name: 'admiralty-c2', uid: 'u' }, NOW), {
      metadata: {
        name: 'admiralty-c2', namespace: 'kube-node-lease',
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'admiralty-c2', uid: 'u' }],
      },
      spec: { holderIdentity: 'admiralty-c2', leaseDurationSeconds: 40, renewTime: NOW },
    });
  });
});
