import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterTarget } from '../../../../api/kinds/cluster-target.ts';
import type { Node, Pod } from '../../../../api/objects/core.ts';
import { PLACEMENT_ANNOTATION } from '../../../../api/objects/keys.ts';
import { movesScreen } from '../../../../dashboard/views/moves-view.ts';
import type { SeenPolicies } from '../../../../dashboard/views/policies-view.ts';
import type { SeenSource } from '../../../../dashboard/views/targets-view.ts';
import type { MovesScreen } from '../../../../dashboard/wire/screens.ts';
import { nodeOfTarget, seenSource, shownPod } from '../../../support/objects/seen-pods.ts';
import { movePolicy, seenPolicies, shownPolicy } from '../../../support/objects/seen-policies.ts';

const read = <T>(...records: T[]) => ({ kind: 'read' as const, records });
const forbidden = { kind: 'forbidden', message: 'you may not' } as const;
const condition = (status: 'True' | 'False') => ({ type: 'Ready', status, reason: 'R', message: 'm' }) as const;
const aTarget = (name: string, status: 'True' | 'False' = 'True'): ClusterTarget => ({
  metadata: { name }, spec: {}, status: { virtualNode: nodeOfTarget(name), conditions: [condition(status)] },
});
const node = (name: string, unschedulable = false): Node =>
  ({ metadata: { name: nodeOfTarget(name) }, spec: { unschedulable } });
const whole: Partial<SeenSource> =
  { clusterTargets: read(aTarget('eu'), aTarget('us')), nodes: read(node('eu'), node('us')) };
const NOTHING: SeenPolicies = seenPolicies([]);

function screenOf(pods: readonly Pod[], more: Partial<SeenSource> = {}, seen = NOTHING): MovesScreen {
  const screen = movesScreen(seenSource(pods, { ...whole, ...more }), seen);
  assert.ok(screen !== undefined);
  return screen;
}

describe('a rollout', () => {
  const pod = (name: string, hash: string, createdAt: string, isReady = true): Pod => shownPod({
    name, target: 'ClusterTarget/eu', owner: { kind: 'StatefulSet', name: 'db' }, createdAt,
    labels: { 'controller-revision-hash': hash }, conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
  });
  const old = [pod('db-0', 'old', '2026-01-01T09:00:00Z'), pod('db-1', 'old', '2026-01-01T09:00:01Z')];

  it('is a workload with pods of several revisions, newest first', () => {
    const { rollouts, total } = screenOf([...old, pod('db-2', 'new', '2026-01-01T11:00:00Z', false)]);
    assert.deepEqual(rollouts, [{ namespace: 'shop', workload: 'StatefulSet/db', revisions: [
      { hash: 'new', pods: 1, ready: 0, createdAt: '2026-01-01T11:00:00Z' },
      { hash: 'old', pods: 2, ready: 2, createdAt: '2026-01-01T09:00:01Z' },
    ] }]);
    assert.equal(total, 1);
  });

  it('of a Deployment goes by the hashes of its ReplicaSets', () => {
    const of = (hash: string) => shownPod({
      name: `web-${hash}-x`, owner: { kind: 'ReplicaSet', name: `web-${hash}` }, labels: { 'pod-template-hash': hash },
    });
    const [rollout] = screenOf([of('a1'), of('b2')]).rollouts;
    assert.equal(rollout?.workload, 'Deployment/web');
    assert.deepEqual(rollout?.revisions.map(({ hash }) => hash), ['b2', 'a1']);
  });

  it('is over with the last pod of another revision, and none of pods that have ended or have no revision', () => {
    assert.deepEqual(screenOf(old).rollouts, []);
    const ended = shownPod({
      name: 'db-9', phase: 'Failed', owner: { kind: 'StatefulSet', name: 'db' },
      labels: { 'controller-revision-hash': 'older' },
    });
    assert.deepEqual(screenOf([...old, ended, shownPod({ name: 'bare' }), shownPod({ name: 'other' })]).rollouts, []);
  });
});

