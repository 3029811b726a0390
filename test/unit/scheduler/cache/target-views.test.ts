import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { ClusterSummary } from '../../../../api/kinds/cluster-summary.ts';
import { parseResourceList } from '../../../../model/resources/resources.ts';
import { targetKey } from '../../../../model/naming/target-ref.ts';
import { toTargetCapacity } from '../../../../scheduler/snapshot/target-capacity.ts';
import type { NodeRequirements } from '../../../../scheduler/snapshot/node-requirements.ts';
import { fitsAfterScaleUp } from '../../../../scheduler/decision/filters.ts';
import { toVirtualNodeInfo } from '../../../../scheduler/snapshot/virtual-node-info.ts';
import { TargetViews, type TargetIdentity } from '../../../../scheduler/cache/target-views.ts';
import { frozen } from '../../../support/objects/builders.ts';
import { haveOneHiddenClass } from '../../../support/rules/hidden-class.ts';

const ROOM = { cpu: '8', memory: '8Gi', pods: '110' };
const C1 = identityOf('c1');

function identityOf(name: string): TargetIdentity {
  const ref = { kind: 'ClusterTarget', name } as const;
  return { ref, key: targetKey(ref), nodeName: `admiralty-${name}` };
}

function aSummary(podsResourceVersion: string, cpu = '8'): ClusterSummary {
  const free = { ...ROOM, cpu };
  return frozen({
    metadata: {}, allocatable: ROOM, free, nodeGroups: [{ holes: [{ count: 1, free }] }],
    observed: { podsResourceVersion },
  });
}

function aPodOf(cpu: string): NodeRequirements {
  return frozen({ requests: parseResourceList({ cpu, pods: '1' }).amounts });
}

function viewsOfC1(): TargetViews {
  const views = new TargetViews();
  views.update(C1, undefined);
  views.publish(C1.key, aSummary('10'));
  return views;
}

function freeCpu(views: TargetViews, key = C1.key): number | undefined {
  return [...views.snapshots()].find((target) => target.key === key)?.capacity?.free.get('cpu');
}

describe('nodes that the autoscaler of a target may add', () => {
  /** One node with 8 CPUs, of which one is free, and one more such node as the target's object declares. */
  const growing = () => {
    const views = new TargetViews();
    const declare = () => views.update({ ...C1, nodeInfo: toVirtualNodeInfo({
      nodeName: C1.nodeName, node: { metadata: {}, spec: {} }, labels: {},
      spec: { headroom: [{ count: 1, allocatable: { cpu: '8' } }] },
    }) }, undefined);
    declare();
    views.publish(C1.key, aSummary('10', '1'));
    const mayTake = (cpu: string) => fitsAfterScaleUp(
      { namespace: 'team-a', requirements: aPodOf(cpu), rejectedBy: new Map() }, views.snapshots()[0]!,
    );
    return { views, declare, mayTake };
  };

  it('are filled by the pods that wait for one, and get no more than they take', () => {
    const { views, declare, mayTake } = growing();
    views.assume(C1.key, 'first', aPodOf('5'));
    assert.deepEqual([mayTake('3'), mayTake('4')], [true, false]);
    declare();
    assert.equal(mayTake('4'), false, 'the object was written again');
    views.publish(C1.key, aSummary('11', '1'));
    assert.equal(mayTake('4'), false);
    views.release(C1.key, 'first');
    assert.equal(mayTake('8'), true);
  });

  it('are left to others by pods that fit on a node by now', () => {
    const { views, mayTake } = growing();
    views.assume(C1.key, 'small', aPodOf('1'));
    views.assume(C1.key, 'large', aPodOf('8'));
    assert.equal(mayTake('2'), false);
    views.publish(C1.key, { ...aSummary('11'), nodeGroups: [{ holes: [{ count: 2, free: ROOM }] }] });
    assert.equal(mayTake('8'), true);
    views.publish(C1.key, undefined);
    views.publish(C1.key, aSummary('12', '1'));
    assert.equal(mayTake('8'), false, 'these nodes are gone');
  });
});

