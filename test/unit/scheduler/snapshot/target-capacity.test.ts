import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { NodeGroup } from '../../../../api/kinds/cluster-summary.ts';
import type { PodSpec, ResourceList } from '../../../../api/objects/core.ts';
import { nodeDigest } from '../../../../model/resources/node-digest.ts';
import {
  addAmounts, formatResourceList, NO_AMOUNTS, parseResourceList, subtractAmounts, type ResourceAmounts,
} from '../../../../model/resources/resources.ts';
import {
  toRequirements, toTargetCapacity, type TargetCapacity,
} from '../../../../scheduler/snapshot/target-capacity.ts';
import type { NodeRequirements } from '../../../../scheduler/snapshot/node-requirements.ts';
import { aPod, frozen, withRequests, withSpec } from '../../../support/objects/builders.ts';

const GPU = 'nvidia.com/gpu';

function needs(requests: ResourceList, rest: Omit<NodeRequirements, 'requests'> = {}): NodeRequirements {
  return { requests: parseResourceList({ pods: '1', ...requests }).amounts, ...rest };
}

function capacityOf(...nodeGroups: NodeGroup[]): TargetCapacity {
  const free = nodeGroups.flatMap(({ holes }) => holes.flatMap(
    (shape) => Array.from({ length: shape.count }, () => parseResourceList(shape.free).amounts),
  ));
  const sum = formatResourceList(free.reduce(addAmounts, NO_AMOUNTS));
  return toTargetCapacity({ metadata: {}, allocatable: sum, free: sum, nodeGroups });
}

function shapesOf(...free: ResourceList[]): NodeGroup {
  return { holes: free.map((room) => ({ count: 1, free: room })) };
}

/** What is free on the nodes themselves. */
function freeOf(capacity: TargetCapacity): ResourceAmounts {
  const nodes = groupsOf(capacity).flatMap((group) => group.holes.flatMap(
    ({ count, free }) => Array.from({ length: count }, () => parseResourceList(free).amounts),
  ));
  return nodes.reduce(addAmounts, NO_AMOUNTS);
}

function groupsOf(capacity: TargetCapacity): readonly NodeGroup[] {
  return capacity.toSummary().nodeGroups ?? [];
}

function nodesOf(capacity: TargetCapacity): number {
  return groupsOf(capacity).flatMap(({ holes }) => holes).reduce((sum, { count }) => sum + count, 0);
}

describe('toRequirements', () => {
  it('leave devices of a DeviceClass to the scheduler of the target: no node has them among its resources', () => {
    const requests = { cpu: '500m', 'deviceclass.resource.kubernetes.io/gpu.example.com': '2' };
    assert.deepEqual(
      toRequirements(aPod(withRequests(requests)).spec).requests, new Map([['cpu', 500], ['pods', 1]]),
    );
  });
  it('asks for one pod beside the requests', () => {
    assert.deepEqual(toRequirements(frozen(aPod(withRequests({ cpu: '500m' })).spec)), {
      requests: new Map([['cpu', 500], ['pods', 1]]),
    });
  });

  it('carries what narrows the choice of a node', () => {
    const rules = { nodeSelector: { disk: 'ssd' }, tolerations: [{ operator: 'Exists' as const }], affinity: {} };
    assert.deepEqual(toRequirements(aPod(withSpec(rules)).spec), { requests: new Map([['pods', 1]]), ...rules });
  });

  it('takes null for what is not set, as Kubernetes does', () => {
    const written = {
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: null }, podAffinity: null },
      tolerations: [{ key: 'a', operator: 'Exists', effect: null }],
    };
    assert.deepEqual(toRequirements(aPod(withSpec(written as unknown as PodSpec)).spec), {
      requests: new Map([['pods', 1]]), affinity: { nodeAffinity: {} }, tolerations: [{ key: 'a', operator: 'Exists' }],
    });
  });
});

