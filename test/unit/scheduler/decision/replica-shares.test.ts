import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { PolicyReplicas } from '../../../../api/placement/pod-division.ts';
import type { PodClass } from '../../../../scheduler/snapshot/placed-pods.ts';
import { schedulePod, type SchedulingDecision } from '../../../../scheduler/decision/schedule-pod.ts';
import type { TargetSnapshot } from '../../../../scheduler/snapshot/snapshot.ts';
import { aPlace, aPodWithConstraints, full, placed, rulesOf } from '../../../support/placement.ts';

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

  it('of pods that nothing controls count their like', () => {
    const rules = shares({ here: 1, there: 1 });
    const pod = (pods: readonly PodClass[]) => schedulePod(aPodWithConstraints({ rules, placed: pods }), [here, there]);
    assert.equal(nameOf(pod([placed({ here: 1 })])), 'there');
    assert.equal(nameOf(pod([placed({ here: 1 }, { labels: { app: 'db' } })])), 'here');
  });
});
