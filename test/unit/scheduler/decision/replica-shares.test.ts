import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { PolicyReplicas } from '../../../../api/placement/pod-division.ts';
import type { PodClass } from '../../../../scheduler/snapshot/placed-pods.ts';
import { schedulePod, type SchedulingDecision } from '../../../../scheduler/decision/schedule-pod.ts';
import type { TargetSnapshot } from '../../../../scheduler/snapshot/snapshot.ts';
import { unavailable, withNodes } from '../../../support/objects/builders.ts';
import { aPlace, aPodWithConstraints, full, placed, rulesOf } from '../../../support/objects/placement.ts';

const select = (site: string) => ({ matchLabels: { site } });
const here = aPlace('here', { site: 'here' });
const there = aPlace('there', { site: 'there' });
const elsewhere = aPlace('elsewhere');

function shares(
  weights: Readonly<Record<string, number>>, whenUnsatisfiable: PolicyReplicas['whenUnsatisfiable'] = 'ScheduleAnyway',
) {
  return rulesOf({
    replicas: {
      shares: Object.entries(weights).map(([site, weight]) => ({ targets: select(site), weight })), whenUnsatisfiable,
    },
  });
}

function decide(
  rules: ReturnType<typeof shares>, pods: readonly PodClass[], targets: readonly TargetSnapshot[],
): SchedulingDecision {
  return schedulePod(aPodWithConstraints({ rules, placed: pods, controllerUid: 'rs' }, { cpu: '1m' }), targets);
}

const nameOf = (decision: SchedulingDecision) => (decision.kind === 'chosen' ? decision.target.ref.name : 'none');
const replicas = (byTarget: Record<string, number>, change: Partial<PodClass> = {}) =>
  placed(byTarget, { controllerUid: 'rs', ...change });

/** Places so many replicas one after the other. */
function placeAll(
  count: number, weights: Readonly<Record<string, number>>, targets: readonly TargetSnapshot[],
): Record<string, number> {
  const found: Record<string, number> = {};
  for (let i = 0; i < count; i += 1) {
    const name = nameOf(decide(shares(weights), [replicas(found)], targets));
    found[name] = (found[name] ?? 0) + 1;
  }
  return found;
}