describe('taints that admission of a target may tolerate for a pod', () => {
  const onTainted = (key: string, spec: Partial<PodSpec>, effect = 'NoSchedule') =>
    capacityOf({ taints: [{ key, effect }], holes: [{ count: 1, free: { cpu: '8', pods: '9', [GPU]: '8' } }] })
      .fit(toRequirements(aPod(withSpec(spec)).spec)).kind;
  const asking = (resource: string) => ({ containers: [{ name: 'c', resources: { limits: { [resource]: '1' } } }] });

  it('keep no pod away that asks for the extended resource of their name (ExtendedResourceToleration)', () => {
    assert.equal(onTainted(GPU, asking(GPU)), 'fits');
    assert.equal(onTainted(GPU, asking(GPU), 'NoExecute'), 'no-node');
    assert.equal(onTainted('dedicated', asking(GPU)), 'no-node');
    for (const other of ['cpu', 'requests.example.com/gpu']) assert.equal(onTainted(other, asking(other)), 'no-node');
    assert.equal(onTainted(GPU, asking('cpu')), 'no-node');
  });
  it('keep no pod with a RuntimeClass away, which may tolerate them in the target, but those of Kubernetes', () => {
    const sandboxed = { runtimeClassName: 'gvisor' };
    assert.equal(onTainted('sandbox.example/runtime', sandboxed), 'fits');
    assert.equal(onTainted('sandbox.example/runtime', { runtimeClassName: '' }), 'no-node');
    for (const key of ['node-role.kubernetes.io/control-plane', 'node.kubernetes.io/disk-pressure']) {
      assert.equal(onTainted(key, sandboxed), 'no-node');
    }
  });
});

describe('toTargetCapacity', () => {
  it('reads groups of nodes', () => {
    const taints = [{ key: 'k', effect: 'NoSchedule' }];
    const group = { labels: { zone: 'a' }, taints, holes: [{ count: 2, free: { cpu: '1500m', memory: '1Gi' } }] };
    assert.deepEqual(groupsOf(capacityOf(group)), [group]);
  });

  it("takes Admiralty's summary, which has totals only, for one large node", () => {
    const capacity = toTargetCapacity({ metadata: {}, allocatable: { cpu: '8', pods: '110' } });
    assert.deepEqual(capacity.free, capacity.allocatable);
    assert.deepEqual(capacity.fit(needs({ cpu: '8' })), { kind: 'fits' });
    assert.equal(capacity.fit(needs({ cpu: '9' })).kind, 'no-node');
  });

  it("leaves to a target what Admiralty's summary does not tell of its nodes: labels, taints and names", () => {
    const bare = capacityOf(shapesOf({ cpu: '8', pods: '9' }));
    const totals = toTargetCapacity({ metadata: {}, allocatable: { cpu: '8', pods: '110' } });
    const recorded = toTargetCapacity(totals.toSummary());
    const onLinux = (cpu: string) => needs({ cpu }, { nodeSelector: { 'kubernetes.io/os': 'linux' } });
    assert.deepEqual(
      [bare, totals, recorded].map((one) => one.fit(onLinux('8')).kind), ['no-node', 'fits', 'fits'],
    );
    assert.equal(totals.fit(onLinux('9')).kind, 'no-node');
  });

  it('knows a cluster without nodes from one that did not say', () => {
    assert.deepEqual(toTargetCapacity({ metadata: {}, allocatable: {}, nodeGroups: [] }).toSummary().nodeGroups, []);
  });

  it('counts no node where a target says there is none, or less than none', () => {
    const capacity = toTargetCapacity({
      metadata: {},
      nodeGroups:
        [{ holes: [{ count: 0, free: { cpu: '8', pods: '9' } }, { count: -1, free: { cpu: '8', pods: '9' } }] }],
    });
    assert.equal(capacity.fit(needs({ cpu: '1' })).kind, 'no-node');
  });

  it('C2-29: passes over figures that are no quantities', () => {
    assert.deepEqual(
      toTargetCapacity({ metadata: {}, allocatable: { cpu: 'lots', memory: '1Ki' } }).allocatable,
      new Map([['memory', 1024]]),
    );
  });
});

