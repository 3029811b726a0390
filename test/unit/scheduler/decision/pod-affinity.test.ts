import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodAffinityTerm } from '../../../../api/objects/affinity.ts';
import { labelsByNode } from '../../../../scheduler/decision/filters.ts';
import type { PodClass } from '../../../../scheduler/snapshot/placed-pods.ts';
import { podAffinityFilter, podPreference } from '../../../../scheduler/decision/pod-affinity.ts';
import type { PodToSchedule, TargetSnapshot } from '../../../../scheduler/snapshot/snapshot.ts';
import { aPlace, aPodWithConstraints, placed } from '../../../support/objects/placement.ts';

// Two zones in one region, one in another.
const targets = [aPlace('a', { zone: '1', region: 'eu' }), aPlace('b', { zone: '2', region: 'eu' }), aPlace(
  'c', { zone: '3', region: 'us' },
)];
const web: PodAffinityTerm = { labelSelector: { matchLabels: { app: 'web' } }, topologyKey: 'zone' };
const db: PodAffinityTerm = { labelSelector: { matchLabels: { app: 'db' } }, topologyKey: 'zone' };
const cold: PodAffinityTerm = { labelSelector: { matchLabels: { tier: 'cold' } }, topologyKey: 'zone' };
const dbPods = (byTarget: Record<string, number>, change: Partial<PodClass> = {}) =>
  placed(byTarget, { labels: { app: 'db' }, ...change });

function reasons(pod: PodToSchedule, among: readonly TargetSnapshot[] = targets): (string | undefined)[] {
  const check = podAffinityFilter(pod, labelsByNode(among));
  return among.map((target) => check?.(target)?.reason);
}

const affine = (
  kind: 'podAffinity' | 'podAntiAffinity', terms: readonly PodAffinityTerm[], pods: readonly PodClass[],
) => aPodWithConstraints({
  placed: pods, constraints: { affinity: { [kind]: { requiredDuringSchedulingIgnoredDuringExecution: terms } } },
});
const near = (term: PodAffinityTerm, ...pods: PodClass[]) => affine('podAffinity', [term], pods);
const nearAll = (terms: readonly PodAffinityTerm[], ...pods: PodClass[]) => affine('podAffinity', terms, pods);
const far = (term: PodAffinityTerm, ...pods: PodClass[]) => affine('podAntiAffinity', [term], pods);
const farFrom = (terms: readonly PodAffinityTerm[], ...pods: PodClass[]) => affine('podAntiAffinity', terms, pods);
const inTeamBWith = (term: PodAffinityTerm) => dbPods({ a: 1 }, { namespace: 'team-b', antiAffinity: [term] });
const FREE = undefined;
const NEAR = 'PodAffinity';

