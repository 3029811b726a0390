import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DelegatePod } from '../../../../model/delegate/cached-delegate.ts';
import type { ProxyPod } from '../../../../model/proxy/proxy-pod.ts';
import { ClusterCache, type ObservedClusters } from '../../../../scheduler/cycle/cluster-cache.ts';
import {
  aChaperonRecord, aDelegateRecord, aProxyRecord, scheduled, withMetadata, withUid,
} from '../../../support/objects/builders.ts';

type ProxyListener = (key: string, before: ProxyPod | undefined, after: ProxyPod | undefined) => void;

/** A source whose pods are told by hand, and one target that worked once and whose session is as a test says. */
function aWorld(target: {
  readonly workedOnce: boolean; hasSynced: boolean; isLikelyReachable?: boolean; readonly serverTime?: number
}) {
  let tell: ProxyListener = () => undefined;
  let changed: (target: unknown) => void = () => undefined;
  const ref = { kind: 'ClusterTarget', name: 'c' };
  const cluster =
    {
      ref, key: 'ClusterTarget/c', nodeName: 'admiralty-c', availability: { kind: 'ready' }, serverHealth: {},
      get session() { return { hasSynced: target.hasSynced, client: { transport: {} } }; },
      get isLikelyReachable() { return target.isLikelyReachable ?? true; },
    };
  const clusters = {
    proxies: { onChange: (listener: ProxyListener) => (tell = listener), get: () => undefined, by: () => [] },
    targets: {
      listen: (listener: { changed: typeof changed }) => (changed = listener.changed), all: () => [cluster],
      get: () => cluster, byNode: () => cluster,
      object: (ref: object) => ({ ref, labels: {}, spec: {}, status: target.workedOnce ? { clusterID: 'uid' } : {} }),
    },
    inputs: { listen: () => undefined, nodes: { get: () => undefined } },
    ...(target.serverTime !== undefined && { clock: { latest: () => target.serverTime } }),
  };
  const cache = new ClusterCache(clusters as unknown as ObservedClusters);
  cache.observe(() => undefined);
  changed(cluster);
  return { cache, tell: (proxy: ProxyPod) => tell(proxy.key, undefined, proxy), changed: () => changed(cluster) };
}

/** Made when the API server's clock says so. */
const madeAt = (ms: number) =>
  aProxyRecord(withUid('u'), withMetadata({ creationTimestamp: new Date(ms).toISOString() }));
const HOUR = 3_600_000;

describe('targets that may hold a candidate and cannot be asked', () => {
  const cases: Record<
    string,
    readonly [
      world: { workedOnce: boolean; hasSynced: boolean },
      pod: { madeAt: number; toldBeforeBegin: boolean; sentThere: boolean }, unobserved: boolean,
    ]
  > = {
    'a pod of before, a target that has not been heard':
      [{ workedOnce: true, hasSynced: false }, { madeAt: -HOUR, toldBeforeBegin: true, sentThere: false }, true],
    'a pod of before by what was listed, though the API server is ahead of our clock':
      [{ workedOnce: true, hasSynced: false }, { madeAt: HOUR, toldBeforeBegin: true, sentThere: false }, true],
    'a pod of before by its age, though it was told late':
      [{ workedOnce: true, hasSynced: false }, { madeAt: -HOUR, toldBeforeBegin: false, sentThere: false }, true],
    'a new pod':
      [{ workedOnce: true, hasSynced: false }, { madeAt: HOUR, toldBeforeBegin: false, sentThere: false }, false],
    'a target that never worked':
      [{ workedOnce: false, hasSynced: false }, { madeAt: -HOUR, toldBeforeBegin: true, sentThere: false }, false],
    'a target that is heard':
      [{ workedOnce: true, hasSynced: true }, { madeAt: -HOUR, toldBeforeBegin: true, sentThere: true }, false],
    'a new pod that was sent to a target whose session is being made anew':
      [{ workedOnce: true, hasSynced: false }, { madeAt: HOUR, toldBeforeBegin: false, sentThere: true }, true],
  };
  for (const [name, [target, pod, isUnheard]] of Object.entries(cases)) {
    it(`${name}: ${isUnheard ? 'waits' : 'does not wait'}`, () => {
      const { cache, tell } = aWorld(target);
      const proxy = madeAt(Date.now() + pod.madeAt);
      if (pod.toldBeforeBegin) tell(proxy);
      cache.begin();
      if (!pod.toldBeforeBegin) tell(proxy);
      const podState = cache.podStateOf(proxy.uid);
      if (pod.sentThere) podState.targets.add('ClusterTarget/c');
      assert.deepEqual(cache.unobserved(proxy, podState), isUnheard ? ['ClusterTarget/c'] : []);
    });
  }
});

describe('a pod that is created after the start, by the clock of the API server', () => {
  it('is new, though our clock is ahead: it waits for no target that is lost', () => {
    const serverTime = Date.now() - HOUR;
    const { cache, tell } = aWorld({ workedOnce: true, hasSynced: false, serverTime });
    cache.begin();
    const proxy = madeAt(serverTime + 2_000);
    tell(proxy);
    assert.deepEqual(cache.unobserved(proxy, cache.podStateOf(proxy.uid)), []);
  });
});

