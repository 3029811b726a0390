import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { TopologySpreadConstraint } from '../../../../api/objects/affinity.ts';
import type { ClusterConstraints } from '../../../../model/proxy/proxy-pod.ts';
import { NO_RULES, type PlacementRules } from '../../../../scheduler/snapshot/placement-rules.ts';
import type { PodClass } from '../../../../scheduler/snapshot/placed-pods.ts';
import type { PodToSchedule, TargetSnapshot } from '../../../../scheduler/snapshot/snapshot.ts';
import { spreadCount, topologySpreadFilter } from '../../../../scheduler/decision/topology-spread.ts';
import { aPlace, aPodWithConstraints, placed, rulesOf, withNodeInfo } from '../../../support/objects/placement.ts';

const targets = [aPlace('a', { zone: '1' }), aPlace('b', { zone: '2' }), aPlace('c', { zone: '2' })];
const byZone: TopologySpreadConstraint = {
  maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { app: 'web' } },
};

const spreadingBy = (all: readonly TopologySpreadConstraint[], pods: readonly PodClass[]) =>
  aPodWithConstraints({ placed: pods, constraints: { topologySpreadConstraints: all } });

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
    'c', { zone: '3' }, withNodeInfo({ labels: { zone: '3' }, taints: [{ key: 'k', effect: 'NoSchedule' }] }),
  )];
  const three = [aPlace('a', { zone: '1' }), aPlace('b', { zone: '2' }), aPlace('c', { zone: '3' })];
  const discouraged = three.map((target) => (target.nodeName === 'admiralty-c' ? aPlace('c', {}, withNodeInfo(
    { labels: { zone: '3' }, taints: [{ key: 'k', effect: 'PreferNoSchedule' }] },
  )) : target));
  const racked = [aPlace('a', { zone: '1', rack: 'x' }), aPlace('b', { zone: '2' }),
    aPlace('c', { zone: '3', rack: 'y' })];
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
    'domains are those of targets that have all labels of all constraints': [
      spreadingBy([byZone, { ...byZone, topologyKey: 'rack' }], [placed({ a: 1, b: 1 })]),
      [FULL, 'MissingTopologyKey', FREE], racked,
    ],
    'each constraint must hold': [
      spreadingBy([{ ...byZone, maxSkew: 9 }, { ...byZone, topologyKey: 'rack' }], [placed({ a: 1 })]),
      [FULL, 'MissingTopologyKey', FREE], racked,
    ],
    'a constraint without a selector means no pod, not even this one':
      [spreading({ labelSelector: undefined as never }, [placed({ a: 9 })]), [FREE, FREE, FREE]],
    'an empty selector means every pod of the namespace':
      [spreading({ labelSelector: {} }, [placed({ a: 1 }, { labels: {} })]), [FULL, FREE, FREE]],
    'pods on nodes that are no targets do not count':
      [spreading({}, [placed({ gone: 1, a: 2, b: 2 })]), [FREE, FREE, FREE]],
    'classes of pods are added up':
      [spreading({ maxSkew: 2 }, [placed({ a: 1 }), placed({ a: 1 }, { controllerUid: 'x' })]), [FULL, FREE, FREE]],
    'this pod adds nothing where it is not meant, and so may go to what is full already': [
      aPodWithConstraints({ labels: { app: 'db' }, placed: [placed({ a: 1 })],
        constraints: { topologySpreadConstraints: [byZone] } }), [FREE, FREE, FREE],
    ],
    'more minDomains than there are do not matter while all are empty': [spreading({ minDomains: 9 }, []), [FREE, FREE,
      FREE]],
    'required node affinity excludes a domain as a selector does': [
      spreading({}, [placed({ a: 1, b: 1 })], { affinity: { nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [
          { matchExpressions: [{ key: 'zone', operator: 'NotIn', values: ['3'] }] },
        ] } } } }), [FREE, FREE, FREE], three,
    ],
    'a policy that forbids excludes a domain': [
      spreading({}, [placed({ a: 1, b: 1 })], {}, rulesOf({ forbid: { matchLabels: { zone: '3' } } })),
      [FREE, FREE, FREE], three,
    ],
    'also one that another policy has blocked altogether: nothing is counted, and the least is 0': [
      spreading({}, [placed({ a: 1 })], {}, { ...NO_RULES, blocked: { reason: 'PolicyInvalid', message: 'm' } }),
      [FREE, FREE, FREE],
    ],
    'pods in an excluded domain are not counted, where affinity is honoured': [
      spreading({}, [placed({ a: 5, b: 1 })], { nodeSelector: { zone: '2' } }), [FREE, FREE, FREE],
    ],
    'a domain counts while one of its targets does': [
      spreading({}, [placed({ a: 1 })], { nodeSelector: { 'kubernetes.io/hostname': 'admiralty-b' } }),
      [FREE, FREE, FREE],
    ],
    'a taint that the pod tolerates excludes nothing': [
      spreading({ nodeTaintsPolicy: 'Honor' }, [placed({ a: 1, b: 1 })], { tolerations: [{ operator: 'Exists' }] }),
      [FULL, FULL, FREE], tainted,
    ],
    'nor does one that only discourages':
      [spreading({ nodeTaintsPolicy: 'Honor' }, [placed({ a: 1, b: 1 })]), [FULL, FULL, FREE], discouraged],
    'a topology key that every object has is no label': [
      spreading({ topologyKey: 'constructor' }, []),
      ['MissingTopologyKey', 'MissingTopologyKey', 'MissingTopologyKey'],
    ],
    'an empty value is a domain like any other': [
      spreading({}, [placed({ a: 1 })]), [FULL, FREE], [aPlace('a', { zone: '' }), aPlace('b', { zone: '1' })],
    ],
    'matchLabelKeys adds to expressions': [
      aPodWithConstraints({
        labels: { app: 'web', hash: 'new' },
        placed: [placed({ a: 3 }, { labels: { app: 'db', hash: 'new' } }),
          placed({ b: 1 }, { labels: { app: 'web', hash: 'new' } })],
        constraints: { topologySpreadConstraints: [{ ...byZone, matchLabelKeys: ['hash', 'none'], labelSelector:
          { matchExpressions: [{ key: 'app', operator: 'In', values: ['web'] }] } }] },
      }),
      [FREE, FULL, FULL],
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
  it('adds up over constraints', () => {
    const any = { ...byZone, whenUnsatisfiable: 'ScheduleAnyway' };
    const pod = spreadingBy([any, { ...any, topologyKey: 'kubernetes.io/hostname' }], [placed({ b: 2, c: 1 })]);
    assert.deepEqual(targets.map((target) => spreadCount(pod, targets)?.(target)), [0, 3 + 2, 3 + 1]);
  });
  it('leaves out constraints that must hold', () => {
    const pod = spreadingBy([byZone, { ...byZone, topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'ScheduleAnyway' }], [placed({ b: 2, c: 1 })]);
    assert.deepEqual(targets.map((target) => spreadCount(pod, targets)?.(target)), [0, 2, 1]);
  });
  it('is none for a pod of which only its requirements are known', () => {
    const { placement: _placement, ...bare } = spreading({ whenUnsatisfiable: 'ScheduleAnyway' }, []);
    assert.equal(spreadCount(bare, targets), undefined);
  });
  it('is none where all constraints must hold', () => assert.equal(spreadCount(spreading({}, []), targets), undefined));
});
