// Which clusters a ClusterDecision names: they join as pods would, and stay as long as the policies allow it.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { StringMap } from '../../../../api/objects/core.ts';
import type { PlacementPolicySpec } from '../../../../api/kinds/placement-policy.ts';
import type { ClusterDecision, ClusterDecisionSpec } from '../../../../api/placement/cluster-decision.ts';
import { chooseClusters, type ClusterDecisionContext } from '../../../../scheduler/publishing/choose-clusters.ts';
import { PlacedPods } from '../../../../scheduler/snapshot/placed-pods.ts';
import { toKnownPolicy } from '../../../../scheduler/snapshot/placement-rules.ts';
import type { TargetSnapshot } from '../../../../scheduler/snapshot/snapshot.ts';
import { toVirtualNodeInfo } from '../../../../scheduler/snapshot/virtual-node-info.ts';
import { aTarget, unavailable, withNodes, withRef } from '../../../support/objects/builders.ts';

const BORN = '2026-01-01T00:00:00Z';
const OPTED_IN = { 'multicluster-scheduler': 'enabled' };

function cluster(name: string, labels: StringMap = {}, spec: object = {}): TargetSnapshot {
  const nodeName = `admiralty-${name}`;
  const taint = { key: 'virtual-kubelet.io/provider', value: 'admiralty', effect: 'NoSchedule' } as const;
  const node = { metadata: { name: nodeName }, spec: { taints: [taint], ...spec } };
  return aTarget(name, (target) => ({ ...target, nodeInfo: toVirtualNodeInfo({ nodeName, node, labels, spec: {} }) }));
}

const EU = cluster('eu', { region: 'eu' });
const US = cluster('us', { region: 'us' });
const REGION = (region: string) => ({ matchLabels: { region } });

interface Given {
  readonly targets?: readonly TargetSnapshot[];
  readonly spec?: ClusterDecisionSpec;
  readonly published?: readonly string[];
  readonly policy?: PlacementPolicySpec;
  readonly namespaces?: Readonly<Record<string, StringMap>>;
  readonly names?: ReadonlyMap<string, string> | undefined;
  readonly seconds?: number;
  readonly isComplete?: boolean;
}

const named = (...targets: readonly string[]) => targets.map((target) => ({ clusterName: `argo-${target}`, target }));
const NAMES = new Map(['eu', 'us', 'full'].map((name) => [name, `argo-${name}`]));

function choose(given: Given) {
  const { targets = [EU, US], spec = {}, published = [], policy, seconds = 0, isComplete = true } = given;
  const { namespaces = { shop: OPTED_IN } } = given;
  const decision: ClusterDecision = {
    metadata: { namespace: 'shop', name: 'web', creationTimestamp: BORN }, spec,
    status: { decisions: named(...published) },
  };
  const known = policy === undefined
    ? []
    : [toKnownPolicy({ metadata: { namespace: 'shop', name: 'p' }, spec: policy })];
  const policies = { isComplete, policies: known, namespaces: new Map(Object.entries(namespaces)) };
  const world: ClusterDecisionContext = {
    targets, placement: { policies, placed: new PlacedPods() }, now: Date.parse(BORN) + seconds * 1_000,
    names: 'names' in given ? given.names : NAMES,
  };
  return chooseClusters(decision, world);
}

function chosen(given: Given): readonly string[] | string {
  const choice = choose(given);
  return choice.kind === 'chosen' ? choice.decisions.map(({ target }) => target) : `${choice.kind} ${choice.reason}`;
}

const FULL = aTarget('full', withNodes());
const LOST = unavailable('Unreachable', 'it does not answer')(US);
const TIERS = { tiers: [{ targets: REGION('eu') }, { targets: REGION('us') }] };

