import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { ResourceList } from '../../../../api/objects/core.ts';
import { parseResourceList } from '../../../../model/resources/resources.ts';
import type { ScoreName } from '../../../../api/kinds/placement-policy.ts';
import { SCORE_NAMES } from '../../../../api/kinds/placement-policy.ts';
import { leastAllocated, prepareScores, priceOf, weightedMean } from '../../../../scheduler/decision/scores.ts';
import { schedulePod } from '../../../../scheduler/decision/schedule-pod.ts';
import type { PodToSchedule, TargetSnapshot } from '../../../../scheduler/snapshot/snapshot.ts';
import { aPlace, aPodWithConstraints, placed, withNodeInfo } from '../../../support/objects/placement.ts';
import { toTargetCapacity, type TargetCapacity } from '../../../../scheduler/snapshot/target-capacity.ts';
import { aTarget, frozen, withNodes } from '../../../support/objects/builders.ts';

function capacityOf(allocatable: ResourceList, free: ResourceList): TargetCapacity {
  return toTargetCapacity({ metadata: {}, allocatable, free });
}

const total = { cpu: '10', memory: '10Gi', pods: '100' };

function scoreOf(freeCpu: number, askedCpu: number): number {
  return leastAllocated(
    capacityOf(total, { ...total, cpu: `${freeCpu}` }), parseResourceList({ cpu: `${askedCpu}` }).amounts,
  );
}

describe('leastAllocated', () => {
  const cases: Record<string, readonly [free: ResourceList, requests: ResourceList, score: number]> = {
    'an empty target scores 1 for a pod that asks for nothing': [total, {}, 1],
    'a full target scores 0': [{ cpu: '0', memory: '0' }, {}, 0],
    'the pod itself counts as placed': [total, { cpu: '5', memory: '5Gi' }, 0.5],
    'CPU and memory count alike': [{ cpu: '10', memory: '0' }, {}, 0.5],
    'the number of pods does not count': [{ ...total, pods: '0' }, { pods: '1' }, 1],
    'a pod that is larger than what is free scores 0, not less':
      [{ cpu: '1', memory: '1Gi' }, { cpu: '2', memory: '2Gi' }, 0],
    'a resource that the target lacks counts as none free': [total, { 'nvidia.com/gpu': '1' }, 2 / 3],
  };
  for (const [sentence, [free, requests, score]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(
      leastAllocated(frozen(capacityOf(total, free)), frozen(parseResourceList(requests).amounts)), score,
    ));
  }

  it('counts another resource that the pod asks for', () => {
    const capacity = capacityOf({ ...total, 'nvidia.com/gpu': '4' }, { ...total, 'nvidia.com/gpu': '3' });
    assert.equal(leastAllocated(capacity, parseResourceList({ 'nvidia.com/gpu': '1' }).amounts), 2.5 / 3);
  });

  const amount = fc.record({ cpu: fc.nat(20).map(String), memory: fc.nat(20).map((gib) => `${gib}Gi`) });

  it('is between 0 and 1, whatever a target claims', () => {
    fc.assert(
      fc.property(amount, amount, amount, (allocatable, free, requests) => {
        const score = leastAllocated(capacityOf(allocatable, free), parseResourceList(requests).amounts);
        assert.ok(score >= 0 && score <= 1, `${score}`);
      }),
    );
  });

  it('never falls when more is free, nor rises when the pod asks for more', () => {
    const cpu = fc.tuple(fc.nat(10), fc.nat(10)).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
    fc.assert(
      fc.property(cpu, cpu, ([lessFree, moreFree], [lessAsked, moreAsked]) => {
        assert.ok(scoreOf(lessFree, lessAsked) <= scoreOf(moreFree, lessAsked));
        assert.ok(scoreOf(moreFree, moreAsked) <= scoreOf(moreFree, lessAsked));
      }),
    );
  });
});

/** One score of each target, by the order of targets. */
function scoresOf(name: ScoreName, pod: PodToSchedule, ...targets: readonly TargetSnapshot[]): readonly number[] {
  const only = Object.fromEntries(SCORE_NAMES.map((other) => [other, other === name ? 1 : 0]));
  const weighing = { ...pod, placement: { ...pod.placement!, weights: only as Record<ScoreName, number> } };
  const scores = prepareScores(weighing, targets);
  return targets.map((target) => weightedMean(scores, target));
}

