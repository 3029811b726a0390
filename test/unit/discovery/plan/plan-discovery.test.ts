import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TargetDiscoverySpec } from '../../../../api/registry/target-discovery.ts';
import type { AccessResult } from '../../../../discovery/access/access-result.ts';
import { UNCHECKED } from '../../../../discovery/access/access-result.ts';
import type { RegisteredAccess, RegisteredCluster } from '../../../../discovery/entry/registered-cluster.ts';
import type { RegistryReading } from '../../../../discovery/entry/registry-reading.ts';
import { CORDON_DELAY_MS } from '../../../../discovery/plan/departures.ts';
import { toDiscoveryStatus } from '../../../../discovery/plan/discovery-status.ts';
import { isTried } from '../../../../discovery/plan/place-entries.ts';
import { toKnownTarget, type KnownTarget } from '../../../../discovery/plan/known-target.ts';
import { planDiscovery, type DiscoveryFacts } from '../../../../discovery/plan/plan-discovery.ts';
import { toClusterTarget } from '../../../../discovery/plan/target-objects.ts';
import type { Command } from '../../../../model/objects/plan.ts';

const NOW = Date.parse('2026-11-25T12:00:00Z');
const NAMESPACE = 'isthmus-system-targets';
const answered = (clusterId: string | undefined, kubeconfig = 'K'): AccessResult =>
  ({ kind: 'answered', clusterId, kubeconfig });
const cluster = (name: string, access: RegisteredAccess = { kind: 'kubeconfig', text: 'K' }): RegisteredCluster =>
  ({ entry: `Secret argocd/${name}`, name, labels: { env: 'prod', 'kubernetes.io/x': 'y' }, access });

interface World {
  readonly clusters?: readonly RegisteredCluster[];
  readonly reading?: RegistryReading;
  readonly results?: Readonly<Record<string, AccessResult>>;
  readonly targets?: readonly KnownTarget[];
  readonly kubeconfigs?: Readonly<Record<string, string>>;
  readonly spec?: Partial<TargetDiscoverySpec>;
  readonly seenAt?: ReadonlyMap<string, number>;
}

function facts(world: World): DiscoveryFacts {
  const { clusters = [], results = {}, targets = [], kubeconfigs = {}, spec = {} } = world;
  return {
    discovery: {
      metadata: { name: 'argo', generation: 1 }, spec: { from: { argoCD: {} }, namespaces: ['argocd'], ...spec },
    },
    reading: world.reading ?? { kind: 'read', clusters, isComplete: true },
    resultOf: (entry) => results[entry.replace('Secret argocd/', '')] ?? UNCHECKED,
    targets, kubeconfigOf: (name) => kubeconfigs[name], ownClusterId: 'own', namespace: NAMESPACE, now: NOW,
    seenAt: world.seenAt ?? new Map(targets.map(({ name }) => [name, NOW - CORDON_DELAY_MS])),
  };
}

/** A target that discovery has made. */
function made(name: string, clusterId: string | undefined, more: Partial<KnownTarget> = {}): KnownTarget {
  const object = toClusterTarget({
    name, cluster: cluster(name), clusterId, template: {}, discovery: 'argo', namespace: NAMESPACE,
  });
  return { ...toKnownTarget({ ...object, metadata: { ...object.metadata, uid: `uid-${name}` } }), ...more };
}

const byHand = (name: string, clusterId: string): KnownTarget => ({ name, uid: name, terminating: false, clusterId });

function wordOf(command: Command): string {
  return command.kind === 'bind' ? 'bind' : `${command.kind} ${command.type.kind}`;
}

const EU: World = { clusters: [cluster('eu')], results: { eu: answered('1') } };
const UNKNOWN: World = { targets: [made('eu', undefined)], kubeconfigs: { eu: 'K' } };
const KEPT: World = { targets: [made('eu', '1')], kubeconfigs: { eu: 'K' } };

/** What becomes of each entry, and what is written. */
function decide(world: World): readonly string[] {
  const plan = planDiscovery(facts(world));
  const departed = plan.departures.map(({ target, kind }) => `${target.name}: ${kind}`);
  return [
    ...plan.placed.map(({ cluster: { name }, state, target }) => [`${name}: ${state}`, target ?? ''].join(' ').trim()),
    ...departed, ...plan.writes.map(({ target, plan: commands }) => `${target} <- ${commands.map(wordOf).join(', ')}`),
  ];
}

