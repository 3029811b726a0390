import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterSummary } from '../../../../api/kinds/cluster-summary.ts';
import { parseResourceList } from '../../../../model/resources/resources.ts';
import {
  isUsableFrom, FILTERS, fitsAfterScaleUp, prepareFilters,
} from '../../../../scheduler/decision/filters.ts';
import type { PodToSchedule, TargetSnapshot } from '../../../../scheduler/snapshot/snapshot.ts';
import { toTargetCapacity } from '../../../../scheduler/snapshot/target-capacity.ts';
import {
  aPlace, aPodWithConstraints, constrained, full, rulesOf, withNodeInfo,
} from '../../../support/objects/placement.ts';
import { aTarget, frozen, unavailable, withNodes, withoutSummary, withRef } from '../../../support/objects/builders.ts';

const REJECTION = { reason: 'Unschedulable', message: 'quota' };

function aSmallPod(rejectedBy: PodToSchedule['rejectedBy'] = new Map()): PodToSchedule {
  return frozen(
    { namespace: 'team-a', requirements: { requests: parseResourceList({ cpu: '1', pods: '1' }).amounts }, rejectedBy },
  );
}

describe('isUsableFrom', () => {
  const cases: Record<string, readonly [target: TargetSnapshot, concerned: boolean]> = {
    'a ClusterTarget is for every namespace': [aTarget('c1'), true],
    'a Target is for its own namespace':
      [aTarget('t', withRef({ kind: 'Target', namespace: 'team-a', name: 't' })), true],
    'a Target of another namespace is not even mentioned':
      [aTarget('t', withRef({ kind: 'Target', namespace: 'team-b', name: 't' })), false],
  };
  for (const [sentence, [target, concerned]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(isUsableFrom(target, 'team-a'), concerned));
  }
});

describe('FILTERS', () => {
  const rejected = aSmallPod(new Map([['ClusterTarget/c1', REJECTION]]));
  const down = unavailable('Unreachable', 'no route');
  const cases: Record<string, readonly [pod: PodToSchedule, target: TargetSnapshot, reason: string | undefined]> = {
    'a target with room passes': [aSmallPod(), aTarget('c1'), undefined],
    'a target that cannot be reached says so': [aSmallPod(), aTarget('c1', down), 'Unreachable'],
    'a target that has told nothing says so': [aSmallPod(), aTarget('c1', withoutSummary()), 'NoSummary'],
    'a target that rejected the pod lately is not asked': [rejected, aTarget('c1'), 'Unschedulable'],
    'a rejection by another target does not count': [rejected, aTarget('c2'), undefined],
    'a target without a node that has room says so':
      [aSmallPod(), aTarget('c1', withNodes({ cpu: '500m', pods: '9' })), 'InsufficientResources'],
    'that it cannot be reached goes first': [rejected, aTarget('c1', down, withoutSummary()), 'Unreachable'],
    'its rejection goes before what its summary says': [rejected, aTarget('c1', withNodes()), 'Unschedulable'],
  };
  for (const [sentence, [pod, target, reason]] of Object.entries(cases)) {
    it(sentence, () => {
      const rejections = prepareFilters(pod, [target]).map(({ check }) => check(frozen(target)));
      assert.equal(rejections.find((rejection) => rejection !== undefined)?.reason, reason);
    });
  }

  it('tell the user of every no what it is and what to do', () => {
    for (const [, target, reason] of Object.values(cases)) {
      for (const { check } of prepareFilters(rejected, [target])) {
        const rejection = check(target);
        if (rejection === undefined || reason === undefined) continue;
        assert.match(rejection.reason, /^[A-Z][A-Za-z]+$/);
        assert.notEqual(rejection.message, '');
      }
    }
  });
});

/** The first check that says no, by name and reason. */
function firstNo(pod: PodToSchedule, target: TargetSnapshot): string {
  for (const { name, check } of prepareFilters(frozen(pod), [target])) {
    const rejection = check(frozen(target));
    if (rejection !== undefined) return `${name}: ${rejection.reason}: ${rejection.message}`;
  }
  return 'passes';
}