describe('required affinity and anti-affinity between pods', () => {
  const inTeamB = dbPods({ a: 1 }, { namespace: 'team-b' });
  const cases: Record<string, readonly [pod: PodToSchedule, reasons: readonly (string | undefined)[]]> = {
    'a pod goes where the pods are that it wants to be near':
      [near(db, dbPods({ a: 1 })), [FREE, 'PodAffinity', 'PodAffinity']],
    'near means in one domain, not on one node':
      [near({ ...db, topologyKey: 'region' }, dbPods({ a: 1 })), [FREE, FREE, 'PodAffinity']],
    'host name means one target':
      [near({ ...db, topologyKey: 'kubernetes.io/hostname' }, dbPods({ b: 1 })), ['PodAffinity', FREE, 'PodAffinity']],
    'a pod that looks for others finds none where there are none':
      [near(db), ['PodAffinity', 'PodAffinity', 'PodAffinity']],
    'the first of a group that wants to be together may begin anywhere': [near(web), [FREE, FREE, FREE]],
    'the second goes to the first': [near(web, placed({ b: 1 })), ['PodAffinity', FREE, 'PodAffinity']],
    'a target without the label is no place for a pod that asks for it': [
      near({ ...db, topologyKey: 'rack' }, dbPods({ a: 1 })),
      ['MissingTopologyKey', 'MissingTopologyKey', 'MissingTopologyKey'],
    ],
    'a pod keeps away from the pods that it wants to be far from':
      [far(db, dbPods({ a: 1, c: 2 })), ['PodAntiAffinity', FREE, 'PodAntiAffinity']],
    'far means out of the domain':
      [far({ ...db, topologyKey: 'region' }, dbPods({ a: 1 })), ['PodAntiAffinity', 'PodAntiAffinity', FREE]],
    'pods that keep away from their like are one in each':
      [far(web, placed({ a: 1, b: 1 })), ['PodAntiAffinity', 'PodAntiAffinity', FREE]],
    'anti-affinity by a label that targets lack keeps nobody out':
      [far({ ...db, topologyKey: 'rack' }, dbPods({ a: 1 })), [FREE, FREE, FREE]],
    'pods of other namespaces are not meant': [far(db, inTeamB), [FREE, FREE, FREE]],
    'unless they are listed': [far({ ...db, namespaces: ['team-b'] }, inTeamB), ['PodAntiAffinity', FREE, FREE]],
    'a list of others leaves the own namespace out':
      [far({ ...db, namespaces: ['team-b'] }, dbPods({ a: 1 })), [FREE, FREE, FREE]],
    'an empty namespace selector means all':
      [far({ ...db, namespaceSelector: {} }, inTeamB), ['PodAntiAffinity', FREE, FREE]],
    'a namespace selector means those with the labels':
      [far({ ...db, namespaceSelector: { matchLabels: { team: 'c' } } }, inTeamB), [FREE, FREE, FREE]],
    'a term without a selector means no pod': [far({ topologyKey: 'zone' }, dbPods({ a: 1 })), [FREE, FREE, FREE]],
    'matchLabelKeys means pods with the same value':
      [far({ ...web, matchLabelKeys: ['app'] }, placed({ a: 1 }), dbPods({ b: 1 })), ['PodAntiAffinity', FREE, FREE]],
    'mismatchLabelKeys means pods with another': [
      far({ labelSelector: {}, topologyKey: 'zone', mismatchLabelKeys: ['app'] }, placed({ a: 1 }), dbPods({ b: 1 })),
      [FREE, 'PodAntiAffinity', FREE],
    ],
    'pods being deleted still count':
      [far(db, dbPods({ a: 1 }, { terminating: true })), ['PodAntiAffinity', FREE, FREE]],
    'a pod that is there keeps those away that it does not want': [
      aPodWithConstraints({ placed: [dbPods({ a: 1 }, { antiAffinity: [web] })] }),
      ['ExistingPodAntiAffinity', FREE, FREE],
    ],
    'its anti-affinity holds in its whole domain': [
      aPodWithConstraints({ placed: [dbPods({ a: 1 }, { antiAffinity: [{ ...web, topologyKey: 'region' }] })] }),
      ['ExistingPodAntiAffinity', 'ExistingPodAntiAffinity', FREE],
    ],
    'and not against others':
      [aPodWithConstraints({ placed: [placed({ a: 1 }, { antiAffinity: [db] })] }), [FREE, FREE, FREE]],
    'it means pods of its own namespace, and this one is of another':
      [aPodWithConstraints({ placed: [inTeamBWith(web)] }), [FREE, FREE, FREE]],
    'unless it lists the namespace of this one': [
      aPodWithConstraints({ placed: [inTeamBWith({ ...web, namespaces: ['team-a'] })] }),
      ['ExistingPodAntiAffinity', FREE, FREE],
    ],
    'or selects it by its labels': [
      aPodWithConstraints({ placed: [inTeamBWith({ ...web, namespaceSelector: { matchLabels: { team: 'a' } } })] }),
      ['ExistingPodAntiAffinity', FREE, FREE],
    ],
    'its matchLabelKeys are about its own labels, which this one does not share':
      [aPodWithConstraints({ placed: [dbPods({ a: 1 }, { antiAffinity: [{ ...web, matchLabelKeys: ['app'] }] })] }),
        [FREE, FREE, FREE]],
    'it keeps out of each domain where it has a pod': [
      aPodWithConstraints({ placed: [dbPods({ a: 1, c: 3 }, { antiAffinity: [web] })] }),
      ['ExistingPodAntiAffinity', FREE, 'ExistingPodAntiAffinity'],
    ],
    'also those that it attracts': [
      near(db, dbPods({ a: 1 }, { antiAffinity: [web] })), ['ExistingPodAntiAffinity', NEAR, NEAR],
    ],
    'each of its terms counts': [
      aPodWithConstraints({ placed: [dbPods({ c: 1 }, { antiAffinity: [db, web] })] }),
      [FREE, FREE, 'ExistingPodAntiAffinity'],
    ],
    'a pod on a node that is no target keeps nobody away':
      [aPodWithConstraints({ placed: [dbPods({ gone: 1 }, { antiAffinity: [web] })] }), [FREE, FREE, FREE]],
    'by a label that targets lack it keeps nobody away': [
      aPodWithConstraints({ placed: [dbPods({ a: 1 }, { antiAffinity: [{ ...web, topologyKey: 'rack' }] })] }),
      [FREE, FREE, FREE],
    ],
    'pods that only one term of an affinity means do not count for it, as in kube-scheduler':
      [nearAll([db, { ...web, topologyKey: 'region' }], dbPods({ a: 1, c: 1 }), placed({ a: 1 })), [NEAR, NEAR, NEAR]],
    'a pod that all terms mean counts in the domain of each': [
      nearAll([{ ...db, topologyKey: 'region' }, cold], placed({ b: 1 }, { labels: { app: 'db', tier: 'cold' } })),
      [NEAR, FREE, NEAR],
    ],
    'a first of its kind may begin where others match one of its terms':
      [nearAll([web, { ...web, labelSelector: {}, namespaces: ['team-a'] }], dbPods({ a: 1 })), [FREE, FREE, FREE]],
    'each term of an anti-affinity is reason enough': [
      farFrom([db, web], dbPods({ a: 1 }), placed({ c: 1 })), ['PodAntiAffinity', FREE, 'PodAntiAffinity'],
    ],
    'the first of a group still needs the label': [
      near({ ...web, topologyKey: 'rack' }), ['MissingTopologyKey', 'MissingTopologyKey', 'MissingTopologyKey'],
    ],
    'who matches only one of two terms of its own is no first': [nearAll([web, db]), [NEAR, NEAR, NEAR]],
    'nor is one whose like is there by one of two terms':
      [nearAll([web, { ...web, topologyKey: 'region' }], placed({ b: 1 })), [NEAR, FREE, NEAR]],
    'a like on a node that is no target does not count: the next may begin anew':
      [near(web, placed({ gone: 1 })), [FREE, FREE, FREE]],
    'nor does one in another namespace': [near(web, placed({ b: 1 }, { namespace: 'team-b' })), [FREE, FREE, FREE]],
    'a first that means only another namespace does not mean itself':
      [near({ ...web, namespaces: ['team-b'] }), [NEAR, NEAR, NEAR]],
    'a list of namespaces and a selector of them add up': [
      farFrom(
        [{ ...db, namespaces: ['team-b'], namespaceSelector: { matchLabels: { team: 'a' } } }],
        inTeamB, dbPods({ b: 1 }),
      ), ['PodAntiAffinity', 'PodAntiAffinity', FREE],
    ],
    'a namespace of which nothing is known has no labels': [
      far({ ...db, namespaceSelector: { matchExpressions: [{ key: 'team', operator: 'DoesNotExist' }] } },
        dbPods({ c: 1 }, { namespace: 'new' }), inTeamB), [FREE, FREE, 'PodAntiAffinity'],
    ],
    'a selector of expressions is read as Kubernetes reads it': [
      far({ topologyKey: 'zone', labelSelector: { matchExpressions: [
        { key: 'app', operator: 'NotIn', values: ['web'] }, { key: 'app', operator: 'Exists' },
      ] } }, placed({ a: 1 }), dbPods({ b: 1 }), placed({ c: 1 }, { labels: {} })), [FREE, 'PodAntiAffinity', FREE],
    ],
    'an expression that Kubernetes would reject means no pod': [
      far({ topologyKey: 'zone', labelSelector: { matchExpressions: [{ key: 'app', operator: 'Like' }] } },
        placed({ a: 1 })), [FREE, FREE, FREE],
    ],
    'matchLabelKeys that the pod does not have are passed over':
      [far({ ...db, matchLabelKeys: ['hash'] }, dbPods({ a: 1 })), ['PodAntiAffinity', FREE, FREE]],
    'a topology key that every object has is no label':
      [near({ ...web, topologyKey: 'constructor' }),
        ['MissingTopologyKey', 'MissingTopologyKey', 'MissingTopologyKey']],
    'nor does it make one domain of all targets':
      [far({ ...db, topologyKey: 'toString' }, dbPods({ a: 1 })), [FREE, FREE, FREE]],
  };
  for (const [sentence, [pod, expected]] of Object.entries(cases)) {
    it(sentence, () => assert.deepEqual(reasons(pod), expected));
  }

  it('has nothing to say to a pod without such wishes among pods without', () => {
    assert.equal(
      podAffinityFilter(aPodWithConstraints({ placed: [placed({ a: 1 })] }), labelsByNode(targets)), undefined,
    );
  });

  it('says which pods are meant, where they are, and what to change', () => {
    const [first] = targets;
    const rejection = podAffinityFilter(far(db, dbPods({ a: 2 })), labelsByNode(targets))?.(first!);
    assert.equal(
      rejection?.message,
      "2 pods with app=db are in zone=1; relax the pod's podAntiAffinity, or add a target elsewhere",
    );
  });
});

