// What is chosen for one pod, and the object that is sent: requests of all containers, overrides, fences, rejections
// that end, tiers that open, and what is reserved. The loop around it is tested in scheduling-loop.test.ts.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  ADMISSION_RECORD_ANNOTATION, FENCE_ANNOTATION, PARENT_UID_LABEL, POD_GROUP_LABEL, POD_GROUP_MIN_COUNT_ANNOTATION,
} from '../../../../api/objects/keys.ts';
import type { Container, Pod, PodSpec, StringMap } from '../../../../api/objects/core.ts';
import type { PlacementPolicySpec } from '../../../../api/kinds/placement-policy.ts';
import type { DecisionToLog } from '../../../../scheduler/explain/decision-log.ts';
import { toProxyPodRecord, type ProxyPod } from '../../../../model/proxy/proxy-pod.ts';
import { TargetChooser, type ChooserOptions, type Choice } from '../../../../scheduler/cycle/choose-target.ts';
import { ClusterCache, type ObservedClusters } from '../../../../scheduler/cycle/cluster-cache.ts';
import { SCALE_UP_TIMEOUT_MS } from '../../../../scheduler/cycle/placement.ts';
import {
  annotated, aProxy, labelled, named, withFinalizers, withMetadata, withRequests, withSpec, withUid, type Change,
} from '../../../support/objects/builders.ts';
import { aPolicyIndex, aClusterPolicy } from '../../../support/objects/placement.ts';
import { FakeInformer } from '../../../support/doubles/scheduling-world.ts';

const NOW = 50_000;
const REJECTION = { reason: 'Conflict', message: 'a quota' };
const owned = withMetadata(
  { ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'r', controller: true }] },
);
const SPREAD = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: {} };

interface Room {
  readonly cpu: string;
  readonly labels?: StringMap;
  readonly headroom?: string;
}

/** ClusterTargets with one node each, and one policy. */
function aWorld(t: TestContext, rooms: Readonly<Record<string, Room>>, policy: PlacementPolicySpec = {}) {
  t.mock.method(performance, 'now', () => NOW);
  const proxies = new FakeInformer<ProxyPod>();
  Object.assign(proxies, { by: () => [...proxies.records()] });
  const targets = Object.entries(rooms).map(([name, { labels = {}, headroom }]) => {
    const ref = { kind: 'ClusterTarget', name } as const;
    const spec = headroom === undefined ? {} : { headroom: [{ count: 1,
      allocatable: { cpu: headroom, memory: '64Gi' } }] };
    return {
      ref, key: `ClusterTarget/${name}`, nodeName: `admiralty-${name}`, availability: { kind: 'ready' },
        session: undefined,
      serverHealth: { silentMs: 0, isReady: true },
        object: { ref, labels, spec, terminating: false, hasLeft: false, status: {} },
    };
  });
  const asked: string[] = [];
  let changed: (target: unknown) => void = () => undefined;
  const clusters = {
    proxies,
    targets: {
      all: () => targets, get: (key: string) => targets.find((one) => one.key === key), byNode: () => undefined,
      listen: (listener: { readonly changed: typeof changed }) => (changed = listener.changed),
      object: ({ name }: { readonly name: string }) => targets.find(({ ref }) => ref.name === name)?.object,
    },
    inputs: {
      listen: () => undefined, policyIndex: aPolicyIndex(aClusterPolicy(policy)),
      nodes: { get: () => ({ metadata: { labels: {} }, spec: {} }) },
    },
  };
  const cache = new ClusterCache(clusters as unknown as ObservedClusters);
  cache.observe((key) => asked.push(key));
  const log: DecisionToLog[] = [];
  const decisionLog = { write: (decision: DecisionToLog) => log.push(decision) };
  const chooser =
    new TargetChooser({ sourceId: 'source', proxies, decisionLog } as unknown as ChooserOptions, cache);
  for (const target of targets) {
    changed(target);
    const free = { cpu: rooms[target.ref.name]?.cpu ?? '0', memory: '64Gi', pods: '110' };
    cache.views.publish(target.key, { metadata: {}, allocatable: free, free });
  }
  const put = (...changes: Change<Pod>[]): ProxyPod => {
    const proxy = toProxyPodRecord(aProxy(...changes))!;
    proxies.set(proxy.key, proxy);
    return proxy;
  };
  const choose = (proxy: ProxyPod): Choice => chooser.choose(proxy, cache.podStateOf(proxy.uid));
  return { cache, chooser, log, asked, put, choose };
}

const wordOf = (choice: Choice): string => {
  if (choice.kind === 'chosen') return choice.target.replace('ClusterTarget/', '');
  return choice.kind === 'none' ? choice.rejected.map(({ reason }) => reason).join(', ') : choice.kind;
};