describe('filters over virtual nodes', () => {
  const eu = { matchLabels: { region: 'eu' } };
  const tainted = withNodeInfo({ taints: [{ key: 'maintenance', value: 'soon', effect: 'NoSchedule' }] });
  const preferred = withNodeInfo({ taints: [{ key: 'busy', effect: 'PreferNoSchedule' }] });
  const terms = (key: string, value: string) => ({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution:
          { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'In', values: [value] }] }] },
      },
    },
  });
  const cases: Record<string, readonly [pod: PodToSchedule, target: TargetSnapshot, no: RegExp]> = {
    'a target whose virtual node is not there': [
      aPodWithConstraints(), aPlace('c', {}, withNodeInfo({ node: undefined })),
      /^VirtualNode: NoVirtualNode: its virtual node admiralty-c does not exist/,
    ],
    'a cordoned virtual node': [
      aPodWithConstraints(), aPlace('c', {}, withNodeInfo({ cordoned: true })),
      /^VirtualNode: Cordoned: .*"kubectl uncordon admiralty-c"/,
    ],
    'a cordon that the pod tolerates': [
      constrained({ tolerations: [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists' }] }),
      aPlace('c', {}, withNodeInfo({ cordoned: true })), /^passes$/,
    ],
    'a taint that the pod does not tolerate': [
      aPodWithConstraints(), aPlace('c', {}, tainted),
      /^Taints: UntoleratedTaint: .*taint maintenance=soon:NoSchedule; tolerate it/,
    ],
    'a taint that it tolerates': [
      constrained({ tolerations: [{ key: 'maintenance', operator: 'Exists' }] }), aPlace('c', {}, tainted), /^passes$/,
    ],
    'a taint that only discourages': [aPodWithConstraints(), aPlace('c', {}, preferred), /^passes$/],
    'a selector for another value': [
      constrained({ nodeSelector: { region: 'eu' } }), aPlace('c', { region: 'us' }),
      /^NodeAffinity: NodeSelector: the pod selects region=eu and it has region=us/,
    ],
    'a selector for a label that it lacks': [
      constrained({ nodeSelector: { region: 'eu' } }), aPlace('c'),
      /^NodeAffinity: NodeSelector: .*it has no label region/,
    ],
    'a selector that holds':
      [constrained({ nodeSelector: { region: 'eu' } }), aPlace('c', { region: 'eu' }), /^passes$/],
    'a required affinity that does not hold':
      [constrained(terms('region', 'eu')), aPlace('c', { region: 'us' }), /^NodeAffinity: NodeAffinity: no term/],
    'a required affinity that holds': [constrained(terms('region', 'eu')), aPlace('c', { region: 'eu' }), /^passes$/],
    'a policy': [aPodWithConstraints({ rules: rulesOf({ require: eu }) }), aPlace('c'), /^Policy: PolicyRequires: /],
    'a policy that it meets':
      [aPodWithConstraints({ rules: rulesOf({ require: eu }) }), aPlace('c', { region: 'eu' }), /^passes$/],
    'a selector with an empty value is met by an empty label only': [
      constrained({ nodeSelector: { worker: '' } }), aPlace('c', { worker: 'yes' }),
      /^NodeAffinity: NodeSelector: the pod selects worker= and it has worker=yes/,
    ],
    'of several the first that is missed is named': [
      constrained({ nodeSelector: { region: 'eu', zone: '1', rack: 'x' } }), aPlace('c', { region: 'eu', zone: '2' }),
      /^NodeAffinity: NodeSelector: the pod selects zone=1 and it has zone=2/,
    ],
    'a selector by what every object has is not met': [
      constrained({ nodeSelector: { constructor: 'x' } }), aPlace('c'), /it has no label constructor/,
    ],
    'a selector that holds does not excuse an affinity that does not': [
      constrained({ nodeSelector: { region: 'eu' }, ...terms('zone', '1') }), aPlace('c', { region: 'eu' }),
      /^NodeAffinity: NodeAffinity: no term/,
    ],
    'an affinity without terms is met by no target, as in Kubernetes': [
      constrained({ affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution:
        { nodeSelectorTerms: [] } } } }), aPlace('c'), /^NodeAffinity: NodeAffinity: no term/,
    ],
    'an affinity to the virtual node by its name': [
      constrained({ affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [
        { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['admiralty-c'] }] },
      ] } } } }), aPlace('c'), /^passes$/,
    ],
    'one of several terms is enough': [
      constrained({ affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [
        { matchExpressions: [{ key: 'region', operator: 'In', values: ['us'] }] },
        { matchExpressions: [{ key: 'gen', operator: 'Gt', values: ['6'] }] },
      ] } } } }), aPlace('c', { gen: '7' }), /^passes$/,
    ],
    'only preferences reject nothing': [
      constrained({ affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } } }), aPlace('c'),
      /^passes$/,
    ],
    'a target without a virtual node is not judged by its labels as well': [
      constrained({ nodeSelector: { region: 'eu' } }), aPlace('c', {}, withNodeInfo({ node: undefined })),
      /^VirtualNode: NoVirtualNode/,
    ],
    'a cordon that only another effect tolerates': [
      constrained({ tolerations: [{ operator: 'Exists', effect: 'NoExecute' }] }),
      aPlace('c', {}, withNodeInfo({ cordoned: true })), /^VirtualNode: Cordoned/,
    ],
    'a cordon that one of several tolerations tolerates': [
      constrained({ tolerations: [{ key: 'x', operator: 'Exists' }, { operator: 'Exists' }] }),
      aPlace('c', {}, withNodeInfo({ cordoned: true })), /^passes$/,
    ],
    'a cordon before taints': [
      aPodWithConstraints(), aPlace('c', {},
        withNodeInfo({ cordoned: true, taints: [{ key: 'k', effect: 'NoSchedule' }] })),
      /^VirtualNode: Cordoned/,
    ],
    'a taint without a value is named without one': [
      aPodWithConstraints(), aPlace('c', {}, withNodeInfo({ taints: [{ key: 'k', value: '', effect: 'NoExecute' }] })),
      /taint k:NoExecute; tolerate it in the pod's constraints/,
    ],
    'the first taint that is not tolerated is named, not the first': [
      constrained({ tolerations: [{ key: 'a', operator: 'Exists' }] }),
      aPlace('c', {}, withNodeInfo({
        taints: [{ key: 'a', effect: 'NoSchedule' }, { key: 'b', effect: 'NoSchedule' }],
      })),
      /taint b:NoSchedule/,
    ],
    'a toleration of another value tolerates nothing': [
      constrained({ tolerations: [{ key: 'maintenance', value: 'now', effect: 'NoSchedule' }] }),
      aPlace('c', {}, tainted), /^Taints: UntoleratedTaint/,
    ],
    'the health of the virtual node, which this process itself writes, is no taint': [
      aPodWithConstraints(),
      aPlace('c', {}, withNodeInfo({ taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' }] })),
        /^passes$/,
    ],
    'a policy of which nobody knows yet what it says': [
      aPodWithConstraints({ rules: { require: [], forbid: [], blocked: { reason: 'PoliciesUnknown', message: 'm' } } }),
      aPlace('c'), /^Policy: PoliciesUnknown: m$/,
    ],
    'a policy that forbids': [
      aPodWithConstraints({ rules: rulesOf({ forbid: eu }) }), aPlace('c', { region: 'eu' }),
      /^Policy: PolicyForbids: /,
    ],
    'a patch that does not apply elsewhere': [
      aPodWithConstraints({ unpatchable: new Map([['ClusterTarget/other', 'no']]) }), aPlace('c'), /^passes$/,
    ],
    'what is overridden elsewhere does not count here': [
      aPodWithConstraints(
        { overridden: new Map([['ClusterTarget/x', { requests: parseResourceList({ cpu: '64' }).amounts }]]) },
      ), aPlace('c'), /^passes$/,
    ],
    'what a policy takes from the delegate makes it fit': [
      aPodWithConstraints(
        { overridden: new Map([['ClusterTarget/c', { requests: parseResourceList({ cpu: '1' }).amounts }]]) },
        { cpu: '64' },
      ), aPlace('c'), /^passes$/,
    ],
    'a pod that requests nothing still needs a place for a pod': [
      aPodWithConstraints({}, { cpu: '0' }), aPlace('c', {}, withNodes({ cpu: '4', memory: '8Gi', pods: '0' })),
      /^Resources: InsufficientResources: no node has 1 pods free/,
    ],
    'a device that no node has ever heard of': [
      aPodWithConstraints({}, { 'example.com/fpga': '1' }), aPlace('c'),
      /^Resources: InsufficientResources: no node has 1 example.com\/fpga free/,
    ],
    'a device of which it requests none': [aPodWithConstraints({}, { 'example.com/fpga': '0' }), aPlace('c'),
      /^passes$/],
    'more than any machine has': [
      aPodWithConstraints({}, { memory: '9223372036854775807' }), aPlace('c'), /^Resources: InsufficientResources/,
    ],
    'a patch that does not apply': [
      aPodWithConstraints({ unpatchable: new Map([['ClusterTarget/c', 'the patch does not apply']]) }), aPlace('c'),
      /^Override: OverrideFailed: the patch does not apply$/,
    ],
    'no room for the delegate as a policy changes it': [
      aPodWithConstraints(
        { overridden: new Map([['ClusterTarget/c', { requests: parseResourceList({ cpu: '64' }).amounts }]]) },
      ),
      aPlace('c'), /^Resources: InsufficientResources: no node has 64 cpu free/,
    ],
    'the policy before everything else': [
      aPodWithConstraints({ rules: rulesOf({ require: eu }) }),
      aPlace('c', {}, withNodeInfo({ cordoned: true }), unavailable('Unreachable', 'm')), /^Policy: /,
    ],
  };
  for (const [sentence, [pod, target, no]] of Object.entries(cases)) {
    it(sentence, () => assert.match(firstNo(pod, target), no));
  }

  it('are prepared only where they apply', () => {
    const names = (pod: PodToSchedule) => prepareFilters(pod, []).map(({ name }) => name);
    const { placement: _placement, ...bare } = aPodWithConstraints();
    const always = ['Available', 'Summary', 'Resources'];
    assert.deepEqual(names(bare), always);
    assert.deepEqual(names(aPodWithConstraints()), ['Available', 'VirtualNode', 'Taints', ...always.slice(1)]);
    assert.deepEqual(
      names({ ...bare, rejectedBy: new Map([['ClusterTarget/c', REJECTION]]) }),
      ['Available', 'Summary', 'NotRejected', 'Resources'],
    );
  });
  it('ask no more of a target without nodeInfo than its capacity', () => assert.equal(
    firstNo(constrained({ nodeSelector: { region: 'eu' } }), aTarget('c')), 'passes',
  ));
  it('do not say twice that nothing is known of a target that is away', () => {
    const summary = FILTERS.find(({ name }) => name === 'Summary')?.prepare(aPodWithConstraints(), []);
    assert.equal(summary?.(aPlace('c', {}, unavailable('Unreachable', 'm'), withoutSummary())), undefined);
    assert.equal(summary?.(aPlace('c', {}, withoutSummary()))?.reason, 'NoSummary');
  });

  it('have names of their own', () => assert.equal(new Set(FILTERS.map(({ name }) => name)).size, FILTERS.length));
});