describe('scores', () => {
  const nodes = (free: ResourceList, all: ResourceList) =>
    (target: TargetSnapshot) => ({ ...target, capacity: capacityOf({ pods: '10', ...all }, { pods: '10', ...free }) });
  const small = aPlace('s', {}, nodes({ cpu: '2', memory: '2Gi' }, { cpu: '10', memory: '10Gi' }));
  const empty = aPlace('e', {}, nodes({ cpu: '10', memory: '10Gi' }, { cpu: '10', memory: '10Gi' }));
  const skewed = aPlace('k', {}, nodes({ cpu: '10', memory: '1Gi' }, { cpu: '10', memory: '10Gi' }));
  const gpu = aPlace('g', {}, nodes(
    { cpu: '10', memory: '10Gi', 'nvidia.com/gpu': '8' }, { cpu: '10', memory: '10Gi', 'nvidia.com/gpu': '8' },
  ));
  const mig =
    aPlace('m', {}, nodes({ cpu: '10', memory: '10Gi' }, { cpu: '10', memory: '10Gi', 'nvidia.com/mig-1g.5gb': '8' }));
  const priced = (name: string, prices: Record<string, string>) => aPlace(name, {}, withNodeInfo({ spec: { prices } }));
  const distant = (name: string, rttMs: number) => aPlace(name, {}, withNodeInfo({ rttMs }));
  const inZone = (zone: string, region: string) =>
    aPlace(`${zone}${region}`, { 'topology.kubernetes.io/zone': zone, 'topology.kubernetes.io/region': region });
  const nothing = aPodWithConstraints({}, {});
  const atHome = aPodWithConstraints({ location: { region: 'eu', zone: 'eu-1' } });

  const cases: Record<string, readonly [scores: readonly number[], expected: readonly number[]]> = {
    'mostAllocated is 1 less leastAllocated': [scoresOf('mostAllocated', nothing, small, empty), [0.8, 0]],
    'balanced likes resources that are used alike': [scoresOf('balanced', nothing, small, empty, skewed), [1, 1, 0.1]],
    'gpuForGpuPods keeps pods without GPU off targets with':
      [scoresOf('gpuForGpuPods', nothing, gpu, mig, empty), [0, 0, 1]],
    'and lets pods with GPU go there':
      [scoresOf('gpuForGpuPods', aPodWithConstraints({}, { 'nvidia.com/gpu': '1' }), gpu), [1]],
    'rtt halves at 50 ms, and does not trust what was not measured':
      [scoresOf('rtt', nothing, distant('a', 0), distant('b', 50), distant('c', 150), empty), [1, 0.5, 0.25, 0]],
    'cost is the cheapest price over this one, and nothing without a price': [
      scoresOf(
        'cost', aPodWithConstraints({}, { cpu: '2' }), priced('a', { cpu: '0.1' }), priced('b', { cpu: '0.4' }), empty,
      ),
      [1, 0.25, 0],
    ],
    'what costs nothing is cheapest': [
      scoresOf('cost', aPodWithConstraints({}, { cpu: '2' }), priced('a', { cpu: '0' }), priced('b', { cpu: '1' })),
      [1, 0],
    ],
    'memory is priced by GiB': [
      scoresOf(
        'cost', aPodWithConstraints({}, { memory: '4Gi', cpu: '1' }), priced('a', { memory: '1', cpu: '4' }),
        priced('b', { memory: '2', cpu: '8' }),
      ),
      [1, 0.5],
    ],
    'locality likes the source itself, its zone, its region, in this order': [
      scoresOf(
        'locality', atHome, aPlace('self', {}, withNodeInfo({ spec: { self: true } })), inZone('eu-1', 'eu'),
        inZone('eu-2', 'eu'), inZone('us-1', 'us'),
      ), [1, 0.75, 0.5, 0],
    ],
    'locality knows nothing where the source has not said where it is':
      [scoresOf('locality', nothing, inZone('eu-1', 'eu')), [0]],
    'spread likes where fewest are': [
      scoresOf(
        'spread',
        aPodWithConstraints({
          placed: [placed({ a: 4, b: 1 })],
          constraints: {
            topologySpreadConstraints: [{
              maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: {},
            }],
          },
        }),
        aPlace('a'), aPlace('b'), aPlace('c'),
      ),
      [0, 0.75, 1],
    ],
    'preferredAffinity likes where most of the weight holds': [
      scoresOf('preferredAffinity', aPodWithConstraints({ constraints:
        { affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 30, preference: { matchExpressions: [{ key: 'region', operator: 'In', values: ['eu'] }] } },
        { weight: 10, preference: { matchExpressions: [{ key: 'ssd', operator: 'Exists' }] } },
      ] } } } }),
      aPlace('a', { region: 'eu', ssd: '' }), aPlace('b', { ssd: '' }), aPlace('c'), aPlace('d', { region: 'eu' })),
      [1, 0.25, 0, 0.75],
    ],
  };
  for (const [sentence, [scores, expected]] of Object.entries(cases)) {
    it(sentence, () => assert.deepEqual(scores.map((score) => Math.round(score * 1e6) / 1e6), expected));
  }

  it('that have nothing to say do not count', () => assert.deepEqual(
    prepareScores(nothing, [small]).map(({ name }) => name), ['leastAllocated'],
  ));
  it('without any weight give 0', () => assert.equal(weightedMean([], small), 0));
  it('have no price where no resource has one', () => assert.equal(priceOf(nothing, empty), undefined));
});