describe('what a pod requests', () => {
  const container = (cpu: string, rest: Partial<Container> = {}): Container =>
    ({ name: 'c', resources: { requests: { cpu } }, ...rest });
  const sidecar = (cpu: string) => container(cpu, { restartPolicy: 'Always' });
  const limited: Container = { name: 'l', resources: { limits: { cpu: '5' } } };
  /** Against one node of four CPUs. */
  const rows: Record<string, readonly [spec: Partial<PodSpec>, fits: boolean]> = {
    'nothing': [{ containers: [{ name: 'c' }] }, true],
    'all of a node': [{ containers: [container('4')] }, true],
    'a bit more than a node': [{ containers: [container('4001m')] }, false],
    'the sum of its containers': [{ containers: [container('2'), container('2500m')] }, false],
    'a limit, where it requests nothing': [{ containers: [limited] }, false],
    'less than its limit': [{ containers: [{ ...limited,
      resources: { limits: { cpu: '5' }, requests: { cpu: '1' } } }] },
      true],
    'the largest init container': [{ initContainers: [container('5')], containers: [container('1')] }, false],
    'init containers one after the other':
      [{ initContainers: [container('3'), container('3')], containers: [container('3')] }, true],
    'sidecars beside its containers': [{ initContainers: [sidecar('2')], containers: [container('3')] }, false],
    'sidecars beside later init containers':
      [{ initContainers: [sidecar('2'), container('3')], containers: [container('1')] }, false],
    'no sidecars beside earlier init containers':
      [{ initContainers: [container('3'), sidecar('2')], containers: [container('1')] }, true],
    'its overhead': [{ containers: [container('3')], overhead: { cpu: '1500m' } }, false],
    'what is set for the whole pod':
      [{ containers: [container('1')], resources: { requests: { cpu: '5' } } }, false],
    'a quantity that nobody can read, as nothing': [{ containers: [container('lots')] }, true],
    'a device': [{ containers: [{ name: 'c', resources: { limits: { 'nvidia.com/gpu': '1' } } }] }, false],
  };
  for (const [sentence, [spec, fits]] of Object.entries(rows)) {
    it(`is ${sentence}: ${fits ? 'fits' : 'does not fit'}`, (t) => {
      const { put, choose } = aWorld(t, { a: { cpu: '4' } });
      assert.equal(wordOf(choose(put(withSpec(spec)))), fits ? 'a' : 'InsufficientResources');
    });
  }
});

describe('the target of a pod', () => {
  it('is the least allocated, with the object for it and why', (t) => {
    const { log, put, choose } = aWorld(t, { a: { cpu: '4' }, b: { cpu: '32' }, c: { cpu: '1' } });
    const choice = choose(put(withRequests({ cpu: '2' })));
    assert.ok(choice.kind === 'chosen');
    assert.deepEqual([choice.target, choice.afterScaleUp], ['ClusterTarget/b', false]);
    assert.equal(choice.chaperon.metadata.labels?.[PARENT_UID_LABEL], 'proxy-uid');
    assert.equal(choice.requirements.requests.get('cpu'), 2_000);
    const record = JSON.parse(choice.placement ?? '') as { target: string; not: object };
    assert.deepEqual([record.target, record.not], ['ClusterTarget/b', { 'ClusterTarget/c': 'InsufficientResources' }]);
    assert.deepEqual(log.map(({ name, decision }) => [name, decision.kind]), [['team-a/web', 'chosen']]);
  });
  it('is reserved only when it is held, once, and counts as its place', (t) => {
    const { cache, chooser, put, choose } = aWorld(t, { a: { cpu: '4' } });
    const proxy = put(withRequests({ cpu: '3' }));
    const choice = choose(proxy);
    assert.equal(cache.views.ledger.size, 0);
    assert.ok(choice.kind === 'chosen');
    chooser.hold(proxy, choice);
    chooser.hold(proxy, choice);
    assert.equal(cache.views.snapshots()[0]?.capacity?.free.get('cpu'), 1_000);
    assert.equal(cache.podTracker.placed.nodeOf(proxy.uid), 'admiralty-a');
    const { placement, scaleUpUntil, targets } = cache.podStateOf(proxy.uid);
    assert.deepEqual([placement, scaleUpUntil, [...targets]], [choice.placement, 0, ['ClusterTarget/a']]);
    assert.equal(wordOf(choose(put(withUid('v'), named('other'), withRequests({ cpu: '3' })))),
      'InsufficientResources');
  });
  it('that needs another node is given five minutes to add it', (t) => {
    const { cache, chooser, put, choose } = aWorld(t, { a: { cpu: '1', headroom: '16' } });
    const proxy = put(withRequests({ cpu: '8' }));
    const choice = choose(proxy);
    assert.ok(choice.kind === 'chosen' && choice.afterScaleUp);
    chooser.hold(proxy, choice);
    assert.equal(cache.podStateOf(proxy.uid).scaleUpUntil, NOW + SCALE_UP_TIMEOUT_MS);
  });
  it('is none without the finalizer, or with a record that cannot be read', (t) => {
    const { put, choose } = aWorld(t, { a: { cpu: '4' } });
    const told = (...changes: Change<Pod>[]) => {
      const choice = choose(put(...changes));
      return choice.kind === 'invalid' ? choice.message : choice.kind;
    };
    assert.match(told(withFinalizers('a.io/other')), /^finalizer .* is missing/);
    assert.notEqual(told(annotated({ [ADMISSION_RECORD_ANNOTATION]: '{"spec":' })), 'chosen');
    assert.notEqual(told(annotated({ [ADMISSION_RECORD_ANNOTATION]: '[]' })), 'chosen');
    assert.equal(told(), 'chosen');
  });
});

