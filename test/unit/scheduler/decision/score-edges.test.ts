// Scores of what users and targets may bring: prices of nothing, resources that nobody has, names that only look like
// GPUs, preferences that cancel each other. A score that is wrong here sends pods to the wrong target without an error.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { SCORE_NAMES, type ScoreName } from '../../../../api/kinds/placement-policy.ts';
import type { NodeSelectorRequirement } from '../../../../api/objects/selectors.ts';
import type { ResourceList, StringMap } from '../../../../api/objects/core.ts';
import { parseResourceList } from '../../../../model/resources/resources.ts';
import { prepareScores, priceOf, weightedMean, type PreparedScore } from '../../../../scheduler/decision/scores.ts';
import type { PlacementConstraints, PodToSchedule, TargetSnapshot } from '../../../../scheduler/snapshot/snapshot.ts';
import { toTargetCapacity } from '../../../../scheduler/snapshot/target-capacity.ts';
import { aTarget, withoutSummary } from '../../../support/objects/builders.ts';
import { aPlace, aPodWithConstraints, placed, withNodeInfo } from '../../../support/objects/placement.ts';

/** One score of each target, by the order of targets; `not asked` when it does not apply. */
function scoresOf(name: ScoreName, pod: PodToSchedule, ...targets: readonly TargetSnapshot[]) {
  const weights = Object.fromEntries(SCORE_NAMES.map((other) => [other, Number(other === name)]));
  const weighing = { ...pod, placement: { ...pod.placement!, weights: weights as Record<ScoreName, number> } };
  const [score] = prepareScores(weighing, targets);
  return score === undefined ? 'not asked' : targets.map((target) => Math.round(score.score(target) * 1e6) / 1e6);
}

const asking = (requests: ResourceList, placement: Partial<PlacementConstraints> = {}) =>
  aPodWithConstraints(placement, requests);
const priced = (prices: StringMap, name = 'p') => aPlace(name, {}, withNodeInfo({ spec: { prices } }));
const having = (allocatable: ResourceList, free: ResourceList = allocatable, name = 'h') => aPlace(
  name, {}, (target) => ({ ...target, capacity: toTargetCapacity({ metadata: {}, allocatable, free }) }),
);
const ROOM = { cpu: '10', memory: '10Gi', pods: '10' };

describe('the price of a pod', () => {
  const cases: Record<string, readonly [pod: PodToSchedule, target: TargetSnapshot, price: number | undefined]> = {
    'is the sum over what it requests': [asking({ cpu: '2', memory: '4Gi' }), priced({ cpu: '3', memory: '0.5' }), 8],
    'counts parts of a core': [asking({ cpu: '250m' }), priced({ cpu: '4' }), 1],
    'counts devices one by one': [asking({ 'nvidia.com/gpu': '3' }), priced({ 'nvidia.com/gpu': '2' }), 6],
    'passes over what it does not request': [asking({ cpu: '1' }), priced({ cpu: '1', 'nvidia.com/gpu': '9' }), 1],
    'is unknown where nothing that it requests has one': [asking({ cpu: '1' }), priced({ memory: '1' }), undefined],
    'is unknown where it requests 0 of what has one': [asking({ cpu: '0' }), priced({ cpu: '1' }), undefined],
    'is unknown where there is an empty list of prices': [asking({ cpu: '1' }), priced({}), undefined],
    'is unknown where no price can be read': [asking({ cpu: '1' }), priced({ cpu: 'cheap' }), undefined],
    'is unknown where a price is negative': [asking({ cpu: '1' }), priced({ cpu: '-1' }), undefined],
    'is unknown where a price is blank': [asking({ cpu: '1' }), priced({ cpu: ' ' }), undefined],
    'may be 0': [asking({ cpu: '1' }), priced({ cpu: '0' }), 0],
    'is unknown of a target of which only the capacity is': [asking({ cpu: '1' }), aTarget('t'), undefined],
  };
  for (const [sentence, [pod, target, price]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(priceOf(pod, target), price));
  }

  it('is that of what a policy makes of the delegate', () => {
    const overridden = new Map([['ClusterTarget/p', { requests: parseResourceList({ cpu: '8' }).amounts }]]);
    assert.equal(priceOf(asking({ cpu: '1' }, { overridden }), priced({ cpu: '1' })), 8);
    assert.equal(priceOf(asking({ cpu: '1' }, { overridden }), priced({ cpu: '1' }, 'other')), 1);
  });
});

