import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { schedulePod } from '../../../../scheduler/decision/schedule-pod.ts';
import type { TargetSnapshot } from '../../../../scheduler/snapshot/snapshot.ts';
import { tierOf, tierOpenings, untilNextTier } from '../../../../scheduler/decision/tiers.ts';
import { rulesFor } from '../../../../scheduler/snapshot/placement-rules.ts';
import { unavailable, withRef } from '../../../support/objects/builders.ts';
import {
  aPolicyIndex, aPlace, aPodWithConstraints, aPolicy, full, rulesOf, withNodeInfo,
} from '../../../support/objects/placement.ts';

const select = (tier: string) => ({ matchLabels: { tier } });
const rules = rulesOf({
  tiers: [{ targets: select('own'), waitSeconds: 30 }, { targets: select('near'), waitSeconds: 60 }, {
    targets: select('cloud'),
  }],
});
const own = aPlace('own', { tier: 'own' });
const near = aPlace('near', { tier: 'near' });
const cloud = aPlace('cloud', { tier: 'cloud' });
const other = aPlace('other');
const ownFull = aPlace('own', { tier: 'own' }, full());

function choose(waitedSeconds: number, ...targets: TargetSnapshot[]) {
  return schedulePod(aPodWithConstraints({ rules, waitedSeconds }), targets);
}

describe('tiers', () => {
  const cases: Record<string, readonly [waited: number, targets: readonly TargetSnapshot[], chosen: string]> = {
    'the first tier gets the pod while it has room': [0, [cloud, near, own], 'own'],
    'and also when the others have their turn': [1_000, [cloud, near, own], 'own'],
    'a full first tier is waited for': [29, [ownFull, near, cloud], 'none'],
    'then the second one has its turn': [30, [ownFull, near, cloud], 'near'],
    'and the third after both waits': [89, [ownFull, cloud], 'none'],
    'which then gets the pod': [90, [ownFull, cloud], 'cloud'],
    'an unreachable first tier is waited for too':
      [29, [aPlace('own', { tier: 'own' }, unavailable('Unreachable', 'm')), near], 'none'],
    'targets of no tier get nothing': [1_000, [other], 'none'],
  };
  for (const [sentence, [waited, targets, chosen]] of Object.entries(cases)) {
    it(sentence, () => {
      const decision = choose(waited, ...targets);
      assert.equal(decision.kind === 'chosen' ? decision.target.ref.name : 'none', chosen);
    });
  }

  it('without waitSeconds overflow at once', () => {
    const decision = schedulePod(
      aPodWithConstraints({ rules: rulesOf({ tiers: [{ targets: select('own') }, { targets: {} }] }) }),
      [ownFull, cloud],
    );
    assert.equal(decision.kind === 'chosen' && decision.target.ref.name, 'cloud');
  });

  it('win over every score', () => {
    const emptier = aPlace('cloud', { tier: 'cloud' });
    const nearlyFull = aPlace('own', { tier: 'own' });
    const decision = schedulePod(
      aPodWithConstraints({ rules: rulesOf({ tiers: [{ targets: select('own') }, { targets: {} }] }) }, { cpu: '4' }),
      [emptier, nearlyFull],
    );
    assert.equal(decision.kind === 'chosen' && decision.target.ref.name, 'own');
  });

  it('tell when to ask again, and why not yet', () => {
    const decision = choose(10, ownFull, near, other);
    assert.equal(decision.kind === 'none' ? decision.retryInSeconds : 0, 20);
    assert.deepEqual(
      decision.rejected.map(({ reason }) => reason), ['TierWaits', 'NotInTiers', 'InsufficientResources'],
    );
  });

  it('of a policy of the cluster do not see labels that a tenant gave its Target', () => {
    const own = { kind: 'Target', namespace: 'team-a', name: 't' } as const;
    const tenants = aPlace('t', {}, withRef(own), withNodeInfo({ kind: 'Target', labels: { tier: 'own' } }));
    assert.equal(tierOf(rules, tenants), undefined);
    const namespaced = rulesFor({ namespace: 'team-a', labels: {} },
      aPolicyIndex(aPolicy({ tiers: [{ targets: select('own') }] })));
    assert.equal(tierOf(namespaced, tenants), 0);
  });

  it('select by the absence of a label as well', () => {
    const spot = { matchExpressions: [{ key: 'spot', operator: 'DoesNotExist' as const }] };
    const steady = rulesOf({ tiers: [{ targets: spot }] });
    assert.deepEqual([aPlace('a'), aPlace('b', { spot: '' })].map((target) => tierOf(steady, target)), [0, undefined]);
  });

  it('that all open at once have no next turn', () => {
    const together = rulesOf({ tiers: [{ targets: select('own'), waitSeconds: 0 }, { targets: {} }] });
    assert.deepEqual(tierOpenings(together), [0, 0]);
    assert.equal(untilNextTier(aPodWithConstraints({ rules: together })), undefined);
  });

  it('law: the next turn is when one more of them opens, and not before', () => {
    const waits = fc.array(fc.nat(50), { minLength: 1, maxLength: 6 });
    fc.assert(fc.property(waits, fc.nat(300), (all, waitedSeconds) => {
      const many = rulesOf({ tiers: all.map((waitSeconds) => ({ targets: {}, waitSeconds })) });
      const openAfter = (seconds: number) => tierOpenings(many).filter((at) => at <= seconds).length;
      const ms = untilNextTier(aPodWithConstraints({ rules: many, waitedSeconds }));
      if (ms === undefined) return assert.equal(openAfter(waitedSeconds), all.length);
      assert.equal(openAfter(waitedSeconds + ms - 1), openAfter(waitedSeconds));
      assert.ok(openAfter(waitedSeconds + ms) > openAfter(waitedSeconds));
    }), { numRuns: 60 });
  });

  it('have no next turn once all had theirs', () => {
    assert.equal(untilNextTier(aPodWithConstraints({ rules, waitedSeconds: 90 })), undefined);
    assert.equal(untilNextTier(aPodWithConstraints({ rules, waitedSeconds: 31 })), 59);
    assert.equal(untilNextTier(aPodWithConstraints()), undefined);
  });

  it('are numbered from 0, the first that selects counts', () => {
    assert.deepEqual([own, near, cloud, other].map((target) => tierOf(rules, target)), [0, 1, 2, undefined]);
    assert.equal(tierOf(rulesOf({ tiers: [{ targets: {} }, { targets: select('own') }] }), own), 0);
    assert.equal(tierOf(undefined, own), 0);
    assert.deepEqual(tierOpenings(rules), [0, 30, 90]);
  });
});
