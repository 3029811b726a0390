import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterTarget, Target } from '../../../../api/kinds/cluster-target.ts';
import type { Node, StringMap } from '../../../../api/objects/core.ts';
import { policiesScreen, type SeenPolicies } from '../../../../dashboard/views/policies-view.ts';
import type { SeenSource } from '../../../../dashboard/views/targets-view.ts';
import type { PolicyRow } from '../../../../dashboard/wire/placement-rows.ts';
import { nodeOfTarget, seenSource, shownPod } from '../../../support/objects/seen-pods.ts';
import { seenPolicies, shownClusterPolicy, shownPolicy } from '../../../support/objects/seen-policies.ts';

const read = <T>(...records: T[]) => ({ kind: 'read' as const, records });
const forbidden = { kind: 'forbidden', message: 'you may not' } as const;
const select = (region: string) => ({ matchLabels: { region } });
const aTarget = (name: string, labels: StringMap, namespace?: string): ClusterTarget & Target => ({
  metadata: { name, labels, ...(namespace !== undefined && { namespace }) }, spec: {},
  status: { virtualNode: nodeOfTarget(name) },
});
const node = (name: string): Node => ({ metadata: { name: nodeOfTarget(name) } });
const whole: Partial<SeenSource> = {
  clusterTargets: read(aTarget('us', { region: 'us' }), aTarget('eu', { region: 'eu' }), aTarget('new', {})),
  targets: read(aTarget('own', {}, 'shop'), aTarget('others', {}, 'lab')),
  nodes: read(node('eu'), node('us'), node('own'), node('others')),
};
const pods = [
  shownPod({ name: 'web-1', labels: { app: 'web' } }),
  shownPod({ name: 'db-1', labels: { app: 'db', 'multicluster.admiralty.io/app': 'web' } }),
  shownPod({ namespace: 'lab', name: 'web-1', labels: { app: 'web' } }),
];
const screenOf = (seen: SeenPolicies, more: Partial<SeenSource> = {}, text?: string) =>
  policiesScreen(seenSource(pods, { ...whole, ...more }), seen, { text });
const rowOf = (seen: SeenPolicies, more: Partial<SeenSource> = {}): PolicyRow => {
  const [row] = screenOf(seen, more)?.rows ?? [];
  assert.ok(row !== undefined);
  return row;
};

describe('a policy on the screen', () => {
  it('shows what it selects now, what it asks for, and each target that it excludes', () => {
    const seen = seenPolicies([shownPolicy({ podSelector: { matchLabels: { app: 'web' } }, require: select('eu') })]);
    const excluded = (target: string) => ({
      target, reason: 'PolicyRequires',
      message: 'PlacementPolicy shop/in-europe requires targets with region=eu; label the ClusterTarget or Target if ' +
        'it qualifies',
    });
    assert.deepEqual(screenOf(seen), {
      screen: 'policies', total: 1, unreadable: [], rows: [{
        kind: 'PlacementPolicy', namespace: 'shop', name: 'in-europe', state: 'Ready', isReady: true,
        message: 'the policy is in force', selects: 'pods with app=web', rules: ['requires targets with region=eu'],
        pods: 1, namespaces: 1, excluded: [excluded('shop/own'), excluded('us')], left: ['eu'],
      }],
    });
  });

  it('of the cluster counts pods of all namespaces, and concerns all targets', () => {
    const { pods: selected, namespaces, left, selects } =
      rowOf(seenPolicies([], { clusterPolicies: read(shownClusterPolicy({})) }));
    assert.deepEqual([selected, namespaces, selects], [3, 2, 'all pods']);
    assert.deepEqual(left, ['eu', 'lab/others', 'shop/own', 'us']);
  });

  it('selects namespaces by their labels', () => {
    const clusterPolicies = read(shownClusterPolicy({ namespaceSelector: { matchLabels: { team: 'a' } } }));
    const namespaces = read({ metadata: { name: 'lab', labels: { team: 'a' } } });
    const row = rowOf(seenPolicies([], { clusterPolicies, namespaces }));
    assert.deepEqual([row.pods, row.namespaces, row.selects], [1, 1, 'all pods in namespaces with team=a']);
  });

  it('says each thing that it asks for', () => {
    const rules = rowOf(seenPolicies([shownPolicy({
      forbid: select('us'), tiers: [{ targets: select('eu') }, { targets: {} }], failover: 'Fenced', failback: 'Never',
      spread: [{ topologyKey: 'region' }], weights: { rtt: 3, cost: 0 },
      overrides: [{ targets: select('eu'), patch: [] }],
    })])).rules;
    assert.deepEqual(rules, [
      'forbids targets with region=us', 'tiers: region=eu, then everything', 'spreads over region',
      'weights: rtt 3, cost 0', 'overrides pods in region=eu', 'failover: Fenced', 'failback: Never',
    ]);
    const replicas = { shares: [{ targets: select('eu'), weight: 1 }, { targets: select('us'), weight: 2 }] };
    assert.deepEqual(rowOf(seenPolicies([shownPolicy({ replicas })])).rules, ['shares: region=eu; region=us']);
  });

  it('that is invalid says why, and what it blocks', () => {
    const spec = { require: { matchExpressions: [{ key: 'a', operator: 'Near' }] } } as never;
    const { state, isReady, message, excluded, pods: selected } = rowOf(seenPolicies([shownPolicy(spec)]));
    assert.deepEqual([state, isReady, excluded, selected], ['Invalid', false, undefined, 2]);
    assert.notEqual(message, undefined);
  });

  it('that the scheduler has not read, or that leaves no target, is not Ready', () => {
    const policy = shownPolicy({});
    const { status: _status, ...unread } = policy;
    assert.deepEqual(rowOf(seenPolicies([unread])).state, 'Unknown');
    assert.match(rowOf(seenPolicies([unread])).message ?? '', /isthmus status/);
    const no = { type: 'Ready', status: 'False', reason: 'NoTargetSelected', message: 'none' } as const;
    const { state, message } = rowOf(seenPolicies([{ ...policy, status: { conditions: [no] } }]));
    assert.deepEqual([state, message], ['NoTargetSelected', 'none']);
  });
});

