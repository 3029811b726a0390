import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { TargetStatus } from '../../../../api/kinds/cluster-target.ts';
import type { ResourceList } from '../../../../api/objects/core.ts';
import { toTargetGauges, toTargetStatus, type ObservedTarget } from '../../../../virtual-node/node/target-status.ts';
import { afterMergePatch, frozen } from '../../../support/objects/builders.ts';

const THEN = '2026-01-01T00:00:00Z';
const NOW = '2026-01-02T00:00:00Z';

function observed(rest: Partial<ObservedTarget> = {}): ObservedTarget {
  const summary = { metadata: {}, free: { cpu: '7500m', memory: '12Gi', pods: '90' } };
  return frozen({
    problem: undefined, summary, clusterID: 'uid', virtualNode: 'admiralty-c2', hasNode: true, isCordoned: false,
    generation: 3, ...rest,
  });
}

function withProblem(reason: string): ObservedTarget {
  return observed({ problem: { reason, message: 'what to change' } });
}

function freeOf(free: ResourceList): TargetStatus['free'] {
  return toTargetStatus({}, observed({ summary: { metadata: {}, free } }), NOW).free;
}

/** The status as a custom resource comes back: fields sorted. */
function stored(status: TargetStatus): TargetStatus {
  return JSON.parse(
    JSON.stringify(status, (_key, value: unknown) => (
      typeof value !== 'object' || value === null || Array.isArray(value) ? value : Object
        .fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    )),
  ) as TargetStatus;
}

describe('toTargetStatus', () => {
  const cases: Record<
    string, readonly [observed: ObservedTarget, ready: string, reachable: string, authorized: string]
  > = {
    'a target that works': [observed(), 'True Ready', 'True Answers', 'True Accepted'],
    'a target that has told no capacity':
      [observed({ summary: undefined }), 'False NoSummary', 'True Answers', 'True Accepted'],
    'a target whose virtual node is being made':
      [observed({ hasNode: false }), 'False NodeMissing', 'True Answers', 'True Accepted'],
    'a target that does not answer':
      [withProblem('Unreachable'), 'False Unreachable', 'False Unreachable', 'Unknown Unreachable'],
    'a target that does not know us':
      [withProblem('Unauthorized'), 'False Unauthorized', 'True Answers', 'False Unauthorized'],
    'a target that forbids something': [withProblem('Forbidden'), 'False Forbidden', 'True Answers', 'False Forbidden'],
    'a target without our CRDs':
      [withProblem('NotInstalled'), 'False NotInstalled', 'True Answers', 'Unknown NotInstalled'],
    'a target whose controller is not heard':
      [withProblem('ControllerSilent'), 'False ControllerSilent', 'True Answers', 'Unknown ControllerSilent'],
    'a second name for a cluster':
      [withProblem('DuplicateCluster'), 'False DuplicateCluster', 'True Answers', 'Unknown DuplicateCluster'],
    'the source itself': [withProblem('LoopToSource'), 'False LoopToSource', 'True Answers', 'Unknown LoopToSource'],
    'a target that is being removed': [withProblem('Removing'), 'False Removing', 'True Answers', 'Unknown Removing'],
    'a target whose Secret is missing':
      [withProblem('SecretMissing'), 'False SecretMissing', 'Unknown SecretMissing', 'Unknown SecretMissing'],
    'a target that is being connected':
      [withProblem('Connecting'), 'False Connecting', 'Unknown Connecting', 'Unknown Connecting'],
  };
  for (const [what, [given, ...expected]] of Object.entries(cases)) {
    it(`${what}: ${expected.join(', ')}`, () => {
      const conditions = toTargetStatus({}, given, NOW).conditions ?? [];
      assert.deepEqual(conditions.map(({ type }) => type), ['Ready', 'Reachable', 'Authorized']);
      assert.deepEqual(conditions.map(({ status, reason }) => `${status} ${reason}`), expected);
      assert.ok(conditions.every(
        ({ message, observedGeneration, lastTransitionTime }) =>
          message !== '' && observedGeneration === 3 && lastTransitionTime === NOW,
      ));
    });
  }

  it('says which cluster it is, which node stands for it, and of which generation that is', () => {
    const { clusterID, virtualNode, observedGeneration } = toTargetStatus({}, observed(), NOW);
    assert.deepEqual([clusterID, virtualNode, observedGeneration], ['uid', 'admiralty-c2', 3]);
  });

  it('says that its node is cordoned, and that it is no more; nothing before it was', () => {
    const plain = toTargetStatus({}, observed(), THEN);
    assert.equal(plain.cordoned, undefined);
    const cordoned = toTargetStatus(frozen(plain), observed({ isCordoned: true }), NOW);
    assert.equal(cordoned.cordoned, true);
    assert.equal(cordoned.conditions, plain.conditions, 'a cordoned node is Ready, as any node');
    assert.equal(toTargetStatus(frozen(cordoned), observed(), NOW).cordoned, false);
  });

  it('says how pods are delegated, and goes on saying it while that is not known', () => {
    const status = toTargetStatus({}, observed({ delegation: 'Pod' }), THEN);
    assert.equal(status.delegation, 'Pod');
    assert.equal(toTargetStatus(status, observed(), NOW), status);
    assert.equal(toTargetStatus(status, observed({ delegation: 'PodChaperon' }), NOW).delegation, 'PodChaperon');
  });

  it('says how long a round trip takes, and goes on saying it while there is no other', () => {
    const status = toTargetStatus({}, observed({ rttMs: 0.35 }), THEN);
    assert.equal(status.rtt, '0.35ms');
    assert.equal(toTargetStatus(frozen(status), observed({ rttMs: undefined }), NOW), status);
    assert.equal(toTargetStatus(frozen(status), observed({ rttMs: 12 }), NOW).rtt, '12ms');
  });

  it('goes on saying what it knew while the target does not answer', () => {
    const before = toTargetStatus({}, observed(), THEN);
    const { clusterID, free } =
      toTargetStatus(frozen(before), { ...withProblem('Unreachable'), summary: undefined, clusterID: undefined }, NOW);
    assert.deepEqual([clusterID, free], [before.clusterID, before.free]);
  });

  it('keeps since when a condition holds', () => {
    const before = toTargetStatus({}, observed(), THEN);
    const { conditions = [] } = toTargetStatus(before, observed({ summary: undefined }), NOW);
    assert.deepEqual(conditions.map(({ lastTransitionTime }) => lastTransitionTime), [NOW, THEN, THEN]);
  });

  it('is the very status that was there when nothing changed, as the API server gives it back', () => {
    const problem = fc.constantFrom(undefined, 'Unreachable', 'Forbidden', 'Connecting')
      .map((reason) => (reason === undefined ? undefined : { reason, message: 'm' }));
    const free = fc.dictionary(fc.constantFrom('cpu', 'memory', 'nvidia.com/gpu', 'pods'), fc.nat(9).map(String));
    fc.assert(
      fc.property(problem,
        fc.option(free, { nil: undefined }), fc.option(fc.string(), { nil: undefined }), (problem, free, clusterID) => {
        const given = observed({ problem, clusterID, summary: free && { metadata: {}, free } });
        const before = stored(toTargetStatus({}, given, THEN));
        assert.equal(toTargetStatus(frozen(before), given, NOW), before);
      }),
    );
  });

  it('is shown after one merge patch, free capacity that the target no longer reports included', () => {
    const before =
      toTargetStatus({}, observed({ summary: { metadata: {}, free: { cpu: '1', 'nvidia.com/gpu': '4' } } }), THEN);
    const wanted = toTargetStatus(before, observed(), NOW);
    const after = afterMergePatch(before, wanted) as TargetStatus;
    assert.equal(after.free?.gpu, '0');
    assert.equal(toTargetStatus(after, observed(), NOW), after);
  });

  it('is another one when a measurement changed', () => {
    const before = toTargetStatus({}, observed(), THEN);
    const after = toTargetStatus(
      before, observed({ summary: { metadata: {}, free: { cpu: '1', memory: '12Gi', pods: '90' } } }), NOW,
    );
    assert.deepEqual(after, { ...before, free: { cpu: '1', memory: '12Gi', pods: '90' } });
  });
});

