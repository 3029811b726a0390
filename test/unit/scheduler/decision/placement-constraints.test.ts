import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SCORE_WEIGHTS_ANNOTATION } from '../../../../api/objects/keys.ts';
import type { PlacementPolicySpec } from '../../../../api/kinds/placement-policy.ts';
import { PlacedPods } from '../../../../scheduler/snapshot/placed-pods.ts';
import { toPodToSchedule, type PlacementContext } from '../../../../scheduler/decision/placement-constraints.ts';
import type { NodeRequirements } from '../../../../scheduler/snapshot/node-requirements.ts';
import type { PodSpec } from '../../../../api/objects/core.ts';
import {
  aChaperon, aPod, aProxyRecord, annotated, frozen, labelled, withMetadata, withSpec,
} from '../../../support/objects/builders.ts';
import { aPolicyIndex, aPlace, aPolicy } from '../../../support/objects/placement.ts';

const NOW = Date.parse('2026-01-01T00:01:00Z'); // a minute after pods were created

function aWorld(spec: PlacementPolicySpec = {}, change: Partial<PlacementContext> = {}): PlacementContext {
  return { policies: aPolicyIndex(aPolicy(spec)), placed: new PlacedPods(), ...change };
}

function wishesOf(world: PlacementContext, proxy = aProxyRecord(labelled({ app: 'web' })), sourcePod = aPod()) {
  const pod = toPodToSchedule(
    { proxy, sourcePod, chaperon: aChaperon(), now: NOW }, world, [aPlace('a', { region: 'eu' }), aPlace('b')],
    { rejectedBy: new Map() },
  );
  return pod.placement!;
}