describe('the screen of policies', () => {
  const several = seenPolicies([shownPolicy({}, { name: 'web' }), shownPolicy({}, { name: 'db' })], {
    clusterPolicies: read(shownClusterPolicy({})),
  });

  it('shows all in order of their names, and those whose name contains a text', () => {
    assert.deepEqual(screenOf(several)?.rows.map(({ name }) => name), ['everywhere', 'db', 'web']);
    assert.deepEqual(screenOf(several, {}, 'SHOP/w')?.rows.map(({ name }) => name), ['web']);
    assert.equal(screenOf(several, {}, 'SHOP/w')?.total, 1);
  });

  it('knows nothing of what cannot be read, and says so', () => {
    const noPods = rowOf(several, { pods: forbidden });
    assert.deepEqual([noPods.pods, noPods.namespaces], [undefined, undefined]);
    const noNodes = rowOf(several, { nodes: forbidden });
    assert.deepEqual([noNodes.excluded, noNodes.left], [undefined, undefined]);
    assert.deepEqual(screenOf(several, { nodes: forbidden, pods: forbidden })?.unreadable.map(({ what }) => what), [
      'nodes', 'pods',
    ]);
    const hidden = screenOf(seenPolicies([], { policies: forbidden, clusterPolicies: forbidden }));
    assert.deepEqual(hidden?.unreadable.map(({ what }) => what), ['placementpolicies', 'clusterplacementpolicies']);
  });

  it('misses labels of namespaces only where a policy selects by them', () => {
    assert.deepEqual(screenOf({ ...several, namespaces: forbidden })?.unreadable, []);
    const clusterPolicies = read(shownClusterPolicy({ namespaceSelector: { matchLabels: { team: 'a' } } }));
    const screen = screenOf(seenPolicies([], { clusterPolicies, namespaces: forbidden }));
    assert.deepEqual(screen?.unreadable.map(({ what }) => what), ['namespaces']);
    assert.equal(screen?.rows[0]?.pods, undefined);
  });

  it('waits until all was read once', () => {
    for (const name of ['policies', 'clusterPolicies', 'namespaces'] as const) {
      assert.equal(screenOf({ ...several, [name]: { kind: 'reading' } }), undefined, name);
    }
    for (const name of ['pods', 'nodes', 'targets', 'clusterTargets'] as const) {
      assert.equal(screenOf(several, { [name]: { kind: 'reading' } }), undefined, name);
    }
  });
});
