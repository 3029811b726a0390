import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { parseResourceList } from '../../../../model/resources/resources.ts';
import { targetKey } from '../../../../model/naming/target-ref.ts';
import { EquivalenceCache } from '../../../../scheduler/cache/equivalence-cache.ts';
import { schedulePod } from '../../../../scheduler/decision/schedule-pod.ts';
import type { PodToSchedule } from '../../../../scheduler/snapshot/snapshot.ts';
import type { Rejection } from '../../../../scheduler/snapshot/rejection.ts';
import type { NodeRequirements } from '../../../../scheduler/snapshot/node-requirements.ts';
import { TargetViews, type TargetIdentity } from '../../../../scheduler/cache/target-views.ts';
import type { ClusterConstraints } from '../../../../model/proxy/proxy-pod.ts';
import { toVirtualNodeInfo } from '../../../../scheduler/snapshot/virtual-node-info.ts';
import { aPlace, aPodWithConstraints, placed, rulesOf } from '../../../support/objects/placement.ts';

const REJECTION: Rejection = { reason: 'Unschedulable', message: 'quota' };

function identityOf(name: string): TargetIdentity {
  const ref = name.startsWith('t')
    ? ({ kind: 'Target', namespace: 'team-b', name } as const)
    : ({ kind: 'ClusterTarget', name } as const);
  return { ref, key: targetKey(ref), nodeName: `admiralty-${name}` };
}

function needs(cpu: string, nodeSelector = {}): NodeRequirements {
  return { requests: parseResourceList({ cpu, pods: '1' }).amounts, nodeSelector };
}

function aPod(requirements: NodeRequirements, ...rejectedBy: string[]): PodToSchedule {
  return {
    namespace: 'team-a', requirements, rejectedBy: new Map(rejectedBy.map((name) => [identityOf(name).key, REJECTION])),
  };
}

function publish(views: TargetViews, name: string, cpus: readonly string[]): void {
  views.update(identityOf(name), undefined);
  const holes = cpus.map((cpu) => ({ count: 1, free: { cpu, pods: '9' } }));
  const sum = { cpu: `${cpus.reduce((total, cpu) => total + Number(cpu), 0)}`, pods: '99' };
  views.publish(identityOf(name).key, {
    metadata: {}, allocatable: sum, free: sum, nodeGroups: [{ labels: { zone: name }, holes }],
  });
}

describe('EquivalenceCache', () => {
  it('gives equal requirements one object', () => {
    const cache = new EquivalenceCache();
    const interned = cache.intern(needs('1', { zone: 'a' }));
    assert.equal(cache.intern(needs('1', { zone: 'a' })), interned);
    for (const other of [needs('2', { zone: 'a' }), needs('1', { zone: 'b' }), needs('1')]) {
      assert.notEqual(cache.intern(other), interned);
    }
  });

  it('does not take pods of another namespace for the same', () => {
    const cache = new EquivalenceCache();
    const views = new TargetViews();
    publish(views, 't1', ['8']);
    const requirements = cache.intern(needs('1'));
    assert.equal(cache.decide({ ...aPod(requirements), namespace: 'team-b' }, views.snapshots()).kind, 'chosen');
    assert.deepEqual(cache.decide(aPod(requirements), views.snapshots()), { kind: 'none', rejected: [] });
  });

  it('tells of a rejection before what the summary says, and after that the target cannot be reached', () => {
    const cache = new EquivalenceCache();
    const views = new TargetViews();
    publish(views, 'full', ['0']);
    views.update(identityOf('gone'), { reason: 'Unreachable', message: 'm' });
    const { rejected } = cache.decide(aPod(needs('1'), 'full', 'gone'), views.snapshots());
    assert.deepEqual(rejected.map(({ reason }) => reason), ['Unschedulable', 'Unreachable']);
  });

  it('sees what changed when more changes came than are kept', () => {
    const cache = new EquivalenceCache();
    const views = new TargetViews();
    for (const name of ['a', 'b']) publish(views, name, ['1']);
    const pod = aPod(cache.intern(needs('1')));
    assert.equal(cache.decide(pod, views.snapshots(), views.changes).kind, 'chosen');
    for (const name of ['a', 'b']) publish(views, name, ['0']);
    for (let i = 0; i < 5_000; i += 1) views.update(identityOf('a'), undefined);
    assert.equal(cache.decide(pod, views.snapshots(), views.changes).kind, 'none');
  });

  it('does not change a list of rejections that it gave away', () => {
    const cache = new EquivalenceCache();
    const views = new TargetViews();
    for (const name of ['a', 'b', 'c']) publish(views, name, name === 'b' ? ['8'] : ['0']);
    const pod = aPod(cache.intern(needs('1')));
    const first = cache.decide(pod, views.snapshots(), views.changes).rejected;
    publish(views, 'a', ['8']);
    publish(views, 'b', ['0']);
    const second = cache.decide(pod, views.snapshots(), views.changes).rejected;
    const keys = (rejected: typeof first) => rejected.map(({ target }) => target);
    assert.deepEqual(
      [keys(first), keys(second)], [['ClusterTarget/a', 'ClusterTarget/c'], ['ClusterTarget/b', 'ClusterTarget/c']],
    );
  });

  it('goes on deciding when more classes come than it remembers', () => {
    const cache = new EquivalenceCache();
    const views = new TargetViews();
    publish(views, 'a', ['8']);
    for (let i = 0; i < 500; i += 1) {
      assert.equal(cache.decide(aPod(needs(`${i + 1}m`)), views.snapshots()).kind, 'chosen');
    }
  });
});