describe('a cluster of a decision', () => {
  const rows: readonly (readonly [string, Given, readonly string[] | string])[] = [
    ['joins when a pod could be placed there', {}, ['eu', 'us']],
    ['does not join without room', { targets: [EU, FULL] }, ['eu']],
    ['does not join without room for what the pods request', { spec: { requests: { cpu: '5' } } }, []],
    ['does not join while it is lost', { targets: [EU, LOST] }, ['eu']],
    ['does not join while it is cordoned', { targets: [EU, cluster('us', {}, { unschedulable: true })] }, ['eu']],
    ['does not join against a policy', { policy: { require: REGION('eu') } }, ['eu']],
    ['does not join a decision about other pods than the policy\'s',
      { policy: { require: REGION('eu'), podSelector: { matchLabels: { app: 'db' } } } }, ['eu', 'us']],
    ['does not join a decision about the policy\'s pods', {
      policy: { require: REGION('eu'), podSelector: { matchLabels: { app: 'db' } } },
      spec: { podLabels: { app: 'db' } },
    }, ['eu']],
    ['stays without room', { targets: [EU, FULL], published: ['full'] }, ['eu', 'full']],
    ['stays while it is lost', { targets: [EU, LOST], published: ['us'] }, ['eu', 'us']],
    ['goes against a policy', { policy: { forbid: REGION('us') }, published: ['eu', 'us'] }, ['eu']],
    ['goes with its target', { targets: [EU], published: ['eu', 'us'] }, ['eu']],
    ['goes when no tier has it', { policy: { tiers: [{ targets: REGION('eu') }] }, published: ['us'] }, ['eu']],
    ['goes when no required share has it', {
      policy: { replicas: { shares: [{ targets: REGION('eu'), weight: 1 }], whenUnsatisfiable: 'DoNotSchedule' } },
      published: ['us'],
    }, ['eu']],
    ['is of the first tier', { policy: TIERS }, ['eu']],
    ['is of the next tier where the first has no room',
      { policy: TIERS, targets: [unavailable('Unreachable', '')(EU), US] }, ['us']],
    ['stays in its tier for a moment without room',
      { policy: TIERS, targets: [unavailable('Unreachable', '')(EU), US], published: ['eu'] }, ['eu']],
    ['of the next tier stays when the first has room again', { policy: TIERS, published: ['us'] }, ['eu', 'us']],
    ['is no more than asked for', { spec: { clusters: 1 }, published: ['us'] }, ['us']],
    ['leaves when fewer are asked for',
      { spec: { clusters: 1 }, targets: [EU, LOST], published: ['eu', 'us'] }, ['eu']],
  ];
  for (const [what, given, expected] of rows) it(what, () => assert.deepEqual(chosen(given), expected));

  it('of a later tier joins when the tier opens', () => {
    const policy = { tiers: [{ targets: REGION('none'), waitSeconds: 60 }, { targets: REGION('us') }] };
    assert.deepEqual([chosen({ policy, seconds: 59 }), chosen({ policy, seconds: 60 })], [[], ['us']]);
  });

  it('is named as in Argo CD, and is not there when Argo CD does not know it', () => {
    const choice = choose({ names: new Map([['eu', 'EU West']]) });
    assert.ok(choice.kind === 'chosen');
    assert.deepEqual(choice.decisions, [{ clusterName: 'EU West', target: 'eu' }]);
    assert.deepEqual(choice.unknown, ['us']);
  });

  it('takes a new name while it is lost', () => {
    const choice = choose({ targets: [LOST], published: ['us'], names: new Map([['us', 'US']]) });
    assert.deepEqual(choice.kind === 'chosen' && choice.decisions, [{ clusterName: 'US', target: 'us' }]);
  });

  it('keeps its name when nobody tells it any more, and takes a new one', () => {
    const choice = choose({ names: new Map([['eu', 'EU']]), published: ['eu', 'us'] });
    assert.ok(choice.kind === 'chosen');
    assert.deepEqual(choice.decisions.map(({ clusterName }) => clusterName), ['EU', 'argo-us']);
    assert.deepEqual(choice.unknown, []);
  });
});

describe('a cluster that is not named', () => {
  const said = (given: Given): readonly string[] => {
    const choice = choose(given);
    assert.ok(choice.kind === 'chosen');
    return choice.rejected.map(({ target, reason }) => `${target} ${reason}`);
  };
  const unknown = (given: Given): readonly string[] => {
    const choice = choose(given);
    assert.ok(choice.kind === 'chosen');
    return choice.unknown;
  };
  const onlyEu = new Map([['eu', 'EU']]);

  it('is told with its reason where a pod would be rejected there', () => {
    assert.deepEqual(said({ targets: [EU, FULL, LOST] }).toSorted(),
      ['ClusterTarget/full NoNodes', 'ClusterTarget/us Unreachable']);
    assert.deepEqual(said({ spec: { requests: { cpu: '5' } } }).map((each) => each.split(' ')[1]),
      ['InsufficientResources', 'InsufficientResources']);
  });
  it('is not told where policies let no pod in', () => {
    assert.deepEqual(said({ policy: { forbid: REGION('us') }, targets: [EU, LOST] }), []);
  });
  it('is unknown to the reader where it would be named otherwise', () => {
    assert.deepEqual(unknown({ names: onlyEu }), ['us']);
    assert.deepEqual(unknown({ names: new Map() }), ['eu', 'us']);
  });
  it('is not unknown where it would not be named either way', () => {
    assert.deepEqual(unknown({ names: onlyEu, policy: TIERS }), [], 'it is of a later tier');
    assert.deepEqual(unknown({ names: onlyEu, spec: { clusters: 1 }, published: ['eu'] }), [], 'none more is wanted');
    assert.deepEqual(unknown({ names: onlyEu, targets: [EU, LOST] }), [], 'it is lost');
    assert.deepEqual(unknown({ names: onlyEu, policy: { require: REGION('eu') } }), [], 'a policy excludes it');
  });
});