describe('free capacity', () => {
  const cases: Record<string, readonly [free: ResourceList, shown: TargetStatus['free']]> = {
    'are CPU, memory and pods as the summary has them':
      [{ cpu: '1500m', memory: '3Gi', pods: '7' }, { cpu: '1500m', memory: '3Gi', pods: '7' }],
    'are texts, also where the summary has numbers': [{ cpu: 2 }, { cpu: '2' }],
    'add up the GPUs of all makers': [{ 'nvidia.com/gpu': '3', 'amd.com/gpu': '2' }, { gpu: '5' }],
    'read GPUs in any notation': [{ 'nvidia.com/gpu': '2k' }, { gpu: '2k' }],
    'pass over what is not a valid quantity': [{ 'nvidia.com/gpu': 'many', 'amd.com/gpu': '1' }, { gpu: '1' }],
    'say nothing of what the target does not have': [{}, {}],
  };
  for (const [sentence, [free, shown]] of Object.entries(cases)) {
    it(sentence, () => assert.deepEqual(freeOf(frozen(free)), shown));
  }
});

describe('toTargetGauges', () => {
  const gauges = (given: ObservedTarget): ReturnType<typeof toTargetGauges> => {
    return toTargetGauges(toTargetStatus({}, given, NOW), given.summary, given.rttMs);
  };

  it('have no round trip to a server that cannot be reached', () => {
    assert.equal(gauges({ ...withProblem('Unreachable'), rttMs: 4 }).rttMs, undefined);
    assert.equal(gauges({ ...withProblem('Forbidden'), rttMs: 4 }).rttMs, 4);
  });

  it('have no free capacity of what cannot be reached or has said nothing yet', () => {
    assert.deepEqual(gauges(withProblem('Unreachable')).free, {});
    assert.deepEqual(gauges(observed({ summary: undefined })).free, {});
    assert.deepEqual(gauges(withProblem('Forbidden')).free, { cpu: 7.5, memory: 12 * 2 ** 30, pods: 90, gpu: 0 });
  });

  it('says ready exactly when the condition says so: the alert hangs on it', () => {
    assert.equal(gauges(observed()).isReady, true);
    const lacking: readonly ObservedTarget[] = [
      observed({ summary: undefined }),
      observed({ hasNode: false }), withProblem('Removing'), withProblem('Unreachable'),
    ];
    for (const given of lacking) assert.equal(gauges(given).isReady, false, JSON.stringify(given));
  });

  it('says what is free in cores, bytes, devices and pods', () => {
    const free = { cpu: '7500m', memory: '1Ki', 'nvidia.com/gpu': '2', 'amd.com/gpu': '1', pods: '9' };
    const { free: gauge } = gauges(observed({ summary: { metadata: {}, free } }));
    assert.deepEqual(gauge, { cpu: 7.5, memory: 1_024, gpu: 3, pods: 9 });
  });
});
