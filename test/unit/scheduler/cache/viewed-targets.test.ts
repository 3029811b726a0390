// Which targets the scheduler sees, and why one gets no pods now.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { targetKey, type TargetRef } from '../../../../model/naming/target-ref.ts';
import { TargetViews } from '../../../../scheduler/cache/target-views.ts';
import { ViewedTargets, type ViewedClusters } from '../../../../scheduler/cache/viewed-targets.ts';
import type { TargetCluster } from '../../../../targets/target-cluster.ts';

interface Told {
  ready: boolean;
  /** Its API server has refused or ended connections. */
  gone?: boolean;
  terminating?: boolean;
  hasLeft?: boolean;
}

/** Targets as a test tells them. */
function aWorld(t: TestContext, refs: readonly TargetRef[]) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let [now, changes] = [1_000, 0];
  t.mock.method(performance, 'now', () => now);
  const told = new Map<string, Told>(refs.map((ref) => [targetKey(ref), { ready: true }]));
  const of = (ref: TargetRef): Told => told.get(targetKey(ref)) ?? { ready: false };
  const clusters = refs.map((ref) => ({
    ref, key: targetKey(ref), nodeName: `admiralty-${ref.name}`, session: undefined,
    get availability() {
      return of(ref).ready ? { kind: 'ready' } : { kind: 'unavailable', reason: 'Unreachable', message: 'it is away' };
    },
    get serverHealth() {
      return { isRefusing: of(ref).gone === true };
    },
  })) as unknown as readonly TargetCluster[];
  const seen = {
    targets: {
      all: () => clusters, get: (key: string) => clusters.find((one) => one.key === key),
      object: (ref: TargetRef) => ({ ref, labels: {}, spec: {}, terminating: false, hasLeft: false, ...of(ref) }),
    },
    inputs: { nodes: { get: () => undefined } },
  };
  const views = new TargetViews();
  const viewed = new ViewedTargets(seen as unknown as ViewedClusters, views, () => (changes += 1));
  const reasonOf = (ref: TargetRef) => [...views.snapshots()].find(({ key }) =>
    key === targetKey(ref))?.unavailable?.reason;
  const note = (ref: TargetRef, change: Partial<Told>) => {
    Object.assign(of(ref), change);
    viewed.noteHealth(clusters.find(({ key }) => key === targetKey(ref))!);
  };
  const restart = (ref: TargetRef, ms: number) => {
    note(ref, { ready: true });
    note(ref, { ready: false, gone: true });
    now += ms;
    note(ref, { ready: true, gone: false });
  };
  const pass = (ms: number) => {
    now += ms;
    t.mock.timers.tick(ms);
  };
  return { viewed, views, note, restart, reasonOf, pass, changes: () => changes, now: () => now };
}

const EU: TargetRef = { kind: 'ClusterTarget', name: 'eu' };
const US: TargetRef = { kind: 'ClusterTarget', name: 'us' };
const TENANTS: TargetRef = { kind: 'Target', namespace: 'team-a', name: 'own' };
const OTHERS: TargetRef = { kind: 'Target', namespace: 'team-b', name: 'own' };

describe('a target', () => {
  it('gets pods while it is ready', (t) => {
    const { note, reasonOf } = aWorld(t, [EU]);
    note(EU, { ready: true });
    assert.equal(reasonOf(EU), undefined);
    note(EU, { ready: false });
    assert.equal(reasonOf(EU), 'Unreachable');
  });
  it('gets none while it is removed, or has left its registry', (t) => {
    const { note, reasonOf } = aWorld(t, [EU, US]);
    note(EU, { terminating: true });
    note(US, { hasLeft: true });
    assert.deepEqual([reasonOf(EU), reasonOf(US)], ['Removing', 'LeftRegistry']);
  });
  it('is not seen any more once it was removed', (t) => {
    const { viewed, views, note } = aWorld(t, [EU]);
    note(EU, { ready: true });
    viewed.remove(targetKey(EU));
    assert.deepEqual([...views.snapshots()], []);
  });
  it('is lost since it was not ready', (t) => {
    const { viewed, note, pass, now } = aWorld(t, [EU]);
    note(EU, { ready: false });
    pass(700);
    assert.equal(viewed.outageMs(targetKey(EU), now()), 700);
    note(EU, { ready: true });
    assert.equal(viewed.outageMs(targetKey(EU), now()), undefined);
  });
});

describe('a target that was restarted', () => {
  it('is avoided for as long as it was away, while another one may take its pods, and is then looked at again', (t) => {
    const { restart, reasonOf, pass, changes } = aWorld(t, [EU, US]);
    restart(EU, 5_000);
    assert.equal(reasonOf(EU), 'Restarted');
    pass(4_999);
    assert.deepEqual([reasonOf(EU), changes()], ['Restarted', 0]);
    pass(1);
    assert.deepEqual([reasonOf(EU), changes()], [undefined, 1]);
  });
  it('gets pods at once when there is no other, or none that is ready', (t) => {
    const alone = aWorld(t, [EU]);
    alone.restart(EU, 5_000);
    assert.equal(alone.reasonOf(EU), undefined);
  });
  it('gets pods when the other one is not ready, or was restarted as well', (t) => {
    const { restart, note, reasonOf } = aWorld(t, [EU, US]);
    note(US, { ready: false });
    restart(EU, 20_000);
    assert.equal(reasonOf(EU), undefined);
    restart(US, 5_000);
    assert.deepEqual([reasonOf(EU), reasonOf(US)], [undefined, undefined]);
  });
  it('of the cluster gets pods when only a tenant has another: not all pods may go there', (t) => {
    const { restart, note, reasonOf } = aWorld(t, [EU, TENANTS]);
    note(TENANTS, { ready: true });
    restart(EU, 5_000);
    assert.equal(reasonOf(EU), undefined);
  });
  it('of a tenant is avoided for a target of the cluster, not for one of another tenant', (t) => {
    const shared = aWorld(t, [TENANTS, EU]);
    shared.note(EU, { ready: true });
    shared.restart(TENANTS, 5_000);
    assert.equal(shared.reasonOf(TENANTS), 'Restarted');
  });
  it('of a tenant gets pods when only another tenant has one', (t) => {
    const { restart, note, reasonOf } = aWorld(t, [TENANTS, OTHERS]);
    note(OTHERS, { ready: true });
    restart(TENANTS, 5_000);
    assert.equal(reasonOf(TENANTS), undefined);
  });
});