describe('a pod that fits no target', () => {
  const outcome = (choice: Choice) => (choice.kind === 'none' ? [choice.dependsOnPods, choice.retryMs] : choice.kind);
  it('is tried again when its first rejection ends', (t) => {
    const { cache, put, choose } = aWorld(t, { a: { cpu: '4' }, b: { cpu: '4' } });
    const proxy = put();
    cache.podStateOf(proxy.uid).noteRejection('ClusterTarget/a', REJECTION, NOW + 9_000);
    cache.podStateOf(proxy.uid).noteRejection('ClusterTarget/b', REJECTION, NOW + 4_000);
    assert.deepEqual(outcome(choose(proxy)), [false, 4_000]);
  });
  it('is not tried again by itself where nothing ends', (t) => {
    const { put, choose } = aWorld(t, { a: { cpu: '1' } });
    assert.deepEqual(outcome(choose(put(withRequests({ cpu: '9' })))), [false, undefined]);
  });
  it('is tried again when the next tier opens, or a rejection ends before', (t) => {
    const tiers = [{ targets: { matchLabels: { tier: 'own' } }, waitSeconds: 100 }, { targets: {} }];
    const { cache, put, choose } = aWorld(t, { a: { cpu: '4' } }, { tiers });
    const proxy = put(withMetadata({ creationTimestamp: new Date(Date.now()).toISOString() }));
    const [dependsOnPods, ms] = outcome(choose(proxy)) as [boolean, number];
    assert.equal(dependsOnPods, true);
    assert.ok(ms > 95_000 && ms <= 101_000, `${ms}`);
    cache.podStateOf(proxy.uid).noteRejection('ClusterTarget/a', REJECTION, NOW + 4_000);
    assert.deepEqual(outcome(choose(proxy)), [true, 4_000]);
  });
  it('waits for pods to move where it is spread over them', (t) => {
    const { put, choose } = aWorld(t, { a: { cpu: '1' } });
    const proxy = put(withRequests({ cpu: '9' }), withSpec({ topologySpreadConstraints: [SPREAD] }));
    assert.deepEqual(outcome(choose(proxy)), [true, undefined]);
  });
});