const names = fc.constantFrom('a', 'b', 'c', 't1');
const event = fc.oneof(
  fc.record(
    { kind: fc.constant('publish' as const), name: names, cpus: fc.array(fc.nat(4).map(String), { maxLength: 3 }) },
  ),
  fc.record({ kind: fc.constant('lose' as const), name: names }),
  fc.record({ kind: fc.constant('remove' as const), name: names }),
  fc.record({ kind: fc.constant('release' as const), uid: fc.nat(5) }),
  fc.record({
    kind: fc.constant('decide' as const), cpu: fc.integer({ min: 0, max: 3 }),
    selector: fc.constantFrom({}, { zone: 'a' }), rejectedBy: fc.subarray(['a', 'b']),
  }),
);

describe('laws of remembered decisions', () => {
  it('every decision is the one made anew, whatever happened before, with and without a list of what changed', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 30 }), fc.boolean(), (events, knowsChanges) => {
        const cache = new EquivalenceCache();
        const views = new TargetViews();
        for (const [uid, event] of events.entries()) {
          if (event.kind === 'publish') publish(views, event.name, event.cpus);
          if (event.kind === 'lose') views.update(identityOf(event.name), { reason: 'Unreachable', message: 'm' });
          if (event.kind === 'remove') views.remove(identityOf(event.name).key);
          if (event.kind === 'release') views.releaseEverywhere(`${event.uid}`);
          if (event.kind !== 'decide') continue;
          const pod = aPod(cache.intern(needs(`${event.cpu}`, event.selector)), ...event.rejectedBy);
          const decision = cache.decide(pod, views.snapshots(), knowsChanges ? views.changes : undefined);
          assert.deepEqual(decision, schedulePod(pod, views.snapshots()));
          if (decision.kind === 'chosen') views.assume(decision.target.key, `${uid}`, pod.requirements);
        }
      }),
    );
  });
});

