import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { ClusterSummary } from '../../../api/cluster-summary.ts';
import type { Node, ResourceList, Taint } from '../../../api/core.ts';
import { CLUSTER_TARGET_NAME_LABEL, PROVIDER_KEY, TARGET_NAME_LABEL, TARGET_NAMESPACE_LABEL } from '../../../api/keys.ts';
import type { TargetRef } from '../../../model/target-ref.ts';
import { showsIdentity, showsStatus, toNodeLease, toStatusPatch, toVirtualNode, toVirtualNodeStatus } from '../../../virtual-node/virtual-node.ts';
import { afterMergePatch, aNode, frozen, labelled, tainted, withReady } from '../../support/builders.ts';

const C2: TargetRef = { kind: 'ClusterTarget', name: 'c2' };
const THEN = '2026-01-01T00:00:00Z';
const NOW = '2026-01-02T00:00:00Z';

function aSummary(capacity: ResourceList = { cpu: '8' }, labels: Record<string, string> = {}): ClusterSummary {
  return frozen({ metadata: { name: 'singleton', labels }, capacity, allocatable: capacity });
}

describe('toVirtualNode', () => {
  it('has the labels and the taint by which Admiralty and its users know it', () => {
    assert.deepEqual(toVirtualNode(C2, undefined), {
      metadata: {
        name: 'admiralty-c2',
        labels: {
          type: 'virtual-kubelet', [PROVIDER_KEY]: 'admiralty', 'kubernetes.io/role': 'cluster', 'alpha.service-controller.kubernetes.io/exclude-balancer': 'true',
          'node.kubernetes.io/exclude-from-external-load-balancers': 'true', [CLUSTER_TARGET_NAME_LABEL]: 'c2',
        },
      },
      spec: { taints: [{ key: PROVIDER_KEY, value: 'admiralty', effect: 'NoSchedule' }] },
    });
  });

  it('of a Target says whose it is', () => {
    const { labels } = toVirtualNode({ kind: 'Target', namespace: 'team-a', name: 't' }, undefined).metadata;
    assert.deepEqual([labels?.[TARGET_NAMESPACE_LABEL], labels?.[TARGET_NAME_LABEL], labels?.[CLUSTER_TARGET_NAME_LABEL]], ['team-a', 't', undefined]);
  });

  it('shows where the target is and what it runs on', () => {
    const labels = { 'topology.kubernetes.io/zone': 'z', 'topology.kubernetes.io/region': 'r', 'kubernetes.io/arch': 'arm64', 'kubernetes.io/os': 'linux', 'node.kubernetes.io/instance-type': 'm' };
    const shown = toVirtualNode(C2, aSummary({}, labels)).metadata.labels;
    for (const [key, value] of Object.entries(labels)) assert.equal(shown?.[key], value, key);
  });

  it('lets a target say nothing else, least of all who it is', () => {
    const own = toVirtualNode(C2, undefined);
    const key = fc.oneof(fc.constantFrom(...Object.keys(own.metadata.labels ?? {}), 'kubernetes.io/hostname', 'node-role.kubernetes.io/control-plane', '__proto__'), fc.string());
    fc.assert(fc.property(fc.dictionary(key, fc.string()), (labels) => assert.deepEqual(toVirtualNode(C2, aSummary({}, labels)), own)));
  });
});

describe('showsIdentity', () => {
  const zone = { 'topology.kubernetes.io/zone': 'a' };
  const wanted = toVirtualNode(C2, aSummary({}, zone));
  const cases: Record<string, readonly [stored: Node, shows: boolean]> = {
    'a node as it was applied': [wanted, true],
    'a node with a label of its users': [labelled({ team: 'a' })(wanted), true],
    'a node with a further taint': [tainted(...(wanted.spec?.taints ?? []), { key: 'k', effect: 'NoExecute' })(wanted), true],
    'a node whose label was changed': [labelled({ [CLUSTER_TARGET_NAME_LABEL]: 'x' })(wanted), false],
    'a node without our taint': [tainted()(wanted), false],
    'a node whose taint keeps nobody away': [tainted({ key: PROVIDER_KEY, value: 'admiralty', effect: 'PreferNoSchedule' })(wanted), false],
    'a node whose taint has another value': [tainted({ key: PROVIDER_KEY, value: 'x', effect: 'NoSchedule' })(wanted), false],
    'a node that shows what its target no longer says': [labelled({ 'topology.kubernetes.io/region': 'old' })(wanted), false],
    'a node without any of it': [aNode(), false],
  };
  for (const [sentence, [stored, shows]] of Object.entries(cases)) {
    it(`${shows ? 'is content with' : 'corrects'} ${sentence}`, () => assert.equal(showsIdentity(frozen(stored), frozen(wanted)), shows));
  }

  it('is not told from a taint that carries the time it was added', () => {
    const [taint] = wanted.spec?.taints ?? [];
    assert.equal(showsIdentity(tainted({ ...taint, timeAdded: NOW } as Taint)(wanted), wanted), true);
  });
});