describe('fit', () => {
  const roomy = { cpu: '4', memory: '8Gi', pods: '10' };
  const gpu = { labels: { [GPU]: 'a100' }, holes: [{ count: 1, free: { ...roomy, [GPU]: '1' } }] };
  const dedicated = { taints: [{ key: 'team', value: 'b', effect: 'NoSchedule' }], holes: [{ count: 1, free: roomy }] };
  const preferred =
    { taints: [{ key: 'team', value: 'b', effect: 'PreferNoSchedule' }], holes: [{ count: 1, free: roomy }] };
  const cases: Record<string, readonly [capacity: TargetCapacity, pod: NodeRequirements, answer: string]> = {
    'a pod that one node can take fits': [capacityOf(shapesOf(roomy)), needs({ cpu: '4', memory: '8Gi' }), 'fits'],
    'two halves of room are not one whole': [
      capacityOf(shapesOf({ ...roomy, cpu: '2' }, { ...roomy, cpu: '2' })), needs({ cpu: '3' }),
      'InsufficientResources: no node has 3 cpu free',
    ],
    'CPU on one node and memory on another do not add up': [
      capacityOf(shapesOf({ ...roomy, memory: '1Gi' }, { ...roomy, cpu: '1' })),
      needs({ cpu: '2', memory: '2Gi' }), 'InsufficientResources: no node has 2 cpu free',
    ],
    'a node that is out of pods takes none':
      [capacityOf(shapesOf({ ...roomy, pods: '0' })), needs({}), 'InsufficientResources: no node has 1 pods free'],
    'a resource that no node has is named':
      [capacityOf(shapesOf(roomy)), needs({ [GPU]: '1' }), `InsufficientResources: no node has 1 ${GPU} free`],
    'a resource of which nothing is asked need not exist': [capacityOf(shapesOf(roomy)), needs({ [GPU]: '0' }), 'fits'],
    'the node with the least missing is told of': [
      capacityOf(shapesOf({ pods: '1' }, { ...roomy, cpu: '1' })),
      needs({ cpu: '2', memory: '1Gi' }), 'InsufficientResources: no node has 2 cpu free',
    ],
    'a selector finds its node among others':
      [capacityOf(shapesOf(roomy), gpu), needs({ [GPU]: '1' }, { nodeSelector: { [GPU]: 'a100' } }), 'fits'],
    'a selector that no node matches is told of': [
      capacityOf(shapesOf(roomy)), needs({}, { nodeSelector: { disk: 'ssd' } }),
      'NodeSelectorOrTaints: no node matches nodeSelector and affinity without a taint that the pod does not tolerate',
    ],
    'a taint keeps a pod away': [
      capacityOf(dedicated), needs({}),
      'NodeSelectorOrTaints: no node matches nodeSelector and affinity without a taint that the pod does not tolerate',
    ],
    'a toleration opens the node':
      [capacityOf(dedicated), needs({}, { tolerations: [{ key: 'team', operator: 'Exists' }] }), 'fits'],
    'a taint that only asks keeps nobody away': [capacityOf(preferred), needs({}), 'fits'],
    'a cluster without nodes says so':
      [capacityOf(), needs({}), 'NoNodes: it has no node that is ready and not cordoned'],
  };
  for (const [sentence, [capacity, pod, answer]] of Object.entries(cases)) {
    it(sentence, () => {
      const fit = frozen(capacity).fit(frozen(pod));
      assert.equal(fit.kind === 'fits' ? 'fits' : `${fit.reason}: ${fit.message}`, answer);
    });
  }
});

const room = fc.record({
  cpu: fc.nat(8).map(String), memory: fc.nat(8).map((gib) => `${gib}Gi`), pods: fc.nat(4).map(String),
  [GPU]: fc.nat(2).map(String),
});
const taints = fc.constantFrom<NodeGroup['taints']>(
  undefined, [{ key: 'team', effect: 'NoSchedule' }], [{ key: 'soft', effect: 'PreferNoSchedule' }],
);
const group: fc.Arbitrary<NodeGroup> = fc.record({
  labels: fc.constantFrom({}, { zone: 'a' }, { zone: 'b' }),
  taints: taints.map((given) => given ?? []),
  holes: fc.array(fc.record({ count: fc.integer({ min: 1, max: 3 }), free: room }), { maxLength: 4 }),
});
const capacity = fc.array(group, { maxLength: 3 }).map((groups) => capacityOf(...groups));
const requirements = fc
  .record({ cpu: fc.nat(6).map(String), memory: fc.nat(6).map((gib) => `${gib}Gi`), [GPU]: fc.nat(1).map(String) })
  .chain((requests) => fc.constantFrom(
    needs(requests), needs(requests, { nodeSelector: { zone: 'a' } }),
    needs(requests, { tolerations: [{ operator: 'Exists' }] }),
  ));

