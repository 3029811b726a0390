// What entries of a registry become, for any registry: laws that hold whatever it lists, in whatever order.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { UNCHECKED, type AccessResult } from '../../../../discovery/access/access-result.ts';
import type { RegisteredAccess, RegisteredCluster } from '../../../../discovery/entry/registered-cluster.ts';
import type { KnownTarget } from '../../../../discovery/plan/known-target.ts';
import { placeEntries, type EntryFacts, type PlacedEntry } from '../../../../discovery/plan/place-entries.ts';

const OWN = 'own-cluster';
const DISCOVERY = 'argo';
const IDS = ['id-1', 'id-2', 'id-3', OWN];

const USABLE: RegisteredAccess = { kind: 'kubeconfig', text: 'K' };
const access: fc.Arbitrary<RegisteredAccess> = fc.oneof(
  { weight: 5, arbitrary: fc.constant(USABLE) },
  fc.constantFrom<RegisteredAccess[]>(
    { kind: 'waiting', message: 'no Secret' }, { kind: 'refused', message: 'a command' }, { kind: 'this-cluster' },
  ),
);
const result: fc.Arbitrary<AccessResult> = fc.oneof(
  fc.constantFrom(UNCHECKED, { kind: 'refused', message: 'no' } as const,
    { kind: 'unanswered', message: '-' } as const),
  {
    weight: 4,
    arbitrary: fc.option(fc.constantFrom(...IDS), { nil: undefined })
      .map((clusterId) => ({ kind: 'answered', clusterId, kubeconfig: `of ${clusterId}` }) as const),
  },
);
const entries = fc.uniqueArray(
  fc.record({ entry: fc.constantFrom('e1', 'e2', 'e3', 'e4', 'e5'), name: fc.constantFrom('eu', 'EU', 'us', '!'),
    access }),
  { selector: ({ entry }) => entry, maxLength: 5 },
).map((all): readonly RegisteredCluster[] => all.map((one) => ({ ...one, labels: {} })));
const target = fc.record({
  name: fc.constantFrom('eu', 'us', 'other'), isOurs: fc.boolean(), terminating: fc.boolean(),
  entry: fc.constantFrom('e1', 'e2', 'gone'), clusterId: fc.option(fc.constantFrom(...IDS), { nil: undefined }),
});
const targets = fc.uniqueArray(target, { selector: ({ name }) => name,
  maxLength: 3 }).map((all): readonly KnownTarget[] =>
  all.map(({ isOurs, entry, ...rest }) => ({
    ...rest, uid: rest.name, ...(isOurs && { discoveredBy: DISCOVERY, entry }),
  })));
const results = fc.array(result, { minLength: 5, maxLength: 5 });
const spec = fc.record({
  policy: fc.constantFrom<('Propose' | 'Automatic')[]>('Propose', 'Automatic') as fc.Arbitrary<'Propose'>,
  approved: fc.subarray(['eu', 'us']),
}, { noNullPrototype: true }) as unknown as fc.Arbitrary<EntryFacts['spec']>;
const facts: fc.Arbitrary<EntryFacts> = fc.record({ clusters: entries, targets, results, spec }).map(
  ({ results: found, ...rest }) => ({
    ...rest, discovery: DISCOVERY, ownClusterId: OWN,
    resultOf: (entry) => found[Number(entry.slice(1)) - 1] ?? UNCHECKED,
  }),
);

const isNew = ({ state, existing }: PlacedEntry): boolean => state === 'Target' && existing === undefined;
const said = (placed: readonly PlacedEntry[]) => placed.map(({ cluster, ...rest }) =>
  ({ entry: cluster.entry, ...rest }));

describe('entries of a registry', () => {
  const law = (what: string, holds: (placed: readonly PlacedEntry[], given: EntryFacts) => void) =>
    it(what, () => fc.assert(fc.property(facts, (given) => holds(placeEntries(given), given)), { numRuns: 300 }));

  law('have one outcome each', (placed, { clusters }) => assert.deepEqual(
    placed.map(({ cluster }) => cluster.entry), clusters.map(({ entry }) => entry).toSorted(),
  ));
  law('become the same in any order of the registry', (placed, given) =>
    assert.deepEqual(said(placeEntries({ ...given, clusters: given.clusters.toReversed() })), said(placed)));
  law('never become two targets of one name, nor one of a name that somebody else has',
    (placed, { targets: known }) => {
    const made = placed.filter(isNew).map(({ target: name }) => name);
    assert.equal(new Set(made).size, made.length);
    for (const name of made) assert.equal(known.some((one) => one.name === name), false, name);
  });
  law('never become a second target of a cluster that is known', (placed, { targets: known }) => {
    const ids = placed.filter(isNew).flatMap(({ clusterId }) => clusterId ?? []);
    assert.equal(new Set(ids).size, ids.length);
    const there = known.filter(({ terminating }) => !terminating).map(({ clusterId }) => clusterId);
    for (const id of ids) assert.equal(there.includes(id), false, id);
  });
  law('never become a target of this very cluster', (placed) => {
    for (const { clusterId } of placed.filter(isNew)) assert.notEqual(clusterId, OWN);
  });
  law('never become a target before an API server has accepted their credentials', (placed, { resultOf }) => {
    for (const { cluster } of placed.filter(isNew)) {
      assert.deepEqual([cluster.access.kind, resultOf(cluster.entry).kind], ['kubeconfig', 'answered']);
    }
  });
  law('become no target without an approval where the policy asks for one', (placed, given) => {
    if (given.spec.policy !== 'Propose') return;
    for (const { cluster, state, existing } of placed) {
      if (state !== 'Target' || existing?.entry === cluster.entry) continue; // new, or that of an entry that is gone
      assert.equal(given.spec.approved?.includes(cluster.name), true);
    }
  });
  law('that are a target stay that target, whatever their registry says', (placed, { targets: known }) => {
    for (const one of known.filter(({ discoveredBy, terminating }) => discoveredBy === DISCOVERY && !terminating)) {
      const ofEntry = placed.find(({ cluster }) => cluster.entry === one.entry);
      if (ofEntry !== undefined) assert.equal(ofEntry.state, 'Target');
    }
  });
  law('give a target no credentials of another cluster than it had', (placed) => {
    for (const { existing, kubeconfig, clusterId } of placed) {
      if (existing?.clusterId !== undefined && kubeconfig !== undefined) assert.equal(clusterId, existing.clusterId);
    }
  });
  law('say why they are no target', (placed) => {
    for (const { state, message } of placed) {
      if (['Waiting', 'Refused', 'Unreachable', 'Duplicate',
        'Proposed'].includes(state)) assert.ok((message ?? '') !== '');
    }
  });
});
