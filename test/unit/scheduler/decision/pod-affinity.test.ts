import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodAffinityTerm } from '../../../../api/objects/affinity.ts';
import { labelsByNode } from '../../../../scheduler/decision/filters.ts';
import type { PodClass } from '../../../../scheduler/snapshot/placed-pods.ts';
import { podAffinityFilter, podPreference } from '../../../../scheduler/decision/pod-affinity.ts';
import type { PodToSchedule, TargetSnapshot } from '../../../../scheduler/snapshot/snapshot.ts';
import { aPlace, aPodWithConstraints, placed } from '../../../support/placement.ts';

// Two zones in one region, one in another.
const targets = [aPlace('a', { zone: '1', region: 'eu' }), aPlace('b', { zone: '2', region: 'eu' }), aPlace(
  'c', { zone: '3', region: 'us' },
)];
const web: PodAffinityTerm = { labelSelector: { matchLabels: { app: 'web' } }, topologyKey: 'zone' };
const db: PodAffinityTerm = { labelSelector: { matchLabels: { app: 'db' } }, topologyKey: 'zone' };
const dbPods = (byTarget: Record<string, number>, change: Partial<PodClass> = {}) =>
  placed(byTarget, { labels: { app: 'db' }, ...change });

function reasons(pod: PodToSchedule, among: readonly TargetSnapshot[] = targets): (string | undefined)[] {
  const check = podAffinityFilter(pod, labelsByNode(among));
  return among.map((target) => check?.(target)?.reason);
}

const near = (term: PodAffinityTerm, ...pods: PodClass[]) => aPodWithConstraints({
  placed: pods, constraints: { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } },
});
const far = (term: PodAffinityTerm, ...pods: PodClass[]) => aPodWithConstraints({
  placed: pods,
  constraints: { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } },
});
const FREE = undefined;

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
  it('is none without preferred terms', () => assert.equal(podPreference(near(db), labelsByNode(targets)), undefined));
});