describe('what is remembered of a pod', () => {
  const HOSTNAME = 'kubernetes.io/hostname';
  const group = (zone: string, ...holes: NodeGroup['holes']): NodeGroup =>
    ({ labels: { zone }, perNodeLabels: [HOSTNAME], shape: { cpu: '4', pods: '9' }, holes });
  const node = (name: string, free: ResourceList = {}) => ({ count: 1, free, nodes: nodeDigest(name) });
  const isRoom = (pod: NodeRequirements, ...groups: readonly NodeGroup[]) => capacityOf(...groups).hasRoomFor(pod);

  it('is not what holds for the nodes of another target, with whatever groups both have', () => {
    const pod = needs({ cpu: '1' }, { nodeSelector: { [HOSTNAME]: 'n1' } });
    const answers = [
      isRoom(pod, group('a')), isRoom(pod, group('a', node('n1'))), isRoom(pod, group('a', node('n2'))),
      isRoom(pod, group('a', node('n2'), node('n1'))),
    ];
    assert.deepEqual(answers, [false, true, false, true]);
  });

  it('is not what holds for targets with other groups, columns or room', () => {
    const pod = needs({ cpu: '1', [GPU]: '1' }, { nodeSelector: { zone: 'a' } });
    const answers = [
      isRoom(pod, group('a', node('n1'))), isRoom(pod, group('b', node('n1', { [GPU]: '1' }))),
      isRoom(pod, group('a', node('n1', { [GPU]: '1' }))),
      isRoom(pod, group('a', node('n1', { [GPU]: '1', cpu: '0' }))),
      isRoom(pod, group('b', node('n2', { [GPU]: '1' })), group('a', node('n1', { [GPU]: '1' }))),
    ];
    assert.deepEqual(answers, [false, false, true, false, true]);
  });
});