describe('laws of all scores', () => {
  const room = fc.record({
    cpu: fc.nat(16).map(String), memory: fc.nat(16).map((gib) => `${gib}Gi`), 'nvidia.com/gpu': fc.nat(2).map(String),
  });
  const nodeInfo =
    fc.record({ rttMs: fc.nat(500), price: fc.nat(20), region: fc.constantFrom('eu', 'us'), gib: fc.nat(3) });
  const targets = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { minLength: 1 }).chain((names) =>
    fc.tuple(...names.map((name) => (
    fc.tuple(fc.array(room, { minLength: 1, maxLength: 2 }), nodeInfo).map(([nodes, { rttMs, price, region, gib }]) =>
      aPlace(
      name, {}, withNodes(...nodes.map((node) => ({ ...node, pods: '9' }))),
      withNodeInfo({ rttMs, labels: { region }, spec: { prices: { cpu: `${price}`, memory: `${gib}` } } }),
    ))
  ))));
  const weights = fc.record(Object.fromEntries(SCORE_NAMES.map((name) => [name, fc.nat(3)])));
  const pod = fc.tuple(fc.nat(4), weights, fc.record({ a: fc.nat(3), b: fc.nat(3) })).map(([cpu, weights, byTarget]) =>
    aPodWithConstraints({
    weights, placed: [placed(byTarget)], location: { region: 'eu' },
    constraints: {
      topologySpreadConstraints:
        [{ maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: {} }],
      affinity: {
        podAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution:
            [{ weight: 5, podAffinityTerm: { topologyKey: 'region', labelSelector: {} } }],
        },
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution:
            [{ weight: 9, preference: { matchExpressions: [{ key: 'region', operator: 'In', values: ['us'] }] } }],
        },
      },
    },
  }, { cpu: `${cpu}` }));

  it('each is in [0,1], and so is their mean', () => {
    fc.assert(fc.property(pod, targets, (pod, targets) => {
      const scores = prepareScores(pod, targets);
      for (const target of targets) {
        for (const score of [...scores.map((each) => each.score(target)), weightedMean(scores, target)]) {
          assert.ok(score >= 0 && score <= 1, `${score}`);
        }
      }
    }));
  });

  it('the order of targets changes neither choice nor score', () => {
    const shuffled =
      targets.chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })));
    fc.assert(fc.property(
      pod, shuffled, (pod, [list, other]) => assert.deepEqual(schedulePod(pod, list), schedulePod(pod, other)),
    ));
  });

  it('a shorter round trip, a lower price and more room never score less', () => {
    fc.assert(fc.property(fc.nat(500), fc.nat(500), fc.nat(16), fc.nat(16), (one, other, freeOne, freeOther) => {
      const [less, more] = [Math.min(one, other), Math.max(one, other)];
      const [nearer = 0, farther = 0] = scoresOf(
        'rtt', aPodWithConstraints(), aPlace('a', {}, withNodeInfo({ rttMs: less })),
        aPlace('b', {}, withNodeInfo({ rttMs: more })),
      );
      assert.ok(nearer >= farther);
      const prices = (price: number) => withNodeInfo({ spec: { prices: { cpu: `${price}` } } });
      const [cheaper = 0, dearer = 0] =
        scoresOf('cost', aPodWithConstraints(), aPlace('a', {}, prices(less)), aPlace('b', {}, prices(more)));
      assert.ok(cheaper >= dearer);
      const withFree = (cpu: number) => (target: TargetSnapshot) =>
        ({ ...target, capacity: capacityOf({ cpu: '16', memory: '1Gi' }, { cpu: `${cpu}`, memory: '1Gi' }) });
      const [roomier = 0, tighter = 0] = scoresOf(
        'leastAllocated', aPodWithConstraints(), aPlace('a', {}, withFree(Math.max(freeOne, freeOther))),
        aPlace('b', {}, withFree(Math.min(freeOne, freeOther))),
      );
      assert.ok(roomier >= tighter);
    }));
  });
});

describe('the score leastAllocated', () => {
  const scoreOf = (...rooms: readonly { readonly cpu: string; readonly pods: string }[]) => {
    const pod = aPodWithConstraints();
    const [score] = prepareScores(pod, []).filter(({ name }) => name === 'leastAllocated');
    return score?.score(aTarget('a', withNodes(...rooms))) ?? NaN;
  };
  const free = { cpu: '4', pods: '110' };
  const full = { cpu: '0', pods: '110' };

  it('counts nodes that can take the pod, up to four', () => {
    const by = (nodes: number) => scoreOf(...Array.from({ length: nodes }, () => free)) / leastAllocated(
      aTarget('a', withNodes(...Array.from({ length: nodes }, () => free))).capacity!,
      aPodWithConstraints().requirements.requests,
    );
    assert.deepEqual([1, 2, 3, 4, 5].map(by), [0.625, 0.75, 0.875, 1, 1]);
  });

  it('does not count nodes that cannot take it', () => {
    assert.ok(scoreOf(free, full, full, full) < scoreOf(free, free, full, full));
  });
});
