import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterSummary } from '../../../../api/kinds/cluster-summary.ts';
import { parseResourceList } from '../../../../model/resources/resources.ts';
import {
  concerns, FILTERS, fitsAfterScaleUp, prepareFilters,
} from '../../../../scheduler/decision/filters.ts';
import type { PodToSchedule, TargetSnapshot } from '../../../../scheduler/snapshot/snapshot.ts';
import { toTargetCapacity } from '../../../../scheduler/snapshot/target-capacity.ts';
import { aPlace, aPodWithConstraints, constrained, full, rulesOf, withTraits } from '../../../support/placement.ts';
import { aTarget, frozen, unavailable, withNodes, withoutSummary, withRef } from '../../../support/builders.ts';

const REFUSAL = { reason: 'Unschedulable', message: 'quota' };

function aSmallPod(refusals: PodToSchedule['refusals'] = new Map()): PodToSchedule {
  return frozen(
    { namespace: 'team-a', requirements: { requests: parseResourceList({ cpu: '1', pods: '1' }).amounts }, refusals },
  );
}

describe('concerns', () => {
  const cases: Record<string, readonly [target: TargetSnapshot, concerned: boolean]> = {
    'a ClusterTarget is for every namespace': [aTarget('c1'), true],
    'a Target is for its own namespace':
      [aTarget('t', withRef({ kind: 'Target', namespace: 'team-a', name: 't' })), true],
    'a Target of another namespace is not even mentioned':
      [aTarget('t', withRef({ kind: 'Target', namespace: 'team-b', name: 't' })), false],
  };
  for (const [sentence, [target, concerned]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(concerns(target, 'team-a'), concerned));
  }
});

describe('FILTERS', () => {
  const refused = aSmallPod(new Map([['ClusterTarget/c1', REFUSAL]]));
  const down = unavailable('Unreachable', 'no route');
  const cases: Record<string, readonly [pod: PodToSchedule, target: TargetSnapshot, reason: string | undefined]> = {
    'a target with room passes': [aSmallPod(), aTarget('c1'), undefined],
    'a target that cannot be reached says so': [aSmallPod(), aTarget('c1', down), 'Unreachable'],
    'a target that has told nothing says so': [aSmallPod(), aTarget('c1', withoutSummary()), 'NoSummary'],
    'a target that refused the pod lately is not asked': [refused, aTarget('c1'), 'Unschedulable'],
    'a refusal by another target does not count': [refused, aTarget('c2'), undefined],
    'a target without a node that has room says so':
      [aSmallPod(), aTarget('c1', withNodes({ cpu: '500m', pods: '9' })), 'InsufficientResources'],
    'that it cannot be reached goes first': [refused, aTarget('c1', down, withoutSummary()), 'Unreachable'],
    'its refusal goes before what its summary says': [refused, aTarget('c1', withNodes()), 'Unschedulable'],
  };
  for (const [sentence, [pod, target, reason]] of Object.entries(cases)) {
    it(sentence, () => {
      const rejections = prepareFilters(pod, [target]).map(({ check }) => check(frozen(target)));
      assert.equal(rejections.find((rejection) => rejection !== undefined)?.reason, reason);
    });
  }

  it('tell the user of every no what it is and what to do', () => {
    for (const [, target, reason] of Object.values(cases)) {
      for (const { check } of prepareFilters(refused, [target])) {
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
  const tainted = withTraits({ taints: [{ key: 'maintenance', value: 'soon', effect: 'NoSchedule' }] });
  const preferred = withTraits({ taints: [{ key: 'busy', effect: 'PreferNoSchedule' }] });
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
      aPodWithConstraints(), aPlace('c', {}, withTraits({ node: undefined })),
      /^VirtualNode: NoVirtualNode: its virtual node admiralty-c does not exist/,
    ],
    'a cordoned virtual node': [
      aPodWithConstraints(), aPlace('c', {}, withTraits({ cordoned: true })),
      /^VirtualNode: Cordoned: .*"kubectl uncordon admiralty-c"/,
    ],
    'a cordon that the pod tolerates': [
      constrained({ tolerations: [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists' }] }),
      aPlace('c', {}, withTraits({ cordoned: true })), /^passes$/,
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
      aPlace('c', {}, withTraits({ cordoned: true }), unavailable('Unreachable', 'm')), /^Policy: /,
    ],
  };
  for (const [sentence, [pod, target, no]] of Object.entries(cases)) {
    it(sentence, () => assert.match(firstNo(pod, target), no));
  }

  it('have names of their own', () => assert.equal(new Set(FILTERS.map(({ name }) => name)).size, FILTERS.length));
});

describe('headroom that an autoscaler has', () => {
  const grows = (labels = {}) =>
    withTraits({ spec: { headroom: [{ count: 2, allocatable: { cpu: '16', memory: '64Gi' }, labels }] } });
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
        large, aPlace('c', {}, withTraits({ spec: { headroom: [{ count: 0, allocatable: { cpu: '16' } }] } })),
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
    const declared = withTraits({ spec: { headroom: [{ count: 1, allocatable: { cpu: '2' } }] } });
    const target = aPlace('c', {}, withCapacity({ metadata: {}, nodeGroups: [pool] }), declared);
    assert.equal(fitsAfterScaleUp(tolerant('8'), target), false);
  });
  it('are known again when a decision is replayed', () => {
    const target = aPlace('c', {}, withCapacity(made(pool).capacity!.toSummary()));
    assert.equal(fitsAfterScaleUp(tolerant('8'), target), true);
  });
});