describe('replica shares', () => {
  it('put 3 here and 5 there', () => assert.deepEqual(
    placeAll(8, { here: 3, there: 5 }, [here, there]), { here: 3, there: 5 },
  ));

  it('are exact whenever the weights add up to a divisor of the replicas', () => {
    fc.assert(fc.property(fc.integer({ min: 1, max: 6 }),
      fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 3 }), (one, other, times) => {
      assert.deepEqual(placeAll((one + other) * times, { here: one, there: other }, [here, there]), {
        here: one * times, there: other * times,
      });
    }));
  });

  const cases: Record<
    string, readonly [pods: readonly PodClass[], targets: readonly TargetSnapshot[], chosen: string]
  > = {
    'a replica that went is replaced where it was': [[replicas({ here: 2, there: 5 })], [here, there], 'here'],
    'pods of another workload do not count':
      [[replicas({ there: 9 }, { controllerUid: 'other' })], [here, there], 'there'],
    'pods of another namespace do not count':
      [[replicas({ there: 9 }, { namespace: 'team-b' })], [here, there], 'there'],
    'replicas being deleted do not count': [[replicas({ there: 9 }, { terminating: true })], [here, there], 'there'],
    'a full share overflows into the others': [[], [here, aPlace('there', { site: 'there' }, full())], 'here'],
    'a target of no share comes last': [[replicas({ here: 99, there: 99 })], [here, there, elsewhere], 'there'],
    'but it takes the pod when all shares are full':
      [[], [aPlace('here', { site: 'here' }, full()), elsewhere], 'elsewhere'],
  };
  for (const [sentence, [pods, targets, chosen]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(nameOf(decide(shares({ here: 3, there: 5 }), pods, targets)), chosen));
  }

  it('of several targets are filled by score', () => {
    const second = aPlace('second', { site: 'here' });
    assert.deepEqual(placeAll(2, { here: 1, there: 1 }, [here, second, there]), { here: 1, there: 1 });
  });

  it('that must hold make the pod wait', () => {
    const strict = shares({ here: 3, there: 5 }, 'DoNotSchedule');
    const decision = decide(strict, [], [here, aPlace('there', { site: 'there' }, full()), elsewhere]);
    assert.equal(decision.kind, 'none');
    assert.deepEqual(
      decision.rejected.map(({ reason }) => reason), ['NotInShares', 'ShareUsedUp', 'InsufficientResources'],
    );
    assert.equal(nameOf(decide(strict, [], [here, there])), 'there');
  });

  it('that overlap are counted once: the first that selects a target has it', () => {
    const both = rulesOf({ replicas: { shares: [{ targets: select('here'), weight: 1 },
      { targets: {}, weight: 1 }] } });
    assert.equal(nameOf(decide(both, [replicas({ here: 1 })], [here, there])), 'there');
    assert.equal(nameOf(decide(both, [replicas({ there: 1 })], [here, there])), 'here');
    assert.equal(nameOf(decide(both, [replicas({ there: 1, here: 1 })], [elsewhere, there])), 'elsewhere');
  });

  it('do not count replicas on nodes that are no targets', () => assert.equal(
    nameOf(decide(shares({ here: 1, there: 1 }), [replicas({ gone: 9, here: 1 })], [here, there])), 'there',
  ));

  it('of one target of several in a share count for all of them', () => {
    const second = aPlace('second', { site: 'here' });
    assert.equal(nameOf(decide(shares({ here: 1, there: 1 }), [replicas({ second: 1 })], [here, there])), 'here');
    assert.equal(nameOf(decide(shares({ here: 1, there: 1 }), [replicas({ second: 1 })], [here, second, there])),
      'there');
  });

  it('of classes of pods add up', () => assert.equal(
    nameOf(decide(shares({ here: 1, there: 2 }), [
      replicas({ here: 1, there: 1 }), replicas({ there: 2 }, { labels: { app: 'web', hash: 'new' } }),
    ], [here, there])), 'here',
  ));

  it('with weights that are no whole numbers are divided as well', () => assert.deepEqual(
    placeAll(6, { here: 0.5, there: 1 }, [here, there]), { here: 2, there: 4 },
  ));

  it('of a share whose targets are all away make strict pods wait for it', () => {
    const away = aPlace('there', { site: 'there' }, unavailable('Unreachable', 'm'));
    const decision = decide(shares({ here: 1, there: 1 }, 'DoNotSchedule'), [replicas({ here: 1 })], [here, away]);
    assert.deepEqual(decision.rejected.map(({ reason }) => reason), ['ShareUsedUp', 'Unreachable']);
  });

  it('strict and equal leave the choice to scores', () => {
    const roomy = aPlace('there', { site: 'there' }, withNodes({ cpu: '64', memory: '64Gi', pods: '9' }));
    const strict = shares({ here: 1, there: 1 }, 'DoNotSchedule');
    assert.equal(nameOf(decide(strict, [replicas({ here: 2, there: 2 })], [here, roomy])), 'there');
  });

  it('say nothing where strict ones select no target', () => {
    const { rejected } = decide(shares({ nowhere: 1 }, 'DoNotSchedule'), [], [here, there]);
    assert.deepEqual(rejected.map(({ reason, message }) => [reason, message.includes('add it to one')]), [
      ['NotInShares', true], ['NotInShares', true],
    ]);
  });

  it('law: strict ones keep every share within one replica of its part, however many come', () => {
    const weight = fc.integer({ min: 1, max: 5 });
    fc.assert(fc.property(weight, weight, weight, fc.nat(20), (a, b, c, count) => {
      const weights = { here: a, there: b, third: c };
      const targets = [here, there, aPlace('third', { site: 'third' })];
      const found: Record<string, number> = { here: 0, there: 0, third: 0 };
      for (let index = 0; index < count; index += 1) {
        const name = nameOf(decide(shares(weights, 'DoNotSchedule'), [replicas(found)], targets));
        found[name] = (found[name] ?? 0) + 1;
      }
      // D'Hondt: no share could give its last replica to another and be better off
      for (const [one, other] of [['here', 'there'], ['there', 'third'], ['third', 'here']] as const) {
        assert.ok(found[one]! / weights[one] <= (found[other]! + 1) / weights[other] + 1e-9, JSON.stringify(found));
        assert.ok(found[other]! / weights[other] <= (found[one]! + 1) / weights[one] + 1e-9, JSON.stringify(found));
      }
    }), { numRuns: 30 });
  });

  it('of pods that nothing controls count those that have at least its labels', () => {
    const rules = shares({ here: 1, there: 1 });
    const pod = (labels: Readonly<Record<string, string>>, pods: readonly PodClass[]) =>
      nameOf(schedulePod(aPodWithConstraints({ rules, labels, placed: pods }), [here, there]));
    assert.equal(pod({ app: 'web' }, [placed({ here: 1 }, { labels: { app: 'web', hash: 'x' } })]), 'there');
    assert.equal(pod({ app: 'web', hash: 'x' }, [placed({ here: 1 })]), 'here');
    assert.equal(pod({}, [placed({ here: 1 }, { labels: { any: 'thing' } })]), 'there');
    assert.equal(pod({ app: 'web' }, [placed({ here: 1 }, { controllerUid: 'rs' })]), 'here');
  });

  it('of pods that nothing controls count their like', () => {
    const rules = shares({ here: 1, there: 1 });
    const pod = (pods: readonly PodClass[]) => schedulePod(aPodWithConstraints({ rules, placed: pods }), [here, there]);
    assert.equal(nameOf(pod([placed({ here: 1 })])), 'there');
    assert.equal(nameOf(pod([placed({ here: 1 }, { labels: { app: 'db' } })])), 'here');
  });
});
