import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ObjectMeta, Pod } from '../../../../api/objects/core.ts';
import type { PodChaperon } from '../../../../api/kinds/pod-chaperon.ts';
import { planAdoption, type AdoptionState } from '../../../../cli/takeover/adoption-plan.ts';
import { planFeedback } from '../../../../delegate-controller/feedback/feedback-plan.ts';
import { toProxyPodRecord } from '../../../../model/proxy/proxy-pod.ts';
import { admiraltyChaperon, admiraltyProxy } from '../../../support/objects/admiralty-pods.ts';

const P = 'multicluster.admiralty.io/';
const stored = <T extends { readonly metadata: ObjectMeta }>(object: T, uid: string): T =>
  ({ ...object, metadata: { ...object.metadata, uid, resourceVersion: '7' } });
const proxy = stored(
  admiraltyProxy({
    namespace: 'web', name: 'a', nodeName: 'admiralty-c2', finalizers: [`${P}web-c2`, `${P}web-c3`, 'example.com/keep'],
  }),
  'u1',
);
const chaperon = stored(admiraltyChaperon(proxy, 'hub'), 'c1');
const delegate: Pod = { metadata: { ...chaperon.metadata, uid: 'd1' }, spec: { containers: [], nodeName: 'n1' } };
const plan = (state: Partial<AdoptionState> = {}): ReturnType<typeof planAdoption> =>
  planAdoption({
    proxies: [proxy], chaperons: [chaperon], delegates: [delegate],
    target: { key: 'ClusterTarget/c2', nodeName: 'admiralty-c2' }, sourceId: 'S', ...state,
  });
/** An object after a merge patch of its metadata, as far as it is looked at. */
const patchOf = (command: unknown): { readonly metadata: ObjectMeta; readonly spec?: object } =>
  (command as { readonly patch: { readonly metadata: ObjectMeta } }).patch;