describe('a process that takes over while watches of a target are broken', () => {
  it('places no pod of before until it has heard of it: the last leader may have sent one there', () => {
    const target = { workedOnce: true, hasSynced: true, isLikelyReachable: false };
    const { cache, tell, changed } = aWorld(target);
    const proxy = madeAt(Date.now() - HOUR);
    tell(proxy);
    assert.deepEqual(cache.unobserved(proxy, cache.podStateOf(proxy.uid)), ['ClusterTarget/c']);
    target.isLikelyReachable = true;
    changed();
    target.isLikelyReachable = false;
    assert.deepEqual(cache.unobserved(proxy, cache.podStateOf(proxy.uid)), []);
  });
});

describe('a candidate that its target has passed over', () => {
  const KEY = 'ClusterTarget/c';
  type DelegateListener = (key: string, before: undefined, after: DelegatePod) => void;

  it('does not wait on while the target decides about later ones', () => {
    let tellDelegate: DelegateListener = () => undefined;
    const find = () => ({ chaperon: aChaperonRecord(), delegate: undefined });
    const session = {
      hasSynced: true, find, onSummary: () => undefined, chaperons: { onChange: () => undefined },
      delegates: { onChange: (listener: DelegateListener) => (tellDelegate = listener) },
    };
    const target = {
      ref: { kind: 'ClusterTarget', name: 'c' }, key: KEY, nodeName: 'admiralty-c', session, owns: () => true,
      availability: { kind: 'ready' },
    };
    let opened: (target: unknown, session: unknown) => void = () => undefined;
    const [early, late] = [aProxyRecord(withUid('early')), aProxyRecord(withUid('proxy-uid'))];
    const clusters = {
      proxies: { onChange: () => undefined, get: () => late },
      targets: {
        listen: ({ sessionOpened }: { sessionOpened: typeof opened }) => (opened = sessionOpened), get: () => target,
      },
      inputs: { listen: () => undefined },
    };
    const cache = new ClusterCache(clusters as unknown as ObservedClusters);
    cache.observe(() => undefined);
    opened(target, session);
    const now = performance.now();
    const podState = cache.podStateOf(early.uid);
    podState.targets.add(KEY);
    const seenAt = podState.firstSeen(KEY, now - 60_000);
    cache.podStateOf(late.uid).firstSeen(KEY, now - 30_000);
    tellDelegate('team-a/web', undefined, aDelegateRecord(scheduled()));
    const [candidate] = cache.gatherCandidates(early, podState, performance.now());
    assert.equal(candidate?.waitingSince, seenAt + 20_000);
  });
});

describe('a change of a target', () => {
  /** A target that is as the test says, and pods of a new process without a node. */
  function aBurst(
    { isReady, hasSynced }: { readonly isReady: boolean; readonly hasSynced: boolean },
    what: 'changed' | 'removed' = 'changed',
  ) {
    const availability = isReady
      ? { kind: 'ready' }
      : { kind: 'unavailable', reason: 'ControllerSilent', message: 'it is silent' };
    const target = {
      ref: { kind: 'ClusterTarget', name: 'c' }, key: 'ClusterTarget/c', nodeName: 'admiralty-c', availability,
      session: { hasSynced, client: { transport: {} } }, serverHealth: { isReady, silentMs: 0 },
    };
    const creationTimestamp = new Date(Date.now() + HOUR).toISOString();
    const pods = ['sent', 'other', 'inherited'].map((name) =>
      aProxyRecord(withUid(name), withMetadata({ name, creationTimestamp })));
    let tell: ProxyListener = () => undefined;
    let listener: Partial<Record<'changed' | 'removed', (target: unknown) => void>> = {};
    const clusters = {
      proxies: { onChange: (listener: ProxyListener) => (tell = listener), by: () => pods },
      targets: {
        listen: (one: typeof listener) => (listener = one), get: () => target,
        all: () => [target], object: (ref: object) => ({ ref, labels: {}, spec: {}, status: {} }),
      },
      inputs: { listen: () => undefined, nodes: { get: () => undefined } },
    };
    const cache = new ClusterCache(clusters as unknown as ObservedClusters);
    const enqueued: string[] = [];
    cache.observe((key) => enqueued.push(key));
    const [sent, , inherited] = pods;
    tell(inherited!.key, undefined, inherited);
    cache.begin();
    cache.podStateOf(sent!.uid).targets.add(target.key);
    enqueued.length = 0;
    listener[what]?.(target);
    return enqueued.map((key) => key.slice(key.indexOf('/') + 1));
  }

  it('enqueues the pods that may have something there, not all of a burst', () => {
    assert.deepEqual(aBurst({ isReady: true, hasSynced: true }), ['sent', 'inherited']);
  });
  it('enqueues them also when it gets no pods: a pod that waited to hear of it may go to another target', () => {
    assert.deepEqual(aBurst({ isReady: false, hasSynced: true }), ['sent', 'inherited']);
  });
  it('enqueues them when it is removed: nobody waits to hear of it any more', () => {
    assert.deepEqual(aBurst({ isReady: false, hasSynced: false }, 'removed'), ['sent', 'inherited']);
  });
  it('enqueues none while nothing is known of its objects', () => {
    assert.deepEqual(aBurst({ isReady: false, hasSynced: false }), []);
  });
});
