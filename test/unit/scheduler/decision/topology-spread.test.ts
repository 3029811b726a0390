import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { TopologySpreadConstraint } from '../../../../api/objects/affinity.ts';
import type { ClusterConstraints } from '../../../../model/proxy/proxy-pod.ts';
import { NO_RULES, type PlacementRules } from '../../../../scheduler/snapshot/placement-rules.ts';
import type { PodClass } from '../../../../scheduler/snapshot/placed-pods.ts';
import type { PodToSchedule, TargetSnapshot } from '../../../../scheduler/snapshot/snapshot.ts';
import { spreadCount, topologySpreadFilter } from '../../../../scheduler/decision/topology-spread.ts';
import { aPlace, aPodWithConstraints, placed, rulesOf, withTraits } from '../../../support/placement.ts';

const targets = [aPlace('a', { zone: '1' }), aPlace('b', { zone: '2' }), aPlace('c', { zone: '2' })];
const byZone: TopologySpreadConstraint = {
  maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { app: 'web' } },
};

function spreading(
  constraint: Partial<TopologySpreadConstraint>, pods: readonly PodClass[], rest: ClusterConstraints = {},
  rules: PlacementRules = NO_RULES,
): PodToSchedule {
  return aPodWithConstraints(
    { placed: pods, rules, constraints: { ...rest, topologySpreadConstraints: [{ ...byZone, ...constraint }] } },
  );
}

function reasons(pod: PodToSchedule, among: readonly TargetSnapshot[] = targets): (string | undefined)[] {
  const check = topologySpreadFilter(pod, among);
  return among.map((target) => check?.(target)?.reason);
}

const FREE = undefined;
const FULL = 'TopologySpread';