describe('what Admiralty left', () => {
  it('is known as ours from then on: chaperon and delegate by the identity of the source, the proxy by our one ' +
    'finalizer', () => {
    const { adoptions: [adoption], left } = plan();
    assert.deepEqual(left, []);
    const [ofChaperon, ofDelegate] = (adoption?.inTarget ?? []).map(patchOf);
    assert.deepEqual(ofChaperon, {
      metadata: {
        resourceVersion: '7', labels: { [`${P}parent-cluster-name`]: 'S' },
        annotations: { [`${P}source-watches-pods`]: 'true', [`${P}made-through`]: 'ClusterTarget/c2' },
        finalizers: [`${P}chaperon`],
      },
      spec: { schedulerName: null },
    });
    assert.deepEqual(ofDelegate, { metadata: { uid: 'd1', labels: { [`${P}parent-cluster-name`]: 'S' } } });
    assert.deepEqual(patchOf(adoption?.inSource[0]), {
      metadata: {
        resourceVersion: '7',
        labels: { [`${P}has-finalizer`]: 'true' }, finalizers: ['example.com/keep', `${P}delegate`],
        annotations:
          { [`${P}target`]: 'ClusterTarget/c2', [`${P}delegate-name`]: 'a-x7k2p', [`${P}adopted-delegate`]: 'a-x7k2p' },
      },
    });
  });

  it('is not taken over twice', () => {
    const patch = patchOf(plan().adoptions[0]?.inSource[0]);
    const after = {
      ...proxy,
      metadata: {
        ...proxy.metadata, ...patch.metadata,
        annotations: { ...proxy.metadata.annotations, ...patch.metadata.annotations },
      },
    };
    assert.deepEqual(plan({ proxies: [after] }), { adoptions: [], left: [] });
  });

  it('of several candidates is the one that has its node', () => {
    const loser = stored(admiraltyChaperon(proxy, 'hub', 'zzzzz'), 'c2');
    const { adoptions: [adoption] } = plan({ chaperons: [loser, chaperon] });
    assert.equal(patchOf(adoption?.inSource[0]).metadata.annotations?.[`${P}delegate-name`], 'a-x7k2p');
  });

  it('keeps the scheduler that a pod without a reservation has', () => {
    const free = { ...chaperon, spec: { ...chaperon.spec, schedulerName: 'own' } } as PodChaperon;
    assert.equal(patchOf(plan({ chaperons: [free] }).adoptions[0]?.inTarget[0]).spec, undefined);
  });

  const waiting = stored(admiraltyProxy({ namespace: 'web', name: 'b' }), 'u2');
  const left: readonly (readonly [string, Partial<AdoptionState>, RegExp])[] = [
    ['a pod without a target', { proxies: [waiting] }, /no target yet; delete it/],
    ['a pod whose chaperon is gone', { chaperons: [] }, /not in the target; delete the pod/],
    [
      'a pod that is going',
      { proxies: [{ ...proxy, metadata: { ...proxy.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }] },
      /being deleted/,
    ],
    [
      "a pod whose candidates have no node",
      { chaperons: [chaperon, stored(admiraltyChaperon(proxy, 'hub', 'zzzzz'), 'c2')], delegates: [] },
      /not in the target/,
    ],
  ];
  for (const [what, state, why] of left) it(`is left to the user: ${what}`, () => {
    const { adoptions, left: [one, ...more] } = plan(state);
    assert.deepEqual([adoptions, more], [[], []]);
    assert.match(one?.why ?? '', why);
  });

  const others: readonly (readonly [string, Pod])[] = [
    ['a pod of another target', { ...proxy, spec: { ...proxy.spec, nodeName: 'admiralty-c3' } }],
    ['a proxy that Isthmus made', {
      ...proxy,
      metadata: {
        ...proxy.metadata, finalizers: [`${P}delegate`],
        annotations: { ...proxy.metadata.annotations, 'isthmus.dev/admission-record': '{"spec":{}}' },
      },
    }],
    ['a proxy that an older version of Isthmus made', {
      ...proxy, metadata: { ...proxy.metadata, finalizers: [`${P}delegate`] },
    }],
    ['an ordinary pod', { metadata: { namespace: 'web', name: 'c' }, spec: { containers: [] } }],
  ];
  it('concerns a proxy that Isthmus made and that was given back to Admiralty', () => {
    const given = {
      ...proxy,
      metadata:
        { ...proxy.metadata, annotations: { [`${P}elect`]: '', 'isthmus.dev/admission-record': '{"spec":{}}' } },
    };
    assert.equal(plan({ proxies: [given] }).adoptions.length, 1);
  });

  it('puts nothing on a chaperon that nobody would take off while an Admiralty works in the target', () => {
    const [adoption] = plan({ isAdmiraltyThere: true }).adoptions;
    assert.ok(!JSON.stringify(adoption?.inTarget).includes(`${P}chaperon"`));
  });

  for (const [what, pod] of others) {
    it(`does not concern ${what}`, () => assert.deepEqual(plan({ proxies: [pod] }), { adoptions: [], left: [] }));
  }
});

describe('a proxy that nobody has adopted yet', () => {
  const nothingThere = { kind: 'known', chaperon: undefined, delegate: undefined } as const;

  it('is left alone, though nothing seems to run for it', () => {
    const record = toProxyPodRecord(proxy);
    assert.ok(record?.isOwnedByAdmiralty === true);
    assert.deepEqual(planFeedback(record, nothingThere), { kind: 'no-change' });
    assert.deepEqual(planFeedback({ ...record, terminating: true }, nothingThere), { kind: 'no-change' });
  });

  it('is like any other once it is', () => {
    const annotations = { ...proxy.metadata.annotations, [`${P}adopted-delegate`]: 'a-x7k2p' };
    const record = toProxyPodRecord({ ...proxy, metadata: { ...proxy.metadata, annotations } });
    assert.deepEqual([record?.isOwnedByAdmiralty, record?.adoptedDelegate], [undefined, 'a-x7k2p']);
    assert.equal(planFeedback(record!, nothingThere).kind, 'confirm-delegate-gone');
  });
});