describe('the score cost', () => {
  const cases: Record<string, readonly [pod: PodToSchedule, targets: readonly TargetSnapshot[], scores: number[]]> = {
    'is 0 where prices say nothing about the pod, and does not spoil the others': [
      asking({ cpu: '1' }), [priced({ 'nvidia.com/gpu': '2' }), priced({ cpu: '1' }), priced({ cpu: '2' })],
        [0, 1, 0.5],
    ],
    'is 0 everywhere where nobody has a price': [asking({ cpu: '1' }), [aPlace('a'), priced({})], [0, 0]],
    'is 1 for all that cost nothing': [asking({ cpu: '1' }), [priced({ cpu: '0' }), priced({ cpu: '0' })], [1, 1]],
    'compares sums, not single prices': [
      asking({ cpu: '1', memory: '4Gi' }), [priced({ cpu: '1', memory: '1' }), priced({ cpu: '2', memory: '0.5' })],
      [0.8, 1],
    ],
  };
  for (const [sentence, [pod, targets, scores]] of Object.entries(cases)) {
    it(sentence, () => assert.deepEqual(scoresOf('cost', pod, ...targets), scores));
  }
});

describe('the score gpuForGpuPods', () => {
  const devices: Record<string, boolean> = {
    'nvidia.com/gpu': true, 'amd.com/gpu': true, 'gpu.intel.com/i915': true, 'nvidia.com/gpu.shared': true,
    'nvidia.com/mig-1g.5gb': true, 'aliyun.com/gpu-mem': true, 'gpu': true,
    'example.com/gpus': false, 'example.com/gpunode': false, 'vendor.com/mig': false, 'google.com/tpu': false,
    'ephemeral-storage': false, 'hugepages-2Mi': false,
  };
  for (const [resource, isGpu] of Object.entries(devices)) {
    it(`takes ${resource} for ${isGpu ? 'a GPU' : 'something else'}`, () => {
      const target = having({ ...ROOM, [resource]: '4' });
      assert.deepEqual(scoresOf('gpuForGpuPods', asking({}), target), [isGpu ? 0 : 1]);
      assert.deepEqual(scoresOf('gpuForGpuPods', asking({ [resource]: '1' }), target), [1]);
    });
  }
  it('does not take a request of none for one', () => assert.deepEqual(
    scoresOf('gpuForGpuPods', asking({ 'nvidia.com/gpu': '0' }), having({ ...ROOM, 'nvidia.com/gpu': '4' })), [0],
  ));
  it('does not take a device plugin without devices for a GPU', () => assert.deepEqual(
    scoresOf('gpuForGpuPods', asking({}), having({ ...ROOM, 'nvidia.com/gpu': '0' })), [1],
  ));
  it('goes by what a target has, not by what is free', () => assert.deepEqual(
    scoresOf('gpuForGpuPods', asking({}), having({ ...ROOM, 'nvidia.com/gpu': '4' }, { 'nvidia.com/gpu': '0' })), [0],
  ));
  it('holds nothing against a target that has told nothing', () => assert.deepEqual(
    scoresOf('gpuForGpuPods', asking({}), aPlace('a', {}, withoutSummary())), [1],
  ));
});