describe('a move', () => {
  const pods = [
    shownPod({ name: 'web-1', target: 'ClusterTarget/eu', labels: { app: 'web' } }),
    shownPod({ name: 'web-2', target: 'ClusterTarget/us', labels: { app: 'web' } }),
    shownPod({ name: 'web-3', labels: { app: 'web' } }), shownPod({ name: 'db-1', labels: { app: 'db' } }),
  ];

  it('is the policy of "isthmus move", with the pods there and elsewhere', () => {
    const seen = seenPolicies([movePolicy('web', 'us'), shownPolicy({})]);
    assert.deepEqual(screenOf(pods, {}, seen).moves, [{
      namespace: 'shop', policy: 'isthmus-move-1f2e', selects: 'pods with app=web', target: 'us', onTarget: 1,
      elsewhere: 2, since: '2026-01-01T10:00:00Z', expiresAt: '2026-01-01T12:01:15.000Z',
    }]);
  });

  it('names the virtual node of a target that is not there', () => {
    const [move] = screenOf(pods, { clusterTargets: read() }, seenPolicies([movePolicy('web', 'us')])).moves;
    assert.equal(move?.target, nodeOfTarget('us'));
  });

  it('says nothing of pods that cannot be read', () => {
    const { moves, unreadable } = screenOf([], { pods: forbidden }, seenPolicies([movePolicy('web', 'us')]));
    assert.deepEqual([moves[0]?.onTarget, moves[0]?.elsewhere], [undefined, undefined]);
    assert.deepEqual(unreadable.map(({ what }) => what), ['pods']);
  });
});

describe('a drain', () => {
  const nodes = read(node('eu', true), node('us'));
  const leaving = shownPod({ name: 'web-1', target: 'ClusterTarget/eu' });
  const pods = [
    { ...leaving, metadata: { ...leaving.metadata, deletionTimestamp: '2026-01-01T11:00:00Z' } },
    shownPod({ name: 'web-2', target: 'ClusterTarget/eu' }), shownPod({ name: 'web-3', target: 'ClusterTarget/us' }),
  ];

  it('is a cordoned target with the pods that are still there', () => {
    assert.deepEqual(screenOf(pods, { nodes }).drains, [{ target: 'eu', isRemoved: false, pods: 2, terminating: 1 }]);
    assert.deepEqual(screenOf([], { nodes }).drains, [{ target: 'eu', isRemoved: false, pods: 0, terminating: 0 }]);
  });

  it('is a target that is being removed', () => {
    const us = aTarget('us');
    const clusterTargets = read({ ...us, metadata: { ...us.metadata, deletionTimestamp: '2026-01-01T11:00:00Z' } });
    assert.deepEqual(screenOf(pods, { clusterTargets }).drains, [
      { target: 'us', isRemoved: true, pods: 1, terminating: 0 },
    ]);
  });

  it('has an unknown number of pods where they cannot be read', () => {
    assert.deepEqual(screenOf([], { nodes, pods: forbidden }).drains[0]?.pods, undefined);
  });
});

describe('pods away from a target that was lost', () => {
  const away = (name: string, more: Parameters<typeof shownPod>[0] = {}): Pod => shownPod({
    name, target: 'ClusterTarget/us', owner: { kind: 'StatefulSet', name: 'db' }, ...more,
    annotations: { [PLACEMENT_ANNOTATION]: JSON.stringify({ not: { 'ClusterTarget/eu': 'Unreachable' } }) },
  });
  const expected = { target: 'eu', isReady: true, pods: 2, workloads: ['shop/StatefulSet/db'] };

  it('are counted by the target', () => {
    assert.deepEqual(screenOf([away('db-0'), away('db-1')]).failbacks, [expected]);
    const clusterTargets = read(aTarget('eu', 'False'));
    assert.equal(screenOf([away('db-0')], { clusterTargets }).failbacks[0]?.isReady, false);
  });

  it('are counted where the target itself cannot be read', () => {
    const { failbacks } = screenOf([away('db-0'), away('db-1')], { clusterTargets: forbidden });
    assert.deepEqual(failbacks, [{ ...expected, isReady: undefined }]);
  });

  it('are none that are back, wait, have ended, are going, or would not be replaced', () => {
    const going = away('going');
    assert.deepEqual(screenOf([
      away('back', { target: 'ClusterTarget/eu' }), away('ended', { phase: 'Succeeded' }),
      { ...going, metadata: { ...going.metadata, deletionTimestamp: '2026-01-01T11:00:00Z' } },
      { ...away('bare'), metadata: { ...away('bare').metadata, ownerReferences: [] } },
      { ...away('waits'), spec: { containers: [] } },
    ]).failbacks, []);
  });
});

describe('the screen of what is in progress', () => {
  it('is empty where nothing is', () => {
    assert.deepEqual(screenOf([shownPod({ target: 'ClusterTarget/eu' })]), {
      screen: 'moves', rollouts: [], moves: [], drains: [], failbacks: [], total: 0, unreadable: [],
    });
  });

  it('waits until all was read once', () => {
    for (const name of ['pods', 'nodes', 'targets', 'clusterTargets'] as const) {
      assert.equal(movesScreen(seenSource([], { ...whole, [name]: { kind: 'reading' } }), NOTHING), undefined, name);
    }
    assert.equal(movesScreen(seenSource([], whole), { ...NOTHING, policies: { kind: 'reading' } }), undefined);
  });
});