describe('the object that is sent', () => {
  const sent = (t: TestContext, policy: PlacementPolicySpec, ...changes: Change<Pod>[]) => {
    const { put, choose } = aWorld(t, { a: { cpu: '4', labels: { region: 'eu' } } }, policy);
    const choice = choose(put(...changes));
    assert.ok(choice.kind === 'chosen');
    return choice.chaperon;
  };
  const patch = [{ op: 'add', path: '/metadata/annotations/pool', value: 'eu' }] as const;
  const overrides = (region: string) => ({ overrides: [{ targets: { matchLabels: { region } }, patch }] });

  it('has what a policy overrides in this target, and nothing where it is about others', (t) => {
    const { cache, put, choose } =
      aWorld(t, { a: { cpu: '4', labels: { region: 'eu' } }, b: { cpu: '32' } }, overrides('eu'));
    const proxy = put();
    const pools = ['a', 'b'].map((name) => {
      const choice = choose(proxy);
      assert.ok(choice.kind === 'chosen' && choice.target === `ClusterTarget/${name}`);
      cache.podStateOf(proxy.uid).noteRejection(choice.target, REJECTION, NOW + 4_000);
      return choice.chaperon.metadata.annotations?.['pool'];
    });
    assert.deepEqual(pools, ['eu', undefined]);
  });
  it('counts what the override makes of it', (t) => {
    const { put, choose } = aWorld(t, { a: { cpu: '4', labels: { region: 'eu' } } }, { overrides: [{
      targets: {}, patch: [{ op: 'add', path: '/spec/overhead', value: { cpu: '4' } }],
    }] });
    assert.equal(wordOf(choose(put(withRequests({ cpu: '1' })))), 'InsufficientResources');
  });
  /** In the record: the proxy itself has none. */
  const grace = (terminationGracePeriodSeconds: number) =>
    annotated({ [ADMISSION_RECORD_ANNOTATION]: JSON.stringify({ spec: { terminationGracePeriodSeconds } }) });
  const note = { targets: {}, patch: [{ op: 'add', path: '/metadata/annotations/note', value: 'x' }] } as const;
  const fences: Record<string, readonly [PlacementPolicySpec, readonly Change<Pod>[], string | undefined]> = {
    'a pod that its controller makes again': [{ failover: 'Fenced' }, [owned], '30'],
    'with its own grace period': [{ failover: 'Fenced' }, [owned, grace(7)], '7'],
    'a grace period of none': [{ failover: 'Fenced' }, [owned, grace(0)], '0'],
    'not a pod that nobody makes again': [{ failover: 'Fenced' }, [], undefined],
    'not without the policy': [{ failover: 'Never' }, [owned], undefined],
    'also where it is overridden': [{ failover: 'Fenced', overrides: [note] }, [owned], '30'],
  };
  for (const [sentence, [policy, changes, seconds]] of Object.entries(fences)) {
    it(`is fenced: ${sentence}`, (t) => assert.equal(
      sent(t, policy, ...changes).metadata.annotations?.[FENCE_ANNOTATION], seconds,
    ));
  }
});

describe('pods of a group', () => {
  const member = (name: string, minCount: number, cpu = '2') => [
    named(name), withUid(name), labelled({ [POD_GROUP_LABEL]: 'train' }), withRequests({ cpu }),
    annotated({ [POD_GROUP_MIN_COUNT_ANNOTATION]: `${minCount}` }),
  ];

  it('are told how many of them are missing', (t) => {
    const { log, put, choose } = aWorld(t, { a: { cpu: '64' } });
    const choice = choose(put(...member('one', 3)));
    assert.ok(choice.kind === 'none' && !choice.dependsOnPods);
    assert.equal(choice.rejected[0]?.target, 'group train');
    assert.match(choice.rejected[0]?.message ?? '', /^fewer than 3 of its pods exist/);
    assert.equal(log.length, 0, 'nothing is decided for it');
  });
  it('fit together or not at all, over several targets', (t) => {
    const { cache, asked, put, choose } = aWorld(t, { a: { cpu: '2' }, b: { cpu: '3' } });
    const [first] = ['one', 'two'].map((name) => put(...member(name, 2)));
    asked.length = 0;
    assert.equal(choose(first!).kind, 'reserved');
    assert.deepEqual(new Set(['one', 'two'].map((uid) => cache.podStateOf(uid).reservation?.target)), new Set([
      'ClusterTarget/a', 'ClusterTarget/b',
    ]));
    assert.deepEqual(['one', 'two'].filter((name) => asked.includes(`team-a/${name}`)), ['one', 'two']);
    assert.equal(cache.views.ledger.size, 2);
  });
  it('do not fit where only their sum would', (t) => {
    const { cache, put, choose } = aWorld(t, { a: { cpu: '3' }, b: { cpu: '1' } });
    const [first] = ['one', 'two'].map((name) => put(...member(name, 2)));
    assert.equal(wordOf(choose(first!)).split(', ')[0], 'GroupDoesNotFit');
    assert.deepEqual([cache.views.ledger.size, cache.podTracker.placed.size], [0, 0]);
  });
  it('beyond the minimum may be left out', (t) => {
    const { cache, put, choose } = aWorld(t, { a: { cpu: '4' } });
    const members = ['p1', 'p2', 'p3'].map((name) => put(...member(name, 2)));
    assert.deepEqual(members.map(choose).map(({ kind }) => kind), ['reserved', 'reserved', 'none']);
    assert.equal(cache.views.ledger.size, 2);
  });
  it('that one of them has been rejected for are tried again when that ends', (t) => {
    const { cache, put, choose } = aWorld(t, { a: { cpu: '64' } });
    const [first] = ['one', 'two'].map((name) => put(...member(name, 2)));
    cache.podStateOf('two').noteRejection('ClusterTarget/a', REJECTION, NOW + 3_000);
    for (const attempt of ['decided', 'remembered']) {
      const choice = choose(first!);
      assert.deepEqual([attempt, choice.kind === 'none' && choice.retryMs], [attempt, 3_000]);
    }
  });
});