describe('headroom that an autoscaler has', () => {
  const grows = (labels = {}) =>
    withNodeInfo({ spec: { headroom: [{ count: 2, allocatable: { cpu: '16', memory: '64Gi' }, labels }] } });
  const large = aPodWithConstraints({}, { cpu: '8' });

  it('lets a pod pass that no node takes now', () => {
    const target = aPlace('c', {}, full(), grows());
    assert.equal(firstNo(large, target), 'passes');
    assert.equal(fitsAfterScaleUp(large, target), true);
  });
  it('does not help a pod that a new node would not take either', () => {
    assert.match(
      firstNo(aPodWithConstraints({}, { cpu: '32' }), aPlace('c', {}, grows())),
      /InsufficientResources: no node has 32 cpu free, nor would a node that its autoscaler may add/,
    );
  });
  it('is of no use when no node may be added', () => {
    assert.equal(
      fitsAfterScaleUp(
        large, aPlace('c', {}, withNodeInfo({ spec: { headroom: [{ count: 0, allocatable: { cpu: '16' } }] } })),
      ),
      false,
    );
  });
  it('counts only where labels of the new nodes match', () => {
    const selective = { ...large, requirements: { ...large.requirements, nodeSelector: { pool: 'big' } } };
    assert.equal(fitsAfterScaleUp(selective, aPlace('c', {}, grows())), false);
    assert.equal(fitsAfterScaleUp(selective, aPlace('c', {}, grows({ pool: 'big' }))), true);
  });
});