describe('what becomes of an entry', () => {
  it('is said where a target keeps the credentials before, since another one has its cluster', () => {
    const results = { eu: answered('2', 'K2') };
    const { placed } =
      planDiscovery(facts({ ...EU, ...UNKNOWN, targets: [made('eu', undefined), byHand('mine', '2')], results }));
    assert.deepEqual(placed.map(({ message }) => message), [
      'the credentials before are kept: ClusterTarget mine points to the same cluster',
    ]);
  });

  const rows: readonly (readonly [string, World, readonly string[]])[] = [
    ['it is checked first', { clusters: [cluster('eu')] }, ['eu: Connecting']],
    ['it becomes a target', { ...EU }, ['eu: Target eu', 'eu <- create ClusterTarget']],
    [
      'its Secret follows when the target is there',
      { ...EU, targets: [made('eu', '1')] },
      ['eu: Target eu', 'eu <- apply Secret'],
    ],
    [
      'nothing more is to do',
      { ...EU, ...KEPT }, ['eu: Target eu'],
    ],
    [
      'new credentials that are accepted are swapped',
      { ...EU, ...KEPT, results: { eu: answered('1', 'K2') } },
      ['eu: Target eu', 'eu <- apply Secret'],
    ],
    [
      'new credentials that are not accepted are not',
      {
        clusters: [cluster('eu')], results: { eu: { kind: 'unanswered', message: '401' } }, targets: [made('eu', '1')],
        kubeconfigs: { eu: 'K' },
      },
      ['eu: Target eu'],
    ],
    [
      'another cluster in its place is not taken for it',
      { ...EU, ...KEPT, results: { eu: answered('2', 'K2') } },
      ['eu: Target eu'],
    ],
    [
      'a target whose cluster is unknown is not led to this cluster',
      { ...EU, ...UNKNOWN, results: { eu: answered('own', 'K2') } },
      ['eu: Target eu'],
    ],
    [
      'nor to one that has a target',
      { ...EU, ...UNKNOWN, targets: [made('eu', undefined), byHand('mine', '2')],
        results: { eu: answered('2', 'K2') } },
      ['eu: Target eu'],
    ],
    [
      'but to its own, once that says which it is',
      { ...EU, ...UNKNOWN, results: { eu: answered('1', 'K2') } },
      ['eu: Target eu', 'eu <- apply ClusterTarget, apply Secret'],
    ],
    [
      'one alone of several that turn out to be one cluster at the same time',
      {
        clusters: [cluster('eu'), cluster('us'), cluster('za')],
        targets: [made('eu', undefined), made('us', undefined)], kubeconfigs: { eu: 'K', us: 'K' },
        results: { eu: answered('1', 'K2'), us: answered('1', 'K3'), za: answered('1', 'K4') },
      },
      ['eu: Target eu', 'us: Target us', 'za: Duplicate', 'eu <- apply ClusterTarget, apply Secret'],
    ],
    [
      'a target stays though its registry has no access any more',
      { ...KEPT, clusters: [cluster('eu', { kind: 'waiting', message: 'gone' })] },
      ['eu: Target eu'],
    ],
    [
      'a change of the template is written',
      {
        ...EU, ...KEPT, spec: { target: { labels: { tier: 'gold' } } },
      },
      ['eu: Target eu', 'eu <- apply ClusterTarget'],
    ],
    ['this cluster is none', { clusters: [cluster('me')], results: { me: answered('own') } }, ['me: ThisCluster']],
    [
      'one that a hand-made target leads to is none', {
        clusters: [cluster('eu')], results: { eu: answered('1') }, targets: [byHand('mine', '1')],
      },
      ['eu: Duplicate'],
    ],
    [
      'of two entries of one cluster the first by name is taken',
      { clusters: [cluster('b'), cluster('a')], results: { a: answered('1'), b: answered('1') } },
      ['a: Target a', 'b: Duplicate', 'a <- create ClusterTarget'],
    ],
    [
      'another entry of its cluster takes a target over',
      {
        clusters: [cluster('new')], results: { new: answered('1') }, targets: [made('old', '1')],
        kubeconfigs: { old: 'K' },
      },
      ['new: Target old', 'old <- apply ClusterTarget'],
    ],
    [
      'clusters that cannot be told apart are all taken',
      { clusters: [cluster('a'), cluster('b')], results: { a: answered(undefined), b: answered(undefined) } },
      ['a: Target a', 'b: Target b', 'a <- create ClusterTarget', 'b <- create ClusterTarget'],
    ],
    [
      'it waits for approval', { ...EU, spec: { policy: 'Propose' } },
      ['eu: Proposed'],
    ],
    [
      'it is approved', {
        clusters: [cluster('eu')], results: { eu: answered('1') }, spec: { policy: 'Propose', approved: ['eu'] },
      },
      ['eu: Target eu', 'eu <- create ClusterTarget'],
    ],
    [
      'one that came back takes pods again',
      {
        clusters: [cluster('eu')], results: { eu: answered('1') }, kubeconfigs: { eu: 'K' },
        targets: [made('eu', '1', { leftAt: '2026-11-25T11:59:00Z' })],
      },
      ['eu: Target eu', 'eu <- patch ClusterTarget'],
    ],
    [
      'one that has left gets no new pods', {
        clusters: [cluster('eu')], results: { eu: answered('1') }, targets: [made('eu', '1'), made('us', '2')],
        kubeconfigs: { eu: 'K', us: 'K' },
      },
      ['eu: Target eu', 'us: cordon', 'us <- patch ClusterTarget'],
    ],
    [
      'and is removed later', {
        clusters: [cluster('eu')], results: { eu: answered('1') }, kubeconfigs: { eu: 'K', us: 'K' },
        targets: [made('eu', '1'), made('us', '2', { leftAt: '2026-11-25T11:00:00Z' })],
      },
      ['eu: Target eu', 'us: remove', 'us <- delete ClusterTarget'],
    ],
    [
      'nothing is said of a registry that cannot be read',
      { reading: { kind: 'unread', reason: 'NotServed', message: 'no CRD' }, targets: [made('eu', '1')] }, [],
    ],
    [
      'nothing leaves a registry whose watch is interrupted',
      { reading: { kind: 'read', clusters: [], isComplete: false }, targets: [made('eu', '1'), made('us', '2')] }, [],
    ],
  ];
  for (const [what, world, expected] of rows) it(what, () => assert.deepEqual(decide(world), expected));

  it('never takes a name that somebody else has', () => {
    const [first] = planDiscovery(facts({
      clusters: [cluster('eu')], results: { eu: answered('1') }, targets: [byHand('eu', 'other')],
    })).placed;
    assert.match(first?.target ?? '', /^eu-[0-9a-f]{8}$/);
  });

  it('touches no target of another TargetDiscovery, nor one made by hand', () => {
    const others = [made('eu', '1', { discoveredBy: 'flux' }), byHand('us', '2')];
    assert.deepEqual(decide({ clusters: [], targets: others }), []);
  });
});