describe('toVirtualNodeStatus', () => {
  it('shows the totals of the target', () => {
    const { capacity, allocatable } = toVirtualNodeStatus(frozen({ metadata: {}, capacity: { cpu: '9' }, allocatable: { cpu: '8' } }), 'source', undefined, NOW);
    assert.deepEqual([capacity, allocatable], [{ cpu: '9' }, { cpu: '8' }]);
  });

  const shares = [{ source: 'source', limits: { cpu: '2', 'example/gpu': '1' } }, { source: 'stopped', limits: {}, cordoned: true as const }, { source: '*', limits: { cpu: '20', memory: '1Gi' } }];
  const lent: Record<string, object> = {
    'source': { cpu: '2', memory: '8Gi', pods: '9' },
    'stopped': { cpu: '8', memory: '8Gi', pods: '0' },
    'any other': { cpu: '8', memory: '1Gi', pods: '9' },
  };
  for (const [source, allocatable] of Object.entries(lent)) {
    it(`shows to ${source} what is lent to it, and no resource that the target lacks`, () => {
      const summary = { metadata: {}, allocatable: { cpu: '8', memory: '8Gi', pods: '9' }, shares };
      assert.deepEqual(toVirtualNodeStatus(frozen(summary), source, undefined, NOW).allocatable, allocatable);
    });
  }

  it('shows none where there are none', () => assert.deepEqual(toVirtualNodeStatus({ metadata: {} }, 'source', undefined, NOW).capacity, {}));

  it('is ready: a node that is not has its pods deleted', () => {
    const [ready] = toVirtualNodeStatus(aSummary(), 'source', undefined, NOW).conditions;
    assert.deepEqual([ready?.type, ready?.status, ready?.lastTransitionTime], ['Ready', 'True', NOW]);
    assert.equal(toVirtualNodeStatus(aSummary(), 'source', aNode(withReady('Unknown')), NOW).conditions[0]?.status, 'True');
  });

  it('keeps since when it is ready, and the conditions of others', () => {
    const before = { ...aNode(), status: { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: THEN }, { type: 'DiskPressure', status: 'False' }] } } as Node;
    const { conditions } = toVirtualNodeStatus(aSummary(), 'source', frozen(before), NOW);
    assert.equal(conditions.find(({ type }) => type === 'Ready')?.lastTransitionTime, THEN);
    assert.ok(conditions.some(({ type }) => type === 'DiskPressure'));
  });

  it('is shown after one write, whatever was shown before, resources that the target lost included', () => {
    const room = fc.dictionary(fc.constantFrom('cpu', 'memory', 'nvidia.com/gpu', '__proto__'), fc.oneof(fc.nat(9).map(String), fc.nat(9)));
    fc.assert(
      fc.property(room, room, (before, now) => {
        const stored: Node = { ...aNode(), status: { capacity: before, allocatable: before } };
        const wanted = toVirtualNodeStatus(aSummary(now), 'source', stored, NOW);
        const after = { ...stored, status: afterMergePatch(stored.status, toStatusPatch(frozen(stored), wanted)) } as Node;
        assert.equal(showsStatus(after, toVirtualNodeStatus(aSummary(now), 'source', after, '2026-01-03T00:00:00Z')), true);
      }),
    );
  });

  it('is not shown by a node that says something else', () => {
    const stored: Node = { ...aNode(), status: toVirtualNodeStatus(aSummary({ cpu: '8', memory: '1Gi' }), 'source', undefined, THEN) };
    for (const capacity of [{ cpu: '8' }, { cpu: '8', memory: '2Gi' }, { cpu: '8', memory: '1Gi', pods: '1' }, { cpu: '8', pods: '1Gi' }]) {
      assert.equal(showsStatus(stored, toVirtualNodeStatus(aSummary(capacity), 'source', stored, NOW)), false, JSON.stringify(capacity));
    }
  });
});

describe('toNodeLease', () => {
  it('is where the node lifecycle controller looks for it, and goes with its node', () => {
    assert.deepEqual(toNodeLease({ name: 'admiralty-c2', uid: 'u' }, NOW), {
      metadata: { name: 'admiralty-c2', namespace: 'kube-node-lease', ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'admiralty-c2', uid: 'u' }] },
      spec: { holderIdentity: 'admiralty-c2', leaseDurationSeconds: 40, renewTime: NOW },
    });
  });
});