describe('a pod of a decision', () => {
  it('is not spread, not counted in shares, and not overridden', () => {
    const replicas = { shares: [{ targets: REGION('eu'), weight: 1 }, { targets: REGION('us'), weight: 1 }] };
    const patch = [{ op: 'remove' as const, path: '/spec/nodeSelector/none' }];
    const policies: readonly PlacementPolicySpec[] = [
      { replicas: { ...replicas, whenUnsatisfiable: 'DoNotSchedule' } }, { overrides: [{ targets: {}, patch }] },
      { spread: [{ topologyKey: 'none', maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' }] },
    ];
    for (const policy of policies) assert.deepEqual(chosen({ policy }), ['eu', 'us'], Object.keys(policy)[0]);
  });
  it('of a target that joins by a share that need not hold, though no share has it', () => {
    const replicas = { shares: [{ targets: REGION('eu'), weight: 1 }] };
    assert.deepEqual(chosen({ policy: { replicas } }), ['eu', 'us']);
    assert.deepEqual(chosen({ policy: { replicas: { ...replicas, whenUnsatisfiable: 'DoNotSchedule' } } }), ['eu']);
  });
  it('tolerates what marks virtual nodes, and no other taint', () => {
    const taints = [{ key: 'a.io/theirs', effect: 'NoSchedule' }];
    assert.deepEqual(chosen({ targets: [EU, cluster('us', {}, { taints })] }), ['eu']);
  });
});

describe('a decision', () => {
  const other = { namespace: 'other' };
  const rows: readonly (readonly [string, Given, readonly string[] | string])[] = [
    ['changes nothing before policies are read', { isComplete: false, published: ['eu'] }, 'unchanged PoliciesUnknown'],
    ['changes nothing while a policy is invalid',
      { policy: { tiers: 'x' } as unknown as PlacementPolicySpec, published: ['eu'] }, 'unchanged PolicyInvalid'],
    ['changes nothing before names are read', { names: undefined, published: ['eu'] }, 'unchanged NamesUnknown'],
    ['is not made for a namespace that has not opted in', { namespaces: { shop: {} } }, 'denied NamespaceNotOptedIn'],
    ['is not made for a namespace that does not exist', { namespaces: {} }, 'denied NamespaceNotOptedIn'],
    ['is made for a namespace whose pods are all elected',
      { namespaces: { shop: { 'isthmus.dev/elect': 'all' } } }, ['eu', 'us']],
    ['is not made about another namespace',
      { spec: other, namespaces: { shop: OPTED_IN, other: OPTED_IN } }, 'denied NamespaceNotAllowed'],
    ['is made about another one where an administrator allows it',
      { spec: other, namespaces: { shop: { 'isthmus.dev/cluster-decisions': 'all-namespaces' }, other: OPTED_IN } },
      ['eu', 'us']],
    ['is not made by another value',
      { spec: other, namespaces: { shop: { 'isthmus.dev/cluster-decisions': 'true' }, other: OPTED_IN } },
      'denied NamespaceNotAllowed'],
    ['may name its own namespace', { spec: { namespace: 'shop' } }, ['eu', 'us']],
    ['names no Target of a tenant, whatever its name',
      { targets: [withRef({ kind: 'Target', namespace: 'shop', name: 'eu' })(EU)], published: ['eu'] }, []],
  ];
  for (const [what, given, expected] of rows) it(what, () => assert.deepEqual(chosen(given), expected));

  it('is the same whatever the order of targets, and stays when it is made again', () => {
    const target = fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom('eu', 'us'), fc.boolean())
      .map(([name, region, isLost]) => (isLost ? unavailable('Unreachable', '') : (same: TargetSnapshot) => same)(
        cluster(name, { region }),
      ));
    const targets = fc.uniqueArray(target, { selector: ({ key }) => key, maxLength: 4 });
    const published = fc.uniqueArray(fc.constantFrom('a', 'b', 'gone'));
    const names = new Map(['a', 'b', 'c'].map((name) => [name, `argo-${name}`]));
    fc.assert(fc.property(
      targets, published, fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }), fc.boolean(),
      (all, before, clusters, hasTiers) => {
        const given: Given = {
          targets: all, published: before, names, spec: { ...(clusters !== undefined && { clusters }) },
          ...(hasTiers && { policy: TIERS }),
        };
        const first = chosen(given);
        assert.ok(Array.isArray(first));
        assert.deepEqual(chosen({ ...given, targets: all.toReversed() }), first);
        assert.deepEqual(chosen({ ...given, published: first }), first);
        assert.ok(first.length <= (clusters ?? Infinity));
        for (const name of first) assert.ok(all.some(({ ref }) => ref.name === name));
      },
    ));
  });
});
