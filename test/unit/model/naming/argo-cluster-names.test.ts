import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { RegistryChoice } from '../../../../api/registry/registry-choice.ts';
import type { DiscoveredCluster, EntryState, TargetDiscovery } from '../../../../api/registry/target-discovery.ts';
import { argoClusterNames, toNamedTarget, type NamedTarget } from '../../../../model/naming/argo-cluster-names.ts';

const discovery = (clusters: readonly DiscoveredCluster[], from: RegistryChoice = { argoCD: {} }): TargetDiscovery =>
  ({ metadata: { name: 'd' }, spec: { from, namespaces: ['argocd'] }, status: { clusters } });
const entry = (name: string, state: EntryState, more: Partial<DiscoveredCluster> = {}): DiscoveredCluster =>
  ({ entry: `Secret argocd/${name}`, name, state, ...more });
const target = (more: Partial<NamedTarget> = {}): NamedTarget =>
  ({ name: 'eu', isSelf: false, clusterId: 'id-eu', ...more });

describe('the name that Argo CD knows a target by', () => {
  const rows: readonly (readonly [string, NamedTarget, readonly TargetDiscovery[], string | undefined])[] = [
    ['is that of the entry that it was made of', target(), [discovery([entry('EU West', 'Target', { target: 'eu' })])],
      'EU West'],
    ['is that of another entry for the same cluster, if it was made by hand', target(),
      [discovery([entry('Hand', 'Duplicate', { clusterID: 'id-eu' })])], 'Hand'],
    ['is rather that of its own entry', target(), [discovery([
      entry('A', 'Duplicate', { clusterID: 'id-eu' }), entry('Z', 'Target', { target: 'eu', clusterID: 'id-eu' }),
    ])], 'Z'],
    ['of two is the first', target(), [discovery([
      entry('b', 'Duplicate', { clusterID: 'id-eu' }), entry('a', 'Duplicate', { clusterID: 'id-eu' }),
    ])], 'a'],
    ['is in-cluster for the cluster itself', target({ isSelf: true }), [discovery([])], 'in-cluster'],
    ['is that of its Secret where the cluster itself has one', target({ isSelf: true }),
      [discovery([entry('home', 'ThisCluster')])], 'home'],
    ['is unknown where another registry has the cluster', target(),
      [discovery([entry('EU', 'Target', { target: 'eu' })], { clusterAPI: {} })], undefined],
    ['is unknown where Argo CD has none for it', target(),
      [discovery([entry('https://eu:6443', 'Target', { target: 'eu', unnamed: true })])], undefined],
    ['is in-cluster where the Secret of the cluster itself has none', target({ isSelf: true }),
      [discovery([entry('https://kubernetes.default.svc', 'ThisCluster', { unnamed: true })])], 'in-cluster'],
    ['is unknown where another cluster has its name', target(),
      [discovery([entry('eu', 'Duplicate', { clusterID: 'id-us' })])], undefined],
    ['is unknown without the cluster\'s UID', target({ clusterId: undefined }),
      [discovery([entry('eu', 'Duplicate')])], undefined],
    ...(['Left', 'Held'] as const).map((state) => [
      `stays known for an entry that is ${state}`, target(), [discovery([entry('EU', state, { target: 'eu' })])], 'EU',
    ] as const),
    ...(['Proposed', 'Refused', 'Unreachable'] as const).map((state) => [
      `is unknown for an entry that is ${state}`, target(),
      [discovery([entry('eu', state, { target: 'eu', clusterID: 'id-eu' })])], undefined,
    ] as const),
    ['is unknown before the registry was read', target(),
      [{ metadata: {}, spec: { from: { argoCD: {} } } }], undefined],
  ];
  for (const [what, one, discoveries, expected] of rows) {
    it(what, () => assert.equal(argoClusterNames([one], discoveries).get('eu'), expected));
  }

  it('does not depend on the order of entries', () => {
    const entries = fc.array(fc.record({
      name: fc.constantFrom('a', 'b', 'c'), state: fc.constantFrom('Target', 'Duplicate', 'Left'),
      target: fc.constantFrom('eu', 'us'), clusterID: fc.constantFrom('id-eu', 'id-us'),
    }), { maxLength: 6 });
    fc.assert(fc.property(entries, (drawn) => {
      const all = drawn.map(({ name, state, ...more }) => entry(name, state as EntryState, more));
      assert.deepEqual(
        argoClusterNames([target()], [discovery(all)]), argoClusterNames([target()], [discovery(all.toReversed())]),
      );
    }));
  });
});

it('a target is projected from its object', () => {
  const status = { clusterID: 'id-eu' };
  assert.deepEqual(toNamedTarget({ metadata: { name: 'eu' }, spec: {}, status }), target());
  assert.equal(toNamedTarget({ metadata: { name: 'eu' }, spec: { self: true } }).isSelf, true);
});