describe('TargetViews', () => {
  it('gives targets one hidden class, whichever of name and capacity changed last', () => {
    assert(haveOneHiddenClass((index) => {
      const views = viewsOfC1();
      if (index % 2 === 0) views.update(C1, undefined);
      const [target] = views.snapshots();
      assert(target);
      return target;
    }));
  });

  it('shows a target before it has told its capacity', () => {
    const views = new TargetViews();
    views.update(C1, undefined);
    assert.deepEqual([...views.snapshots()], [C1]);
  });

  it('shows why a target gets no pods, and its capacity all the same', () => {
    const views = viewsOfC1();
    views.update(C1, { reason: 'Unreachable', message: 'm' });
    const [target] = views.snapshots();
    assert.deepEqual(target?.unavailable, { reason: 'Unreachable', message: 'm' });
    assert.equal(target?.capacity?.free.get('cpu'), 8000);
    views.update(C1, undefined);
    assert.equal([...views.snapshots()][0]?.unavailable, undefined);
  });

  it('changes nothing when a summary is only renewed, and says so', () => {
    const views = viewsOfC1();
    const first = aSummary('20', '6');
    assert.equal(views.publish(C1.key, first), true);
    const [before] = views.snapshots();
    assert.equal(views.publish(C1.key, { ...first, observed: { podsResourceVersion: '30' } }), false);
    assert.equal(views.snapshots()[0], before);
    views.assume(C1.key, 'pod', aPodOf('1'));
    assert.equal(views.publish(C1.key, { ...first, observed: { podsResourceVersion: '40' } }), false);
    assert.equal(freeCpu(views), 5000);
  });

  it('counts an assumed pod no longer once a renewed summary is complete up to it', () => {
    const views = viewsOfC1();
    const first = aSummary('20', '6');
    views.publish(C1.key, first);
    views.assume(C1.key, 'pod', aPodOf('1'));
    views.scheduled(C1.key, 'pod', '35');
    assert.equal(views.publish(C1.key, { ...first, observed: { podsResourceVersion: '34' } }), false);
    assert.equal(freeCpu(views), 5000);
    assert.equal(views.publish(C1.key, { ...first, observed: { podsResourceVersion: '35' } }), true);
    assert.equal(freeCpu(views), 6000);
  });

  it('takes the same summary again after it was withdrawn, and after its target was removed', () => {
    const views = viewsOfC1();
    const first = aSummary('20', '6');
    views.publish(C1.key, first);
    assert.equal(views.publish(C1.key, undefined), true);
    assert.equal(freeCpu(views), undefined);
    assert.equal(views.publish(C1.key, { ...first }), true);
    views.remove(C1.key);
    views.update(C1, undefined);
    assert.equal(views.publish(C1.key, { ...first }), true);
    assert.equal(freeCpu(views), 6000);
  });

  it('shows what the summary says less what is assumed', () => {
    const views = viewsOfC1();
    views.assume(C1.key, 'pod', aPodOf('3'));
    assert.equal(freeCpu(views), 5000);
  });

  it('counts a candidate once that is assumed twice', () => {
    const views = viewsOfC1();
    assert.equal(freeCpu(views), 8000);
    views.assume(C1.key, 'pod', aPodOf('3'));
    views.assume(C1.key, 'pod', aPodOf('3'));
    assert.equal(freeCpu(views), 5000);
  });

  it('gives back what was held when the candidate is gone, and says so once', () => {
    const views = viewsOfC1();
    views.assume(C1.key, 'pod', aPodOf('3'));
    assert.equal(freeCpu(views), 5000);
    assert.equal(views.release(C1.key, 'pod'), true);
    assert.equal(freeCpu(views), 8000);
    assert.equal(views.release(C1.key, 'pod'), false);
  });

  it('holds what was assumed before the target has told its capacity', () => {
    const views = new TargetViews();
    views.update(C1, undefined);
    views.assume(C1.key, 'pod', aPodOf('3'));
    assert.deepEqual(views.snapshots(), [C1]);
    views.publish(C1.key, aSummary('10'));
    assert.equal(freeCpu(views), 5000);
    assert.equal(views.release(C1.key, 'pod'), true);
    assert.equal(freeCpu(views), 8000);
  });

  it('gives nothing back twice, where the summary was taken back in between', () => {
    const views = viewsOfC1();
    views.assume(C1.key, 'pod', aPodOf('3'));
    views.publish(C1.key, undefined);
    assert.equal(views.release(C1.key, 'pod'), true);
    views.publish(C1.key, aSummary('11'));
    assert.equal(freeCpu(views), 8000);
  });

  it('has nothing to do with targets that it does not know', () => {
    const views = viewsOfC1();
    assert.equal(views.publish('ClusterTarget/other', aSummary('1')), false);
    views.scheduled('ClusterTarget/other', 'pod', '1');
    assert.equal(views.release('ClusterTarget/other', 'pod'), false);
    views.remove('ClusterTarget/other');
    assert.equal(freeCpu(views), 8000);
  });

  it('begins anew with a target of the same name: late words about the former one change nothing', () => {
    const views = viewsOfC1();
    views.assume(C1.key, 'pod', aPodOf('3'));
    views.remove(C1.key);
    views.update(C1, undefined);
    views.publish(C1.key, aSummary('1'));
    views.scheduled(C1.key, 'pod', '1');
    assert.equal(views.release(C1.key, 'pod'), false);
    assert.equal(freeCpu(views), 8000);
    views.assume(C1.key, 'pod', aPodOf('2'));
    assert.equal(freeCpu(views), 6000);
  });

  it('keeps what is assumed while its labels or taints change', () => {
    const views = viewsOfC1();
    views.assume(C1.key, 'pod', aPodOf('3'));
    const nodeInfo = { labels: { a: 'b' }, taints: [], cordoned: true, hasNode: true, isSelf: false };
    views.update({ ...C1, nodeInfo }, undefined);
    assert.deepEqual([freeCpu(views), views.snapshots()[0]?.nodeInfo], [5000, nodeInfo]);
    views.release(C1.key, 'pod');
    assert.deepEqual([freeCpu(views), views.snapshots()[0]?.nodeInfo], [8000, nodeInfo]);
  });

  it('goes below nothing when more is assumed than there is, and comes back', () => {
    const views = viewsOfC1();
    for (const uid of ['1', '2', '3']) views.assume(C1.key, uid, aPodOf('6'));
    assert.equal(freeCpu(views), -10_000);
    for (const uid of ['2', '1', '3']) views.release(C1.key, uid);
    assert.equal(freeCpu(views), 8000);
    assert.equal(views.snapshots()[0]?.capacity?.hasRoomFor(aPodOf('8')), true);
  });

  it('takes the next summary for one that counts a delegate whose version cannot be compared', () => {
    const views = viewsOfC1();
    views.assume(C1.key, 'pod', aPodOf('3'));
    views.scheduled(C1.key, 'pod', 'x');
    assert.equal(freeCpu(views), 5000);
    views.publish(C1.key, aSummary('12'));
    assert.equal(freeCpu(views), 8000, 'held for good it would be counted twice as long as the pod runs');
  });

  it('logs each change of a target by its place, and none where the list itself is another', () => {
    const views = viewsOfC1();
    const [before, revision] = [views.snapshots(), views.changes.revision];
    views.assume(C1.key, 'pod', aPodOf('1'));
    assert.deepEqual([views.snapshots() === before, views.changes.revision - revision], [true, 1]);
    views.update(identityOf('c0'), undefined);
    assert.deepEqual([views.snapshots() === before, views.changes.revision - revision], [false, 1]);
    const places: number[] = [];
    views.release(C1.key, 'pod');
    views.changes.since(revision + 1, (place) => places.push(place));
    assert.deepEqual(places, [1], 'its place after the other came');
  });

  it('gives back everywhere what was held for a pod that has gone', () => {
    const views = viewsOfC1();
    const c2 = identityOf('c2');
    views.update(c2, undefined);
    views.publish(c2.key, aSummary('1'));
    for (const key of [C1.key, c2.key]) views.assume(key, 'pod', aPodOf('1'));
    views.releaseEverywhere('pod');
    assert.deepEqual([freeCpu(views), freeCpu(views, c2.key), views.ledger.size], [8000, 8000, 0]);
  });

  it('goes on holding over a summary that does not show the delegate yet', () => {
    const views = viewsOfC1();
    views.assume(C1.key, 'pod', aPodOf('3'));
    views.scheduled(C1.key, 'pod', '20');
    views.publish(C1.key, aSummary('19', '7'));
    assert.equal(freeCpu(views), 4000);
  });

  it('holds no more once the summary shows the delegate', () => {
    const views = viewsOfC1();
    views.assume(C1.key, 'pod', aPodOf('3'));
    views.scheduled(C1.key, 'pod', '20');
    views.publish(C1.key, aSummary('20', '5'));
    assert.equal(freeCpu(views), 5000);
    assert.equal(views.ledger.size, 0);
  });

  it('holds no more when it hears of the delegate only after the summary that shows it', () => {
    const views = viewsOfC1();
    views.assume(C1.key, 'pod', aPodOf('3'));
    views.publish(C1.key, aSummary('20', '5'));
    assert.equal(freeCpu(views), 2000);
    views.scheduled(C1.key, 'pod', '18');
    assert.equal(freeCpu(views), 5000);
  });

  it('shows no capacity of a target that takes its summary back', () => {
    const views = viewsOfC1();
    views.publish(C1.key, undefined);
    assert.deepEqual([...views.snapshots()], [C1]);
  });

  it('forgets a target that was removed, with all that was held there', () => {
    const views = viewsOfC1();
    views.assume(C1.key, 'pod', aPodOf('1'));
    views.remove(C1.key);
    assert.deepEqual([...views.snapshots()], []);
    assert.equal(views.ledger.size, 0);
    views.publish(C1.key, aSummary('30')); // a late word of it
    assert.deepEqual([...views.snapshots()], []);
  });
});