describe('toPodToSchedule', () => {
  it('takes labels without our own, and how long the pod has waited', () => {
    const { labels, waitedSeconds } = wishesOf(aWorld());
    assert.deepEqual(labels, { app: 'web' });
    assert.equal(waitedSeconds, 60);
  });

  it('takes the constraints that admission put into the proxy', () => {
    assert.deepEqual(
      wishesOf(aWorld(), aProxyRecord(withSpec({ nodeSelector: { a: 'b' }, tolerations: [] }))).constraints,
      { nodeSelector: { a: 'b' }, tolerations: [] },
    );
  });

  it('weighs as the installation says, then the policy, then the pod', () => {
    const world = aWorld({ weights: { cost: 2, rtt: 2 } }, { weights: { cost: 1, rtt: 1, locality: 1 } });
    const { cost, rtt, locality, leastAllocated } =
      wishesOf(world, undefined, aPod(annotated({ [SCORE_WEIGHTS_ANNOTATION]: 'cost=3' }))).weights;
    assert.deepEqual([cost, rtt, locality, leastAllocated], [3, 2, 1, 1]);
  });

  it('passes over an annotation that cannot be read', () => {
    assert.equal(
      wishesOf(
        aWorld({ weights: { cost: 2 } }), undefined, aPod(annotated({ [SCORE_WEIGHTS_ANNOTATION]: 'cost=lots' })),
      ).weights.cost,
      2,
    );
  });

  it('adds the spread of a policy over the pods that it selects to that of the pod', () => {
    const own = { maxSkew: 5, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' };
    const proxy = aProxyRecord(labelled({ app: 'web' }), withSpec({ topologySpreadConstraints: [own] }));
    const podSelector = { matchLabels: { app: 'web' } };
    assert.deepEqual(wishesOf(
      aWorld({ podSelector, spread: [{ topologyKey: 'region', maxSkew: 2, whenUnsatisfiable: 'DoNotSchedule' }] }),
      proxy,
    ).constraints.topologySpreadConstraints, [
      own, { topologyKey: 'region', maxSkew: 2, whenUnsatisfiable: 'DoNotSchedule', labelSelector: podSelector },
    ]);
  });

  it('looks at placed pods only where they count', () => {
    const placed = new PlacedPods();
    placed.place({ uid: '1', namespace: 'team-a', labels: {}, terminating: false }, 'admiralty-a');
    assert.equal(wishesOf(aWorld({}, { placed })).placed.length, 0);
    assert.equal(wishesOf(aWorld({ spread: [{ topologyKey: 'zone' }] }, { placed })).placed.length, 1);
    assert.equal(wishesOf(aWorld({ replicas: { shares: [{ targets: {}, weight: 1 }] } }, { placed })).placed.length, 1);
    placed.place(
      { uid: '2', namespace: 'team-a', labels: {}, terminating: false, antiAffinity: [{ topologyKey: 'zone' }] },
      'admiralty-a',
    );
    assert.equal(wishesOf(aWorld({}, { placed })).placed.length, 2);
  });

  it('knows what the delegate asks for where a policy changes it, and where its patch does not apply', () => {
    const patch = [{ op: 'add', path: '/spec/nodeSelector', value: { pool: 'big' } }] as const;
    const eu = { matchLabels: { region: 'eu' } };
    const { overridden, unpatchable } = wishesOf(aWorld({ overrides: [{ targets: eu, patch }] }));
    assert.deepEqual([...(overridden ?? [])].map(([key, { nodeSelector }]) => [key, nodeSelector]), [
      ['ClusterTarget/a', { pool: 'big' }],
    ]);
    assert.equal(unpatchable?.size, 0);
    const failing =
      wishesOf(aWorld({ overrides: [{ targets: eu, patch: [{ op: 'remove', path: '/spec/nodeSelector/nothing' }] }] }));
    assert.deepEqual([...(failing.unpatchable?.keys() ?? [])], ['ClusterTarget/a']);
  });

  it('has waited for nothing yet where the API server is ahead of our clock', () => assert.equal(
    wishesOf(aWorld(), aProxyRecord(withMetadata({ creationTimestamp: '2026-01-01T09:00:00Z' }))).waitedSeconds, 0,
  ));

  const anyPod = { uid: '1', namespace: 'team-b', labels: {}, terminating: false } as const;
  const near = [{ topologyKey: 'zone', labelSelector: {} }];
  const counting: Record<string, readonly [spec: PlacementPolicySpec, pod: Partial<PodSpec>, counts: boolean]> = {
    'affinity to pods': [{}, { affinity: { podAffinity: {} } }, true],
    'anti-affinity to pods':
      [{}, { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: near } } }, true],
    'affinity to nodes': [{}, { affinity: { nodeAffinity: {} } }, false],
    'a spread of its own':
      [{}, { topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'ScheduleAnyway' }] },
        true],
    'an empty list of spreads': [{}, { topologySpreadConstraints: [] }, false],
    'tiers': [{ tiers: [{ targets: {} }] }, {}, false],
    'required labels': [{ require: {} }, {}, false],
  };
  for (const [what, [spec, changes, counts]] of Object.entries(counting)) {
    it(`${counts ? 'counts' : 'does not count'} pods for ${what}`, () => {
      const placed = new PlacedPods();
      placed.place(anyPod, 'admiralty-a');
      const { placed: found } = wishesOf(aWorld(spec, { placed }), aProxyRecord(withSpec(changes)));
      assert.equal(found.length, Number(counts));
    });
  }

  it('knows the labels of namespaces, and where the source is', () => {
    const { namespaces, location, controllerUid } = wishesOf(aWorld({}, { location: { region: 'eu' } }));
    assert.deepEqual([namespaces.get('team-b'), location, controllerUid], [{ team: 'b' }, { region: 'eu' }, undefined]);
    assert.equal('location' in wishesOf(aWorld()), false, 'a missing one is missing in the class key too');
  });

  it('spreads over all pods of the namespace, by one and as a preference, where a policy says no more', () => {
    assert.deepEqual(wishesOf(aWorld({ spread: [{ topologyKey: 'zone' }] })).constraints.topologySpreadConstraints, [
      { topologyKey: 'zone', maxSkew: 1, whenUnsatisfiable: 'ScheduleAnyway', labelSelector: {} },
    ]);
  });

  it('leaves the constraints of the pod as they are', () => {
    const proxy = frozen(aProxyRecord(withSpec({ topologySpreadConstraints: [] })));
    wishesOf(aWorld({ spread: [{ topologyKey: 'zone' }] }), proxy);
    assert.deepEqual(proxy.constraints?.topologySpreadConstraints, []);
  });

  it('weighs a score that the pod turns off as nothing, and takes fractions', () => {
    const { cost, rtt } = wishesOf(
      aWorld({ weights: { cost: 2 } }), undefined,
      aPod(annotated({ [SCORE_WEIGHTS_ANNOTATION]: ' cost = 0 , rtt=0.25,' })),
    ).weights;
    assert.deepEqual([cost, rtt], [0, 0.25]);
  });

  it('takes what the delegate requests from the object that is sent, not from the proxy', () => {
    const chaperon = aChaperon(withSpec({
      initContainers: [{ name: 's', restartPolicy: 'Always', resources: { requests: { cpu: '1' } } }],
      containers: [{ name: 'c', resources: { requests: { cpu: '500m' } } }], overhead: { cpu: '250m' },
      tolerations: [{ operator: 'Exists' }],
    }));
    const interned: NodeRequirements[] = [];
    const intern = (requirements: NodeRequirements) => (interned.push(requirements), requirements);
    const pod = toPodToSchedule(
      { proxy: aProxyRecord(), sourcePod: aPod(), chaperon, now: NOW }, aWorld(), [], { rejectedBy: new Map(), intern },
    );
    assert.deepEqual([...pod.requirements.requests], [['cpu', 1_750], ['pods', 1]]);
    assert.deepEqual(pod.requirements.tolerations, [{ operator: 'Exists' }]);
    assert.deepEqual(interned, [pod.requirements]);
  });

  it('shares what is required under an override as well', () => {
    const patch = [{ op: 'add', path: '/spec/nodeSelector', value: { pool: 'big' } }] as const;
    const interned: NodeRequirements[] = [];
    toPodToSchedule(
      { proxy: aProxyRecord(), sourcePod: aPod(), chaperon: aChaperon(), now: NOW },
      aWorld({ overrides: [{ targets: {}, patch }] }), [aPlace('a'), aPlace('b')],
      { rejectedBy: new Map(), intern: (requirements) => (interned.push(requirements), requirements) },
    );
    assert.deepEqual(interned.map(({ nodeSelector }) => nodeSelector), [{ pool: 'big' }, { pool: 'big' }, undefined]);
  });

  it('has nothing to say of overrides where no policy has any', () => assert.equal(
    wishesOf(aWorld()).overridden, undefined,
  ));
});