describe('what a pod is told of its affinity', () => {
  const at = (pod: PodToSchedule, index: number) =>
    podAffinityFilter(pod, labelsByNode(targets))?.(targets[index]!)?.message ?? '';
  const both = aPodWithConstraints({
    placed: [dbPods({ a: 1 }), placed({ b: 1 }, { antiAffinity: [web] })],
    constraints: { affinity: {
      podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ ...web, namespaces: ['team-b'] }] },
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [db] },
    } },
  });
  const messages: Record<string, readonly [message: string, said: RegExp]> = {
    'one pod is not several': [at(far(db, dbPods({ a: 1 })), 0), /^1 pod with app=db is in zone=1; relax/],
    'whom it looks for, and where': [
      at(near(db), 2), /^no pod with app=db is in zone=3; relax the pod's podAffinity, or place such a pod there/,
    ],
    'a term without a selector': [at(near({ topologyKey: 'zone' }), 0), /^no pod with no labels at all is in zone=1/],
    'all terms that one pod has to match':
      [at(nearAll([db, db, cold], dbPods({ a: 1 })), 0), /^no pod with app=db and tier=cold is in zone=1; relax/],
    'an empty one': [at(near({ ...db, labelSelector: {} }, dbPods({ c: 1 })), 0), /^no pod with everything is in/],
    'whose anti-affinity keeps it out': [
      at(aPodWithConstraints({ placed: [dbPods({ b: 1 }, { antiAffinity: [web] })] }), 1),
      /^a pod in zone=2 has a podAntiAffinity that matches this pod; change the podAntiAffinity of that pod/,
    ],
    'which label is missing':
      [at(near({ ...db, topologyKey: 'rack' }), 0), /^it has no label rack, which the pod's pod/],
    'its affinity before its anti-affinity': [at(both, 0), /^no pod with app=web/],
  };
  for (const [sentence, [message, said]] of Object.entries(messages)) {
    it(sentence, () => assert.match(message, said));
  }
});