describe('laws of remembered decisions about constraints', () => {
  const EU = { matchLabels: { region: 'eu' } };
  const taint = [{ key: 'k', effect: 'NoSchedule' as const }];
  const placement = fc.record({
    constraints: fc.constantFrom<ClusterConstraints>(
      {}, { nodeSelector: { region: 'eu' } }, { tolerations: [{ operator: 'Exists' }] },
      { nodeSelector: { region: 'us' }, tolerations: [{ key: 'k', operator: 'Exists' }] },
    ),
    rules: fc.constantFrom({}, { require: EU }, { forbid: EU }).map((spec) => rulesOf(spec)),
    weights: fc.constantFrom({}, { rtt: 5 }, { leastAllocated: 0, locality: 3 }, { mostAllocated: 9 }),
    location: fc.constantFrom({}, { region: 'eu' }),
  });
  const nodeInfo = fc.record({
    region: fc.constantFrom('eu', 'us'), cordoned: fc.boolean(), rttMs: fc.constantFrom(0, 50, 400),
    taints: fc.constantFrom([], taint), grows: fc.boolean(),
  });
  const steps = fc.array(fc.oneof(
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('look' as const), name: names, nodeInfo }) },
    fc.record({ kind: fc.constant('publish' as const), name: names, cpus: fc.array(fc.nat(3).map(String),
      { maxLength: 2 }) }),
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('decide' as const), placement, cpu: fc.nat(2),
      rejectedBy: fc.subarray(['a', 'b', 'c']) }) },
  ), { minLength: 6, maxLength: 25 });
  type NodeInfo = typeof nodeInfo extends fc.Arbitrary<infer T> ? T : never;

  function look(views: TargetViews, name: string, { region, cordoned, rttMs, taints, grows }: NodeInfo): void {
    const { nodeName, ...identity } = identityOf(name);
    const headroom = grows ? { headroom: [{ count: 1, allocatable: { cpu: '9' } }] } : {};
    views.update({ ...identity, nodeName, nodeInfo: toVirtualNodeInfo({
      nodeName, node: { metadata: {}, spec: { taints, unschedulable: cordoned } }, labels: { region }, rttMs,
      spec: headroom, kind: identity.ref.kind,
    }) }, undefined);
  }

  it('every decision is the one made anew, for pods of any class in any order', () => {
    let [chosen, none] = [0, 0];
    fc.assert(fc.property(steps, (all) => {
      const cache = new EquivalenceCache();
      const views = new TargetViews();
      for (const name of ['a', 'b']) publish(views, name, ['2']);
      for (const [uid, step] of all.entries()) {
        if (step.kind === 'look') look(views, step.name, step.nodeInfo);
        else if (step.kind === 'publish') publish(views, step.name, step.cpus);
        else {
          const pod = { ...aPod(cache.intern(needs(`${step.cpu}`)), ...step.rejectedBy), placement: aPodWithConstraints(
            step.placement,
          ).placement! };
          const decision = cache.decide(pod, views.snapshots(), views.changes);
          assert.deepEqual(decision, schedulePod(pod, views.snapshots()));
          if (decision.kind === 'chosen') views.assume(decision.target.key, `${uid}`, pod.requirements);
          if (decision.kind === 'chosen') chosen += 1;
          else none += 1;
        }
      }
    }), { numRuns: 60 });
    assert.ok(chosen > 9 && none > 9, `${chosen} ${none}`);
  });
});

describe('what makes a class of pods', () => {
  it('is one object for equal requirements, until very many others have come', () => {
    const cache = new EquivalenceCache();
    const first = cache.intern(needs('1'));
    for (let index = 0; index < 999; index += 1) cache.intern(needs(`${index + 2}`));
    assert.equal(cache.intern(needs('1')), first);
    cache.intern(needs('1001'));
    assert.notEqual(cache.intern(needs('1')), first, 'the map was cleared: what nobody uses is not kept for good');
  });
  it('is told apart by tolerations and affinity too', () => {
    const cache = new EquivalenceCache();
    const interned = cache.intern(needs('1'));
    const affinity = { nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } };
    for (const other of [{ tolerations: [] }, { affinity }, { nodeSelector: { a: '' } }]) {
      assert.notEqual(cache.intern({ ...needs('1'), ...other }), interned);
    }
  });
  it('is told apart by resources whose names look alike', () => {
    const cache = new EquivalenceCache();
    const of = (...entries: readonly (readonly [string, number])[]) => cache.intern({ requests: new Map(entries) });
    assert.notEqual(of(['a', 1], ['b', 2]), of(['a', 2], ['b', 1]));
    assert.notEqual(of(['__proto__', 1]), of());
  });
});

describe('where targets are compared', () => {
  const spread = { maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: {} };
  it('nothing is remembered: what changed elsewhere counts at once', () => {
    const cache = new EquivalenceCache();
    const targets = [aPlace('a'), aPlace('b')];
    const decide = (byTarget: Readonly<Record<string, number>>) => {
      const decision = cache.decide(aPodWithConstraints(
        { placed: [placed(byTarget)], constraints: { topologySpreadConstraints: [spread] } },
      ), targets);
      return decision.kind === 'chosen' && decision.target.ref.name;
    };
    assert.deepEqual([decide({ a: 1 }), decide({ b: 1 }), decide({ a: 1 })], ['b', 'a', 'b']);
  });
  it('tells when the next tier opens', () => {
    const tiers = rulesOf({ tiers: [{ targets: { matchLabels: { no: 'such' } }, waitSeconds: 7 }, { targets: {} }] });
    const decision = new EquivalenceCache().decide(aPodWithConstraints({ rules: tiers }), [aPlace('a')]);
    assert.equal(decision.kind === 'none' && decision.retryInSeconds, 7);
  });
});