describe('nodes that Karpenter made', () => {
  const group = (labels: Readonly<Record<string, string>>, perNodeLabels: readonly string[] = []) => ({
    labels, perNodeLabels, taints: [{ key: 'gpu', value: '', effect: 'NoSchedule' as const }],
    shape: { cpu: '16', memory: '64Gi', pods: '110' }, holes: [{ count: 3, free: { cpu: '1' } }],
  });
  const tolerant = (cpu: string, nodeSelector = {}) => {
    const pod = aPodWithConstraints({}, { cpu });
    const tolerations = [{ key: 'gpu', operator: 'Exists' as const }];
    return { ...pod, requirements: { ...pod.requirements, nodeSelector, tolerations } };
  };
  const withCapacity = (summary: ClusterSummary) =>
    (target: TargetSnapshot): TargetSnapshot => ({ ...target, capacity: toTargetCapacity(summary) });
  const made = (...nodeGroups: readonly ReturnType<typeof group>[]): TargetSnapshot =>
    aPlace('c', {}, withCapacity({ metadata: {}, nodeGroups }));
  const pool = group({ 'karpenter.sh/nodepool': 'default', pool: 'big' });

  it('may have another one like them, without a declaration', () => {
    const target = made(pool);
    assert.equal(firstNo(tolerant('8'), target), 'passes');
    assert.deepEqual(
      [tolerant('8'), tolerant('32'), aPodWithConstraints({}, { cpu: '8' }), tolerant('8', { pool: 'big' })]
        .map((pod) => fitsAfterScaleUp(pod, target)), [true, false, false, true],
    );
    assert.match(firstNo(tolerant('32'), target), /nor would a node that its autoscaler may add$/);
  });
  it('are known by the label of its first versions, and where pools are many', () => {
    for (const target of [
      made(group({ 'karpenter.sh/provisioner-name': 'a' })), made(group({}, ['karpenter.sh/nodepool'])),
    ]) assert.equal(fitsAfterScaleUp(tolerant('8'), target), true);
  });
  it('do not stand for a node of a name', () => {
    const target = made(group({ 'karpenter.sh/nodepool': 'a' }, ['kubernetes.io/hostname']));
    assert.equal(fitsAfterScaleUp(tolerant('8', { 'kubernetes.io/hostname': 'n' }), target), false);
  });
  it('are not taken for it where others made them', () => assert.equal(
    fitsAfterScaleUp(tolerant('8'), made(group({ 'eks.amazonaws.com/nodegroup': 'a' }))), false,
  ));
  it('count no more once something is declared', () => {
    const declared = withNodeInfo({ spec: { headroom: [{ count: 1, allocatable: { cpu: '2' } }] } });
    const target = aPlace('c', {}, withCapacity({ metadata: {}, nodeGroups: [pool] }), declared);
    assert.equal(fitsAfterScaleUp(tolerant('8'), target), false);
  });
  it('are known again when a decision is replayed', () => {
    const target = aPlace('c', {}, withCapacity(made(pool).capacity!.toSummary()));
    assert.equal(fitsAfterScaleUp(tolerant('8'), target), true);
  });
});