describe('a hint', () => {
  const hint = { ...cluster('eu'), hint: 'DNS announces it' };
  const stateOf = (world: World) => {
    const [{ state, message } = {}] = planDiscovery(facts(world)).placed;
    return `${state}: ${message}`;
  };
  const approved = { spec: { policy: 'Propose', approved: ['eu'] } } as const;

  it('is proposed with what is known of it, whatever its access is', () => {
    for (const access of [hint.access, { kind: 'refused', message: 'no' }, { kind: 'this-cluster' }] as const) {
      const state = stateOf({ clusters: [{ ...hint, access }], results: { eu: answered('1') } });
      assert.equal(state, 'Proposed: DNS announces it');
    }
  });

  it('is tried only once it is approved', () => {
    assert.deepEqual(
      [{}, { approved: ['us'] }, { approved: ['eu'] }].map((spec) => isTried(hint, spec)), [false, false, true],
    );
    assert.equal(isTried(cluster('eu'), {}), true);
    assert.equal(stateOf({ clusters: [hint], results: { eu: answered('1') }, ...approved }), 'Target: undefined');
  });

  it('that is gone takes no target along, not even one that is confirmed', () => {
    const reading = { kind: 'read', clusters: [], isComplete: true, areHints: true } as const;
    const { writes, departures } = planDiscovery(facts({
      reading, targets: [made('eu', '1'), made('us', '2')],
      spec: { removal: { afterSeconds: 1, confirmed: ['eu', 'us'] } },
    }));
    assert.deepEqual([writes, departures], [[], []]);
  });
});