describe('scores of capacity', () => {
  const gpus = { ...ROOM, 'nvidia.com/gpu': '4' };
  const silent = aPlace('s', {}, withoutSummary());
  const rows: Record<string, readonly [ScoreName, PodToSchedule, readonly TargetSnapshot[], number[]]> = {
    'are 0 where nothing is known: leastAllocated': ['leastAllocated', asking({}), [silent], [0]],
    'are 0 where nothing is known: mostAllocated': ['mostAllocated', asking({}), [silent], [0]],
    'are 0 where nothing is known: balanced': ['balanced', asking({}), [silent], [0]],
    'balanced counts what the pod takes': [
      'balanced', asking({ cpu: '5', memory: '0' }), [having(ROOM), having(ROOM, { ...ROOM, memory: '5Gi' })], [0.5, 1],
    ],
    'balanced counts devices only of pods that ask for them': [
      'balanced', asking({ cpu: '0' }), [having(gpus, { ...gpus, 'nvidia.com/gpu': '0' })], [1],
    ],
    'and then does': [
      'balanced', asking({ cpu: '0', 'nvidia.com/gpu': '2' }), [having(gpus)], [0.5],
    ],
    'balanced is not moved by the number of pods': ['balanced', asking({ cpu: '0' }), [having({ ...ROOM, pods: '1' })],
      [1]],
    'balanced is 1 where nothing is left of anything': ['balanced', asking({}), [having(ROOM, { cpu: '0' })], [1]],
    'what is more free than there is counts as all': [
      'mostAllocated', asking({ cpu: '0' }), [having({ cpu: '1', memory: '1Gi' }, { cpu: '9', memory: '9Gi' })], [0],
    ],
    'what is taken more than once counts as full': [
      'mostAllocated', asking({ cpu: '99', memory: '99Gi' }), [having(ROOM)], [1],
    ],
    'a resource of which the target has none counts as used up': [
      'mostAllocated', asking({ cpu: '0' }), [having({ cpu: '10', memory: '0' })], [0.5],
    ],
    'sums of extreme amounts stay in range': [
      'leastAllocated', asking({ cpu: '0' }), [having({ cpu: '9e15', memory: '8Ei' })], [1],
    ],
  };
  for (const [sentence, [name, pod, targets, scores]] of Object.entries(rows)) {
    it(sentence, () => assert.deepEqual(scoresOf(name, pod, ...targets), scores));
  }
  it('leastAllocated goes by what a policy makes of the delegate', () => {
    const overridden = new Map([['ClusterTarget/b', { requests: parseResourceList({ cpu: '5' }).amounts }]]);
    const [plain = 0, changed = 1] =
      scoresOf('leastAllocated', asking({}, { overridden }), aPlace('a'), aPlace('b')) as number[];
    assert.ok(changed < plain);
  });
});

describe('scores of labels and distance', () => {
  const prefers = (...terms: readonly (readonly [number, NodeSelectorRequirement])[]) => asking({}, { constraints: {
    affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution:
      terms.map(([weight, requirement]) => ({ weight, preference: { matchExpressions: [requirement] } })) } },
  } });
  const disk = aPlace('d', { disk: 'ssd', gen: '7' });
  const plain = aPlace('p');
  const home = { region: 'eu', zone: 'eu-1' };
  const [zoneKey, regionKey] = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region'];
  const nearby = (weight: number) =>
    ({ weight, podAffinityTerm: { topologyKey: 'kubernetes.io/hostname', labelSelector: {} } });
  const spread = (topologyKey: string) => asking({}, {
    placed: [placed({ d: 2, p: 2 })],
    constraints: { topologySpreadConstraints:
      [{ maxSkew: 1, topologyKey, whenUnsatisfiable: 'ScheduleAnyway', labelSelector: {} }] },
  });
  const rows: Record<string, readonly [ScoreName, PodToSchedule, readonly TargetSnapshot[], number[] | 'not asked']> = {
    'a preference that all meet tells none apart':
      ['preferredAffinity', prefers([5, { key: 'x', operator: 'DoesNotExist' }]), [disk, plain], [1, 1]],
    'so does one that none meets':
      ['preferredAffinity', prefers([5, { key: 'x', operator: 'Exists' }]), [disk, plain], [1, 1]],
    'greater-than is a preference too':
      ['preferredAffinity', prefers([5, { key: 'gen', operator: 'Gt', values: ['6'] }]), [disk, plain], [1, 0]],
    'one that Kubernetes could not read is met by none': [
      'preferredAffinity', prefers([5, { key: 'disk', operator: 'In', values: [] }], [1, { key: 'disk',
        operator: 'Exists' }]), [disk, plain], [1, 0],
    ],
    'a preference for pods needs none for labels': [
      'preferredAffinity', asking({}, { placed: [placed({ p: 1 })], constraints: { affinity: {
        podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [nearby(10)] },
      } } }), [disk, plain], [0, 1],
    ],
    'both kinds are weighed against each other': [
      'preferredAffinity', asking({}, { placed: [placed({ p: 1 })], constraints: { affinity: {
        podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [nearby(10)] },
        nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution:
          [{ weight: 11, preference: { matchExpressions: [{ key: 'disk', operator: 'Exists' }] } }] },
      } } }), [disk, plain, aPlace('q')], [1, 10 / 11, 0].map((score) => Math.round(score * 1e6) / 1e6),
    ],
    'an empty list of preferences is none': ['preferredAffinity', prefers(), [disk, plain], 'not asked'],
    'nobody knows the labels of a target without a virtual node':
      ['preferredAffinity', prefers([5, { key: 'disk', operator: 'Exists' }]), [aTarget('t'), disk], [0, 1]],
    'a spread over a label that none has puts all last': ['spread', spread('rack'), [disk, plain], [0, 0]],
    'over one that one has, that one first': ['spread', spread('disk'), [disk, plain], [1, 0]],
    'an even spread tells none apart': ['spread', spread('kubernetes.io/hostname'), [disk, plain], [1, 1]],
    'without constraints there is none': ['spread', asking({}), [disk], 'not asked'],
    'a round trip that the clock made negative is none': [
      'rtt', asking({}), [aPlace('a', {}, withNodeInfo({ rttMs: -5 }))], [1],
    ],
    'a zone counts without the region': ['locality', asking({}, { location: home }),
      [aPlace('a', { [zoneKey]: 'eu-1' })],
      [0.75]],
    'the zone of another name in the same region is nearer than nothing': [
      'locality', asking({}, { location: home }), [aPlace('a', { [zoneKey]: 'x', [regionKey]: 'eu' })], [0.5],
    ],
    'a target without a zone is not in the zone of a source without one':
      ['locality', asking({}, { location: { region: 'eu' } }), [aPlace('a')], [0]],
    'the source itself needs no place':
      ['locality', asking({}), [aPlace('a', {}, withNodeInfo({ spec: { self: true } }))], [1]],
  };
  for (const [sentence, [name, pod, targets, scores]] of Object.entries(rows)) {
    it(sentence, () => assert.deepEqual(scoresOf(name, pod, ...targets), scores));
  }
});