describe('laws of capacity', () => {
  it('more room on a node never turns a fit into none', () => {
    fc.assert(
      fc.property(capacity, requirements, room, (before, pod, more) => {
        const extra = parseResourceList(more).amounts;
        const add = (free: ResourceList) => formatResourceList(addAmounts(parseResourceList(free).amounts, extra));
        const groups = groupsOf(before).map(
          (group) => ({ ...group, holes: group.holes.map((shape) => ({ ...shape, free: add(shape.free) })) }),
        );
        if (before.fit(pod).kind === 'fits') assert.equal(capacityOf(...groups).fit(pod).kind, 'fits');
      }),
    );
  });

  it('more nodes never turn a fit into none', () => {
    fc.assert(
      fc.property(capacity, capacity, requirements, (before, more, pod) => {
        const both = capacityOf(...groupsOf(more), ...groupsOf(before));
        if (before.fit(pod).kind === 'fits') assert.equal(both.fit(pod).kind, 'fits');
      }),
    );
  });

  it('a smaller pod fits wherever a larger one does', () => {
    fc.assert(
      fc.property(capacity, requirements, (capacity, pod) => {
        const smaller = {
          ...pod, requests: new Map([...pod.requests].map(([resource, amount]) => [resource, Math.floor(amount / 2)])),
        };
        if (capacity.fit(pod).kind === 'fits') assert.equal(capacity.fit(smaller).kind, 'fits');
      }),
    );
  });

  it('taking a pod that fits lowers what is free, in sum and on the nodes, by exactly its requests', () => {
    fc.assert(
      fc.property(capacity, requirements, (capacity, pod) => {
        fc.pre(capacity.fit(pod).kind === 'fits');
        const [sumBefore, nodesBefore] = [new Map(capacity.free), freeOf(capacity)];
        frozen(capacity).addPod(frozen(pod));
        assert.deepEqual(capacity.free, subtractAmounts(sumBefore, pod.requests));
        const nodesAfter = freeOf(capacity);
        for (const [resource, amount] of pod.requests) {
          assert.equal(nodesAfter.get(resource) ?? 0, (nodesBefore.get(resource) ?? 0) - amount, resource);
        }
      }),
    );
  });

  it('taking leaves as many nodes as there were, and the totals', () => {
    fc.assert(
      fc.property(capacity, requirements, (capacity, pod) => {
        const [nodes, total] = [nodesOf(capacity), new Map(capacity.allocatable)];
        capacity.addPod(pod);
        assert.equal(nodesOf(capacity), nodes);
        assert.deepEqual(capacity.allocatable, total);
      }),
    );
  });

  it('what was taken comes back exactly, in whatever order it is given back', () => {
    const pods = fc.array(requirements, { maxLength: 12 }).chain(
      (pods) => fc.tuple(fc.constant(pods), fc.shuffledSubarray(pods.map((_, i) => i), { minLength: pods.length })),
    );
    fc.assert(
      fc.property(capacity, pods, (capacity, [pods, order]) => {
        const before = capacity.toSummary();
        const taken = pods.map((pod) => capacity.addPod(pod));
        for (const i of order) capacity.removePod(taken[i]!);
        assert.deepEqual(capacity.toSummary(), before);
      }),
    );
  });

  it('what was taken last and given back leaves what was before, also among others', () => {
    fc.assert(
      fc.property(capacity, fc.array(requirements, { maxLength: 8 }), requirements, (capacity, others, pod) => {
        for (const other of others) capacity.addPod(other);
        const before = capacity.toSummary();
        capacity.removePod(capacity.addPod(pod));
        assert.deepEqual(capacity.toSummary(), before);
      }),
    );
  });

  it('no node ever has less than nothing, whether pods fit or not, and pods come and go', () => {
    fc.assert(
      fc.property(capacity, fc.array(fc.tuple(requirements, fc.boolean()), { maxLength: 12 }), (capacity, steps) => {
        const held = [];
        for (const [pod, gives] of steps) {
          held.push(capacity.addPod(pod));
          if (gives) capacity.removePod(held.shift()!);
        }
        const amounts = groupsOf(capacity).flatMap(
          ({ holes }) => holes.flatMap(({ free }) => [...parseResourceList(free).amounts.values()]),
        );
        assert.ok(amounts.every((amount) => amount >= 0));
      }),
    );
  });

  it('is read back from its own plain form', () => {
    fc.assert(
      fc.property(capacity, fc.array(requirements, { maxLength: 4 }), (capacity, pods) => {
        for (const pod of pods) capacity.addPod(pod);
        assert.deepEqual(toTargetCapacity(capacity.toSummary()).toSummary(), capacity.toSummary());
      }),
    );
  });

  it('as many equal pods fit one after the other as there are slots for them', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 5 }), (slots) => {
        const pod = needs({ cpu: '1' });
        const capacity = capacityOf(shapesOf(...slots.map((count) => ({ cpu: `${count}`, pods: '110' }))));
        let taken = 0;
        for (; capacity.fit(pod).kind === 'fits'; taken += 1) capacity.addPod(pod);
        assert.equal(taken, slots.reduce((sum, count) => sum + count, 0));
      }),
    );
  });

  it('a pod goes to the fitting node with the most of itself free', () => {
    const capacity = capacityOf(shapesOf({ cpu: '2', pods: '9' }, { cpu: '8', pods: '0' }, { cpu: '4', pods: '9' }));
    capacity.addPod(needs({ cpu: '1' }));
    assert.deepEqual(groupsOf(capacity)[0]?.holes.map(({ free }) => free['cpu']), ['2', '3', '8']);
  });

  it('a share of a small node counts like the same share of a large one', () => {
    const small = { holes: [{ count: 1, free: { cpu: '4', pods: '9' } }, { count: 1, free: { cpu: '3', pods: '9' } }] };
    const large = {
      labels: { size: 'l' },
      holes: [{ count: 1, free: { cpu: '64', pods: '0' } }, { count: 1, free: { cpu: '32', pods: '9' } }],
    };
    const capacity = capacityOf(large, small);
    capacity.addPod(needs({ cpu: '1' }));
    assert.deepEqual(groupsOf(capacity)[1]?.holes.map(({ free }) => free['cpu']), ['3', '3']);
  });
});