describe('topology spread that must hold', () => {
  const tainted = [aPlace('a', { zone: '1' }), aPlace('b', { zone: '2' }), aPlace(
    'c', { zone: '3' }, withTraits({ labels: { zone: '3' }, taints: [{ key: 'k', effect: 'NoSchedule' }] }),
  )];
  const three = [aPlace('a', { zone: '1' }), aPlace('b', { zone: '2' }), aPlace('c', { zone: '3' })];
  const cases: Record<
    string, readonly [pod: PodToSchedule, reasons: readonly (string | undefined)[], among?: readonly TargetSnapshot[]]
  > = {
    'the first may go anywhere': [spreading({}, []), [FREE, FREE, FREE]],
    'the second goes to the other domain': [spreading({}, [placed({ a: 1 })]), [FULL, FREE, FREE]],
    'targets of one domain are counted together': [spreading({}, [placed({ b: 1, c: 1, a: 1 })]), [FREE, FULL, FULL]],
    'a greater skew allows more': [spreading({ maxSkew: 2 }, [placed({ a: 1 })]), [FREE, FREE, FREE]],
    'pods that are not meant do not count':
      [spreading({}, [placed({ a: 5 }, { labels: { app: 'db' } })]), [FREE, FREE, FREE]],
    'pods of another namespace do not count':
      [spreading({}, [placed({ a: 5 }, { namespace: 'team-b' })]), [FREE, FREE, FREE]],
    'pods being deleted do not count': [spreading({}, [placed({ a: 5 }, { terminating: true })]), [FREE, FREE, FREE]],
    'a pod that is not meant itself adds nothing': [
      spreading({ labelSelector: { matchLabels: { app: 'db' } } }, [placed({ a: 1 }, { labels: { app: 'db' } })]),
      [FREE, FREE, FREE],
    ],
    'a target without the label cannot be counted':
      [spreading({ topologyKey: 'rack' }, []), ['MissingTopologyKey', 'MissingTopologyKey', 'MissingTopologyKey']],
    'too few domains count as one that is empty':
      [spreading({ minDomains: 3 }, [placed({ a: 1, b: 1 })]), [FULL, FULL, FULL]],
    'enough domains do not': [spreading({ minDomains: 2 }, [placed({ a: 1, b: 1 })]), [FREE, FREE, FREE]],
    'a domain where the pod cannot go is not the least':
      [spreading({}, [placed({ a: 1, b: 1 })], { nodeSelector: { zone: '1' } }), [FREE, FREE, FREE]],
    'a domain that a policy excludes is not the least': [
      spreading({}, [placed({ a: 1 })], {}, rulesOf({ require: { matchLabels: { zone: '1' } } })), [FREE, FREE, FREE],
    ],
    'unless affinity is to be ignored': [
      spreading({ nodeAffinityPolicy: 'Ignore' }, [placed({ a: 1 })], { nodeSelector: { zone: '1' } }),
      [FULL, FREE, FREE],
    ],
    'a tainted domain is the least': [spreading({}, [placed({ a: 1, b: 1 })]), [FULL, FULL, FREE], tainted],
    'unless taints are to be honoured':
      [spreading({ nodeTaintsPolicy: 'Honor' }, [placed({ a: 1, b: 1 })]), [FREE, FREE, FREE], tainted],
    'an empty domain is the least': [spreading({}, [placed({ a: 1, b: 1 })]), [FULL, FULL, FREE], three],
    'matchLabelKeys counts one revision': [
      aPodWithConstraints({
        labels: { app: 'web', hash: 'new' }, placed: [placed({ a: 3 }, { labels: { app: 'web', hash: 'old' } })],
        constraints: { topologySpreadConstraints: [{ ...byZone, matchLabelKeys: ['hash'] }] },
      }),
      [FREE, FREE, FREE],
    ],
    'a constraint that need not hold keeps nobody out':
      [spreading({ whenUnsatisfiable: 'ScheduleAnyway' }, [placed({ a: 9 })]), [FREE, FREE, FREE]],
  };
  for (const [sentence, [pod, expected, among]] of Object.entries(cases)) {
    it(sentence, () => assert.deepEqual(reasons(pod, among), expected));
  }

  it('says what the skew would be and what to do', () => {
    assert.match(
      topologySpreadFilter(spreading({}, [placed({ a: 1 })]), targets)?.(targets[0]!)?.message ?? '',
      /placing the pod would give zone=1 a skew of 2, and maxSkew is 1; raise maxSkew/,
    );
  });

  it('never lets domains differ by more than maxSkew when pods come one by one', () => {
    fc.assert(fc.property(fc.integer({ min: 1, max: 3 }),
      fc.array(fc.nat(2), { maxLength: 15 }), (maxSkew, placement) => {
      const counts: Record<string, number> = {};
      for (const wish of placement) {
        const check = topologySpreadFilter(spreading({ maxSkew }, [placed(counts)]), three);
        const open = three.filter((target) => check?.(target) === undefined);
        assert.ok(open.length > 0);
        const name = open[wish % open.length]!.nodeName.replace('admiralty-', '');
        counts[name] = (counts[name] ?? 0) + 1;
      }
      const found = three.map(({ nodeName }) => counts[nodeName.replace('admiralty-', '')] ?? 0);
      assert.ok(Math.max(...found) - Math.min(...found) <= maxSkew);
    }));
  });
});

describe('spreadCount', () => {
  it('counts for constraints that need not hold', () => {
    const count = spreadCount(spreading({ whenUnsatisfiable: 'ScheduleAnyway' }, [placed({ a: 3, c: 1 })]), targets);
    assert.deepEqual(targets.map((target) => count?.(target)), [3, 1, 1]);
  });
  it('puts targets without the label last', () => {
    const among = [...targets, aPlace('d')];
    assert.equal(spreadCount(spreading({ whenUnsatisfiable: 'ScheduleAnyway' }, []), among)?.(among[3]!), Infinity);
  });
  it('is none where all constraints must hold', () => assert.equal(spreadCount(spreading({}, []), targets), undefined));
});