describe('podPreference', () => {
  const preferring =
    (weight: number, term: PodAffinityTerm, kind: 'podAffinity' | 'podAntiAffinity', ...pods: PodClass[]) =>
    aPodWithConstraints({
      placed: pods,
      constraints: {
        affinity: { [kind]: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight, podAffinityTerm: term }] } },
      },
    });
  const sums = (pod: PodToSchedule) => targets.map((target) => podPreference(pod, labelsByNode(targets))?.(target));

  it('adds the weight for each pod nearby', () => assert.deepEqual(
    sums(preferring(10, db, 'podAffinity', dbPods({ a: 2 }))), [20, 0, 0],
  ));
  it('takes it off for each pod that is better far', () => assert.deepEqual(
    sums(preferring(10, { ...db, topologyKey: 'region' }, 'podAntiAffinity', dbPods({ a: 1, b: 1 }))), [-20, -20, 0],
  ));
  it('adds up over terms, and one kind takes off what the other gives', () => {
    const [zone, region] = [{ ...db, topologyKey: 'zone' }, { ...db, topologyKey: 'region' }];
    const terms = (kind: 'podAffinity' | 'podAntiAffinity', ...weighted: readonly [number, PodAffinityTerm][]) => ({
      [kind]: { preferredDuringSchedulingIgnoredDuringExecution:
        weighted.map(([weight, podAffinityTerm]) => ({ weight, podAffinityTerm })) },
    });
    const affinity = { ...terms('podAffinity', [1, zone], [10, region]), ...terms('podAntiAffinity', [100, zone]) };
    const pod = aPodWithConstraints({ placed: [dbPods({ a: 2, c: 1 })], constraints: { affinity } });
    assert.deepEqual(sums(pod), [2 + 20 - 200, 20, 1 + 10 - 100]);
  });
  it('is 0 where the label is missing, also when it is empty elsewhere', () => {
    const among = [aPlace('a', { zone: '' }), aPlace('b')];
    const pod = preferring(10, db, 'podAffinity', dbPods({ a: 2 }));
    assert.deepEqual(among.map((target) => podPreference(pod, labelsByNode(among))?.(target)), [20, 0]);
  });
  it('is none without preferred terms', () => assert.equal(podPreference(near(db), labelsByNode(targets)), undefined));
});