describe('laws of views', () => {
  const event = fc.record({
    kind: fc.constantFrom('assume', 'release', 'look', 'publish'), uid: fc.constantFrom('1', '2', '3'),
    cpu: fc.nat(4).map(String),
  });

  it('a view kept up step by step has the sums of one computed anew, and is the published one once nothing is held',
    () => {
    fc.assert(
      fc.property(fc.array(event), (events) => {
        const views = viewsOfC1();
        let published = aSummary('10');
        for (const { kind, uid, cpu } of events) {
          if (kind === 'assume') views.assume(C1.key, uid, aPodOf(cpu));
          if (kind === 'release') views.release(C1.key, uid);
          if (kind === 'look') freeCpu(views);
          if (kind === 'publish') views.publish(C1.key, (published = aSummary('11', cpu)));
        }
        const anew = toTargetCapacity(published);
        for (const { requirements } of views.ledger.on(C1.key)) anew.addPod(requirements);
        assert.deepEqual(views.snapshots()[0]?.capacity?.free, anew.free);
        for (const uid of ['1', '2', '3']) views.releaseEverywhere(uid);
        assert.equal(views.ledger.size, 0);
        assert.deepEqual(views.snapshots()[0]?.capacity?.toSummary(), toTargetCapacity(published).toSummary());
      }),
    );
  });

  it('every change of a target, and no other, makes another snapshot of it', () => {
    const views = viewsOfC1();
    views.update(identityOf('c2'), undefined);
    const [other] = views.snapshots().slice(1);
    let last = views.snapshots()[0];
    const changes = [
      () => views.assume(C1.key, 'pod', aPodOf('1')),
      () => views.release(C1.key, 'pod'), () => views.publish(C1.key, aSummary('12')),
      () => views.update(C1, { reason: 'Unreachable', message: 'm' }), () => views.publish(C1.key, undefined),
    ];
    for (const change of changes) {
      change();
      assert.notEqual(views.snapshots()[0], last);
      last = views.snapshots()[0];
    }
    views.release(C1.key, 'never held');
    assert.equal(views.snapshots()[0], last);
    assert.equal(views.snapshots()[1], other);
  });

  it('shows targets in the order of their keys, whenever they came', () => {
    const names = fc.shuffledSubarray(['a', 'b', 'c', 'd'], { minLength: 2 });
    fc.assert(
      fc.property(names, (names) => {
        const views = new TargetViews();
        for (const name of names) views.update(identityOf(name), undefined);
        views.remove(identityOf(names[0] ?? '').key);
        assert.deepEqual(views.snapshots().map(({ nodeName }) => nodeName), names.slice(1).toSorted().map(
          (name) => `admiralty-${name}`,
        ));
      }),
    );
  });
});