describe('the status of a TargetDiscovery', () => {
  const statusOf = (world: World, failures = new Map<string, string>()) => {
    const of = facts(world);
    return toDiscoveryStatus({
      discovery: of.discovery, registry: 'argoCD', reading: of.reading, plan: planDiscovery(of), failures,
      now: new Date(NOW).toISOString(),
    });
  };
  const conditionsOf = (world: World) =>
    statusOf(world).conditions?.map(({ type, status, reason }) => `${type}=${status}/${reason}`);

  it('counts, and says why', () => {
    const status = statusOf({
      clusters: [cluster('eu'), cluster('bad', { kind: 'refused', message: 'it runs a command' })],
      results: { eu: answered('1') },
    });
    assert.deepEqual([status.found, status.targets], [2, 1]);
    assert.deepEqual(status.clusters, [
      { entry: 'Secret argocd/bad', name: 'bad', state: 'Refused', message: 'it runs a command' },
      { entry: 'Secret argocd/eu', name: 'eu', state: 'Target', target: 'eu', clusterID: '1' },
    ]);
  });

  it('names duplicates and what is held', () => {
    assert.deepEqual(
      conditionsOf({ clusters: [cluster('eu')], results: { eu: answered('1') }, targets: [byHand('mine', '1')] }),
      ['Ready=True/Followed', 'RemovalsHeld=False/NothingHeld', 'Duplicates=True/SameCluster'],
    );
    assert.deepEqual(
      conditionsOf({ clusters: [], targets: [made('eu', '1')] }),
      ['Ready=True/Followed', 'RemovalsHeld=True/TooManyLeft', 'Duplicates=False/AllDistinct'],
    );
  });

  it('goes by the registry\'s name of a cluster, and says where it has none', () => {
    const clusters = [cluster('EU West'), { ...cluster('https://us'), unnamed: true } as const];
    const entries = (world: World) =>
      (statusOf(world).clusters ?? []).map(({ name, unnamed, target }) => [name, unnamed, target]);
    const results = { 'EU West': answered('1'), 'https://us': answered('2') };
    const there = [['EU West', undefined, 'eu-west'], ['https://us', true, 'https-us']];
    assert.deepEqual(entries({ clusters, results }), there);
    const [eu, us] = clusters.map((one, index) => toKnownTarget(toClusterTarget({
      name: ['eu-west', 'https-us'][index]!, cluster: one, clusterId: String(index), template: {}, discovery: 'argo',
      namespace: NAMESPACE,
    })));
    assert.deepEqual(
      entries({ clusters: [], targets: [eu!, us!, made('de', '3')] }),
      [['EU West', undefined, 'eu-west'], ['https-us', true, 'https-us'], ['de', undefined, 'de']],
    );
  });

  it('keeps what is known of entries while the registry cannot be read', () => {
    const before = statusOf({ clusters: [cluster('eu')], results: { eu: answered('1') } });
    const of = facts({ reading: { kind: 'unread', reason: 'Forbidden', message: 'no' } });
    const after = toDiscoveryStatus({
      discovery: { ...of.discovery, status: before }, registry: 'argoCD', reading: of.reading, plan: planDiscovery(of),
      failures: new Map(), now: new Date(NOW).toISOString(),
    });
    assert.deepEqual(after.clusters, before.clusters);
    assert.equal(after.conditions?.find(({ type }) => type === 'Ready')?.reason, 'Forbidden');
  });

  it('is the stored one when nothing differs, so that nothing is written', () => {
    const world = { clusters: [cluster('eu')], results: { eu: answered('1') } };
    const before = statusOf(world);
    const of = facts(world);
    const again = toDiscoveryStatus({
      discovery: { ...of.discovery, status: before }, registry: 'argoCD', reading: of.reading, plan: planDiscovery(of),
      failures: new Map(), now: new Date(NOW + 5_000).toISOString(),
    });
    assert.equal(again, before);
  });

  it('tells why a target cannot be written', () => {
    const [entry] = statusOf(
      { clusters: [cluster('eu')], results: { eu: answered('1') } }, new Map([['eu', 'denied']]),
    ).clusters ?? [];
    assert.equal(entry?.message, 'ClusterTarget eu cannot be written: denied');
  });
});
