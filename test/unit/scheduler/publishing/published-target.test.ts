// What a profile is made of: the target's object, its session, and what its cluster said of itself.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  toPropertiesRead, toPublishedTarget, type SessionFacts,
} from '../../../../scheduler/publishing/published-target.ts';

const OBJECT = {
  ref: { name: 'eu' }, uid: 'uid-eu', labels: {}, spec: { kubeconfigSecret: { name: 'eu' } },
  status: { clusterID: 'id-stored' },
};
const STARTED: SessionFacts = {
  clusterId: undefined, availability: { kind: 'unavailable', reason: 'Connecting', message: 'why' }, session: undefined,
  endpoint: undefined,
};
const published = (facts: SessionFacts) =>
  toPublishedTarget({ object: OBJECT, target: facts, properties: undefined, secretRef: undefined });

describe('a published target', () => {
  it('has the ID of its status until its cluster was identified anew', () => {
    assert.equal(published(STARTED).clusterId, 'id-stored');
    assert.equal(published({ ...STARTED, clusterId: 'id-measured' }).clusterId, 'id-measured');
  });

  it('is synced when its session is', () => {
    assert.equal(published(STARTED).isSynced, false);
    assert.equal(published({ ...STARTED, session: { hasSynced: true } }).isSynced, true);
  });
});

describe('a look at ClusterProperties', () => {
  const zone = { metadata: { name: 'zone' }, spec: { value: 'a' } };
  const found = toPropertiesRead({ kind: 'listed', items: [zone] });

  it('has what it found, and an empty list of a cluster without the kind', () => {
    assert.deepEqual(found.properties, [{ name: 'zone', value: 'a' }]);
    assert.deepEqual(toPropertiesRead({ kind: 'absent' }), { ...found, properties: [] });
  });

  it('that failed says nothing, and is repeated sooner', () => {
    const { properties, againMs } = toPropertiesRead({ kind: 'failed' });
    assert.equal(properties, undefined);
    assert.ok(againMs <= 30_000 && againMs < found.againMs);
  });

  it('that is forbidden says nothing either, and is not repeated sooner: permissions rarely change', () => {
    assert.deepEqual(toPropertiesRead({ kind: 'forbidden' }), { ...found, properties: undefined });
  });
});
