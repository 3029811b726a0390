import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../../api/objects/core.ts';
import {
  planEnding, planFinalizers, planWaiting, candidatesOf, type Candidate,
} from '../../../../cli/takeover/waiting-takeover.ts';
import { admiraltyChaperon, admiraltyProxy } from '../../../support/objects/admiralty-pods.ts';

const P = 'multicluster.admiralty.io/';
const bare = admiraltyProxy({ namespace: 'web', name: 'a', finalizers: [`${P}web-c2`] });
const proxy: Pod = { ...bare, metadata: { ...bare.metadata, uid: 'u1', resourceVersion: '7' } };
const candidate = (target: string, isPlaced: boolean): Candidate => ({
  target, nodeName: `admiralty-${target}`, isPlaced,
  chaperon: {
    ...admiraltyChaperon(proxy, ''), metadata: { ...admiraltyChaperon(proxy, '').metadata, uid: `chaperon-${target}` },
  },
});
const made = (...candidates: readonly Candidate[]) => ({ candidates, remains: candidates.length > 0 });
const said = (takeover: ReturnType<typeof planWaiting>) => ({
  targets: takeover.inTargets.map(({ target, plan }) => `${target} ${plan.map(({ kind }) => kind).join()}`),
  source: takeover.inSource.map(({ kind }) => kind),
});

describe('a proxy without a node', () => {
  it('waits for our scheduler only once nothing of it is left: a candidate may get a node as it goes', () => {
    assert.deepEqual(said(planWaiting(proxy, made(candidate('c1', false), candidate('c2', false)))), {
      targets: ['c1 delete', 'c2 delete'], source: [],
    });
    const going = planWaiting(proxy, { candidates: [], remains: true });
    assert.deepEqual([said(going), going.isWaiting], [{ targets: [], source: [] }, true]);
    assert.deepEqual(said(planWaiting(proxy, made())), { targets: [], source: ['patch'] });
  });

  it('keeps a candidate that two targets show, for they are one cluster', () => {
    const one = candidate('c1', true);
    assert.deepEqual(said(planWaiting(proxy, made(one, { ...one, target: 'own' }))), { targets: [], source: ['bind'] });
  });

  it('is bound where its candidate has a node, for that may run already', () => {
    const plan = planWaiting(proxy, made(candidate('c1', false), candidate('c2', true)));
    assert.deepEqual(said(plan), { targets: ['c1 delete'], source: ['bind'] });
    assert.equal(plan.inSource[0]?.kind === 'bind' && plan.inSource[0].binding.target.name, 'admiralty-c2');
  });

  it('keeps one delegate of two that have a node', () => {
    assert.deepEqual(said(planWaiting(proxy, made(candidate('c1', true), candidate('c2', true)))), {
      targets: ['c2 delete'], source: ['bind'],
    });
  });

  it('is left alone once it is as it is to be', () => {
    const ours = { ...proxy, metadata: { ...proxy.metadata, finalizers: [`${P}delegate`] } };
    assert.deepEqual(planWaiting(ours, made()), { inTargets: [], inSource: [] });
  });
});

describe('a proxy that is being deleted', () => {
  it('is let go once nothing that was made for it is left', () => {
    assert.deepEqual(said(planEnding(proxy, made(candidate('c1', true)))), { targets: ['c1 delete'], source: [] });
    assert.deepEqual(said(planEnding(proxy, made())), { targets: [], source: ['patch'] });
    assert.deepEqual(
      said(planEnding(proxy, { candidates: [], remains: true })), { targets: [], source: [] },
      'its delegate still stops',
    );
  });
});

describe('finalizers', () => {
  it("of others stay, and ours are written to the version that was looked at", () => {
    const held = { ...proxy, metadata: { ...proxy.metadata, finalizers: ['a.example/b', `${P}web-c2`] } };
    assert.deepEqual(planFinalizers(held, [`${P}delegate`])[0], {
      kind: 'patch', type: { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true },
      at: { namespace: 'web', name: 'a' }, patchType: 'merge',
      patch: {
        metadata: {
          resourceVersion: '7', finalizers: ['a.example/b', `${P}delegate`], labels: { [`${P}has-finalizer`]: 'true' },
        },
      },
    });
  });
});

describe('candidates', () => {
  it('are those of this proxy, without those that go', () => {
    const chaperon = admiraltyChaperon(proxy, '');
    const going = { ...chaperon, metadata: { ...chaperon.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    const other = admiraltyChaperon({ ...proxy, metadata: { ...proxy.metadata, uid: 'u2' } }, '');
    const delegate: Pod =
      { metadata: { namespace: 'web', name: chaperon.metadata.name ?? '' }, spec: { containers: [], nodeName: 'n1' } };
    const found = candidatesOf(proxy, { key: 'ClusterTarget/c1', nodeName: 'admiralty-c1' }, {
      chaperons: [chaperon, going, other], delegates: [delegate],
    });
    assert.deepEqual(found.map(({ isPlaced }) => isPlaced), [true]);
  });
});
