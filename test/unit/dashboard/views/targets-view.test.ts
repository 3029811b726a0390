import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterTarget, Target } from '../../../../api/kinds/cluster-target.ts';
import type { TargetDiscovery } from '../../../../api/registry/target-discovery.ts';
import type { Node } from '../../../../api/objects/core.ts';
import { proposalsOf, targetsScreen as screenOf, type SeenSource } from '../../../../dashboard/views/targets-view.ts';
import {
  nodeOfTarget, seenDiscoveries, seenSource, shownPod, unschedulable,
} from '../../../support/objects/seen-pods.ts';

const since = '2026-01-01T09:00:00Z';
const ready = { type: 'Ready', status: 'True', lastTransitionTime: since } as const;
const lost =
  { type: 'Ready', status: 'False', reason: 'Unreachable', message: 'start it', lastTransitionTime: since } as const;
const eu: ClusterTarget = {
  metadata: { name: 'eu' }, spec: { prices: { memory: '0.004', cpu: '0.03' } },
  status: {
    virtualNode: nodeOfTarget('eu'), conditions: [ready], rtt: '12ms', delegation: 'PodChaperon',
    free: { cpu: '14', memory: '30Gi', gpu: '2', pods: '90' },
  },
};
const us: Target = {
  metadata: { namespace: 'shop', name: 'us' }, spec: { gateway: { cluster: 'us' } },
  status: { virtualNode: nodeOfTarget('us'), conditions: [lost] },
};
const cordoned: Node = {
  metadata: { name: nodeOfTarget('eu') }, spec: { unschedulable: true },
  status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: since }] },
};
const read = <T>(...records: T[]) => ({ kind: 'read' as const, records });
const whole: Partial<SeenSource> = { clusterTargets: read(eu), targets: read(us), nodes: read(cordoned) };
const targetsScreen = (source: SeenSource) => screenOf(source, seenDiscoveries());
const pods = [
  shownPod({ name: 'a', target: 'ClusterTarget/eu' }),
  shownPod({ name: 'b', target: 'ClusterTarget/eu', phase: 'Pending' }),
  shownPod({ name: 'c', conditions: [unschedulable('no room')] }),
];

describe('the screen of targets', () => {
  it('shows both kinds, with their pods and what is free', () => {
    const screen = targetsScreen(seenSource(pods, whole));
    assert.deepEqual(screen?.targets, [
      {
        name: 'eu', node: nodeOfTarget('eu'), state: 'Ready', isReady: true, isCordoned: true, message: undefined,
        pods: 2, running: 1, freeCpu: '14', freeMemory: '30Gi', freeGpus: '2', rtt: '12ms',
        delegation: 'PodChaperon', prices: 'cpu 0.03, memory 0.004', gateway: undefined, reportedAt: since, since,
      },
      {
        name: 'shop/us', node: nodeOfTarget('us'), state: 'Unreachable', isReady: false, isCordoned: false,
        message: 'start it', pods: 0, running: 0, freeCpu: undefined, freeMemory: undefined, freeGpus: undefined,
        rtt: undefined, delegation: undefined, prices: undefined, gateway: 'us',
        reportedAt: undefined, since,
      },
    ]);
    assert.equal(screen?.waiting, 1);
    assert.deepEqual(screen?.unreadable, []);
  });

  it('shows targets without numbers where pods cannot be read', () => {
    const screen = targetsScreen(seenSource([], { ...whole, pods: { kind: 'forbidden', message: 'you may not' } }));
    assert.deepEqual(screen?.targets.map(({ pods: all, running }) => [all, running]), [
      [undefined, undefined], [undefined, undefined],
    ]);
    assert.equal(screen?.waiting, undefined);
    assert.deepEqual(screen?.unreadable.map(({ what }) => what), ['pods']);
  });

  it('says of each kind that cannot be read that it cannot', () => {
    const failed = { kind: 'failed', message: 'no answer' } as const;
    const screen = targetsScreen(seenSource([], {
      clusterTargets: { kind: 'forbidden', message: 'no' }, targets: failed, nodes: failed, namespace: 'shop',
    }));
    assert.deepEqual(
      screen?.unreadable.map(({ what }) => what), ['clustertargets', 'nodes', 'targets of namespace shop'],
    );
    for (const { advice } of screen?.unreadable ?? []) assert.match(advice, /[.]$/);
  });

  it('shows what was read before, and says that it may be out of date', () => {
    const source = seenSource(pods, whole);
    const clusterTargets = { ...source.clusterTargets, outdated: 'no answer' } as typeof source.clusterTargets;
    const screen = targetsScreen({ ...source, clusterTargets });
    assert.deepEqual(screen?.targets, targetsScreen(source)?.targets);
    assert.deepEqual(
      screen?.unreadable.map(({ what, why }) => [what, why]), [['changes of clustertargets', 'no answer']],
    );
    assert.match(screen?.unreadable[0]?.advice ?? '', /may be out of date/);
  });

  it('waits until all was read once: nothing is shown as empty that is only late', () => {
    for (const name of ['clusterTargets', 'targets', 'nodes', 'pods'] as const) {
      assert.equal(targetsScreen(seenSource(pods, { ...whole, [name]: { kind: 'reading' } })), undefined, name);
    }
  });

  describe('with proposed clusters', () => {
    const entries = [
      { entry: 'Secret argocd/west', name: 'west', state: 'Proposed', clusterID: 'uid-1' },
      { entry: 'Service east', name: 'east', state: 'Proposed', message: 'DNS announces it; it is not authenticated' },
      { entry: 'Secret argocd/ours', name: 'ours', state: 'Target', target: 'ours' },
      { entry: 'Secret argocd/done', name: 'done', state: 'Proposed' },
    ] as const;
    const discovery: TargetDiscovery = {
      metadata: { name: 'argo' }, spec: { from: { argoCD: {} }, policy: 'Propose', approved: ['done'] },
      status: { clusters: entries },
    };

    it('shows those that nobody has approved, by name, and whether the viewer may', () => {
      const screen = screenOf(
        seenSource([], { ...whole, actions: ['cordon'] }), seenDiscoveries(proposalsOf(discovery), ['approve']),
      );
      assert.deepEqual(screen?.proposed, [
        {
          discovery: 'argo', cluster: 'east', entry: 'Service east', clusterId: undefined,
          message: 'DNS announces it; it is not authenticated',
        },
        { discovery: 'argo', cluster: 'west', entry: 'Secret argocd/west', clusterId: 'uid-1', message: undefined },
      ]);
      assert.deepEqual([screen?.proposedTotal, screen?.actions], [2, ['cordon', 'approve']]);
      assert.deepEqual(proposalsOf({ ...discovery, status: {} }), []);
    });

    it('shows fifty of them and says how many there are', () => {
      const many = Array.from({ length: 60 }, (_, index) => ({ ...entries[0], name: `west-${index}` }));
      const proposals = proposalsOf({ ...discovery, status: { clusters: many } });
      const screen = screenOf(seenSource([], whole), seenDiscoveries(proposals));
      assert.deepEqual([screen?.proposed.length, screen?.proposedTotal], [50, 60]);
    });

    it('says that they cannot be read, and waits for them', () => {
      const forbidden = { discoveries: { kind: 'forbidden', message: 'you may not' }, actions: [] } as const;
      const screen = screenOf(seenSource([], whole), forbidden);
      assert.deepEqual([screen?.proposedTotal, screen?.unreadable.map(({ what }) => what)], [0, ['targetdiscoveries']]);
      assert.equal(screenOf(seenSource([], whole), { discoveries: { kind: 'reading' }, actions: [] }), undefined);
    });
  });
});
