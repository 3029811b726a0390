import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { placementKey } from '../../../../scheduler/cache/placement-key.ts';
import { dependsOnOtherTargets } from '../../../../scheduler/decision/per-target.ts';
import { mergeWeights } from '../../../../scheduler/snapshot/default-weights.ts';
import type { PlacementConstraints } from '../../../../scheduler/snapshot/snapshot.ts';

const PLAIN: PlacementConstraints = {
  labels: {}, constraints: {}, rules: { require: [], forbid: [] }, weights: mergeWeights(), waitedSeconds: 0,
  placed: [], namespaces: new Map(),
};

describe('placementKey', () => {
  it('is equal for equal inputs', () => assert.equal(placementKey({ ...PLAIN }), placementKey(PLAIN)));

  it('tells pods with and without placement inputs apart', () => {
    assert.notEqual(placementKey(undefined), placementKey(PLAIN));
  });

  const telling: Required<Pick<PlacementConstraints, 'constraints' | 'rules' | 'weights' | 'location'>> = {
    constraints: { nodeSelector: { disk: 'ssd' } },
    rules: { require: [{ by: 'PlacementPolicy team/p', value: { matchLabels: { zone: 'a' } } }], forbid: [] },
    weights: mergeWeights({ locality: 7 }),
    location: { region: 'eu' },
  };
  for (const [field, value] of Object.entries(telling)) {
    it(`differs by ${field}`, () => {
      assert.notEqual(placementKey({ ...PLAIN, [field]: value }), placementKey(PLAIN));
    });
  }

  it('differs by a field that this file has never heard of', () => {
    const withNewField = (costLimit: string) => placementKey({ ...PLAIN, costLimit } as PlacementConstraints);
    assert.notEqual(withNewField('10'), withNewField('20'));
    assert.notEqual(withNewField('10'), placementKey(PLAIN));
  });

  const apart: Required<Pick<PlacementConstraints, 'labels' | 'controllerUid' | 'waitedSeconds' | 'namespaces'>> = {
    labels: { app: 'a' }, controllerUid: 'uid', waitedSeconds: 9, namespaces: new Map([['team', { tier: 'gold' }]]),
  };
  for (const [field, value] of Object.entries(apart)) {
    it(`does not differ by ${field}, so that the pods of many workloads share a class`, () => {
      assert.equal(placementKey({ ...PLAIN, [field]: value }), placementKey(PLAIN));
    });
  }

  it('leaves out the overrides by target: a decision with some is not cached', () => {
    const overridden = { ...PLAIN, overridden: new Map(), unpatchable: new Map([['ClusterTarget/a', 'bad patch']]) };
    assert.equal(placementKey(overridden), placementKey(PLAIN));
    const pod = { namespace: 'team', requirements: { requests: new Map(), nodeSelector: {} }, rejectedBy: new Map() };
    assert.equal(dependsOnOtherTargets({ ...pod, placement: PLAIN }), false);
    assert.equal(dependsOnOtherTargets({ ...pod, placement: overridden }), true);
  });
});