describe('the mean of scores', () => {
  const target = aTarget('a');
  const score = (value: number, weight: number): PreparedScore => ({ name: 'rtt', weight, score: () => value });
  const part = fc.record({ value: fc.double({ min: 0, max: 1, noNaN: true }),
    weight: fc.double({ min: 0.001, max: 100 }) })
    .filter(({ weight }) => Number.isFinite(weight));
  const parts = fc.array(part, { minLength: 1, maxLength: 9 });
  const meanOf = (all: readonly { readonly value: number; readonly weight: number }[], factor = 1): number =>
    weightedMean(all.map(({ value, weight }) => score(value, weight * factor)), target);

  it('lies between the lowest and the highest of them', () => {
    fc.assert(fc.property(parts, (all) => {
      const values = all.map(({ value }) => value);
      const [mean, rounding] = [meanOf(all), 2 ** -40];
      assert.ok(mean >= Math.min(...values) - rounding && mean <= Math.max(...values) + rounding);
    }));
  });
  it('does not depend on their order, not by a bit, where doubles would differ', () => {
    const all = [0.1, 0.2, 0.3, 0.7].map((value) => ({ value, weight: 1 }));
    const rotations = all.map((_, index) => meanOf([...all.slice(index), ...all.slice(0, index)]));
    assert.deepEqual(new Set([...rotations, meanOf(all.toReversed())]).size, 1);
  });
  it('does not depend on the unit of weights', () => {
    fc.assert(fc.property(parts, (all) => assert.equal(meanOf(all, 8), meanOf(all))));
  });
  it('is what a single one says, rounded to what doubles hold in any order of additions', () => assert.equal(
    meanOf([{ value: 1 / 3, weight: 7 }]), Math.round(2 ** 40 / 3) / 2 ** 40,
  ));
  it('leaves out scores without a weight', () => {
    const pod = aPodWithConstraints({ weights: { leastAllocated: 0, rtt: 0.5, cost: NaN } });
    assert.deepEqual(prepareScores(pod, [target]).map(({ name, weight }) => [name, weight]), [['rtt', 0.5]]);
  });
  it('weighs as by default where nothing is known of the pod but its requirements', () => {
    const { placement: _placement, ...bare } = aPodWithConstraints();
    assert.deepEqual(prepareScores(bare, [target]).map(({ name }) => name), ['leastAllocated']);
  });
});
