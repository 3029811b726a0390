// What `isthmus drain` does when a budget lets no pod go: one limit of time counts for evictions and the end of pods.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { OwnerReference, Pod } from '../../../../api/objects/core.ts';
import { PROVIDER_KEY, PROVIDER_VALUE } from '../../../../api/objects/keys.ts';
import { NODES, PODS } from '../../../../api/resource-types.ts';
import { drainTarget, evict } from '../../../../cli/pods/drain-target.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import type { AppError } from '../../../../process/errors.ts';
import { withUid } from '../../../support/objects/builders.ts';
import { MemoryCluster } from '../../../support/doubles/memory-cluster.ts';
import { ScriptedApiServer, status } from '../../../support/doubles/scripted-api-server.ts';
import { virtualWaits, type VirtualWaits } from '../../../support/doubles/virtual-waits.ts';

const target = { kind: 'ClusterTarget', name: 'eu' } as const;
const node = { metadata: { name: 'admiralty-eu', uid: 'n', labels: { [PROVIDER_KEY]: PROVIDER_VALUE } } };
const pod = (owners: readonly OwnerReference[]): Pod =>
  ({ metadata: { namespace: 'team-a', name: 'web-0', uid: 'p', ownerReferences: owners }, spec: { containers: [] } });
const FORBIDDEN = status(429, 'TooManyRequests', 'a budget forbids it');
const MANAGED = [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: 's', controller: true }];

/** Serves the node and one pod, and answers every eviction alike; resolves with the paths of all calls. */
async function serve(
  api: ScriptedApiServer, owners: readonly OwnerReference[], ended: AbortSignal,
): Promise<readonly string[]> {
  const calls: string[] = [];
  for (;;) {
    const exchange = await Promise.race([api.next(), new Promise<undefined>((resolve) => {
      ended.addEventListener('abort', () => resolve(undefined));
    })]);
    if (exchange === undefined) return calls;
    calls.push(`${exchange.method} ${exchange.path}`);
    if (exchange.path.endsWith('/eviction')) exchange.answer(429, FORBIDDEN);
    else if (exchange.path.endsWith('/pods')) exchange.answer(200, { metadata: {}, items: [pod(owners)] });
    else exchange.answer(200, node);
  }
}

describe('a pod that is evicted', () => {
  const evicted = async (t: TestContext, cluster: MemoryCluster, during: VirtualWaits['during'] = () => undefined) => {
    const time = virtualWaits(t);
    time.during = during;
    const told: string[] = [];
    const progress = { tell: (line: string) => told.push(line), signal: new AbortController().signal };
    await evict(cluster.client, pod(MANAGED), progress);
    return { told, waits: time.waits };
  };

  it('may have been recreated under its name in the meantime: the one that was meant has gone', async (t) => {
    const cluster = new MemoryCluster([PODS, withUid('another')(pod(MANAGED))]);
    const { told } = await evicted(t, cluster);
    assert.deepEqual([told, cluster.names(PODS)], [['evicted team-a/web-0'], ['team-a/web-0']]);
  });

  it('is tried again when it was changed at the same time, and when a budget forbids it', async (t) => {
    const cluster = new MemoryCluster([PODS, pod(MANAGED)]);
    const answers = [new ApiError(409, 'Conflict', 'changed'), new ApiError(429, 'TooManyRequests', 'a budget')];
    cluster.before = ({ method }) => (method === 'POST' ? answers.shift() : undefined);
    const { waits } = await evicted(t, cluster);
    assert.deepEqual([waits, cluster.names(PODS)], [[5_000, 5_000], []]);
  });

  it('may be gone already', async (t) =>
    assert.deepEqual((await evicted(t, new MemoryCluster())).told, ['evicted team-a/web-0']));

  it('of a namespace that is being deleted goes with it, and is waited for until it does', async (t) => {
    const cluster = new MemoryCluster([PODS, pod(MANAGED)]);
    const message = 'unable to create new content in namespace team-a because it is being terminated';
    cluster.before = ({ method }) => (method === 'POST' ? new ApiError(403, 'Forbidden', message) : undefined);
    const { waits } = await evicted(t, cluster, () => {
      const metadata = { ...pod(MANAGED).metadata, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['a/b'] };
      cluster.put(PODS, { ...pod(MANAGED), metadata });
    });
    assert.deepEqual(waits, [5_000]);
  });

  it('is an error where evictions are forbidden', async (t) => {
    const cluster = new MemoryCluster([PODS, pod(MANAGED)]);
    cluster.before = ({ method }) => (method === 'POST' ? new ApiError(403, 'Forbidden', 'no') : undefined);
    await assert.rejects(evicted(t, cluster), { status: 403 });
  });
});

describe('isthmus drain', () => {
  async function drain(owners: readonly OwnerReference[], forMs: number): Promise<{
    readonly error: AppError; readonly calls: readonly string[]
  }> {
    const api = await ScriptedApiServer.start();
    const ended = new AbortController();
    const calls = serve(api, owners, ended.signal);
    const progress = { tell: () => undefined, signal: AbortSignal.timeout(60_000) };
    const error = await drainTarget(api.client, target, { evictUnmanaged: false, forMs }, progress)
      .then(() => assert.fail('it is drained'), (thrown: unknown) => thrown as AppError);
    ended.abort();
    await api.stop();
    return { error, calls: await calls };
  }

  it('names the pods that a budget keeps, and waits no second time once its limit has passed', async () => {
    const { error, calls } = await drain(MANAGED, 600);
    assert.equal(error.code, 'Timeout');
    assert.match(error.message, /team-a\/web-0/);
    // which pods there are, and which have not gone
    assert.equal(calls.filter((call) => call === 'GET /api/v1/pods').length, 2, calls.join('\n'));
  });

  it('evicts nothing when no controller would recreate a pod', async () => {
    const { error, calls } = await drain([], 600);
    assert.equal(error.code, 'BadInput');
    assert.match(error.message, /No controller would recreate these pods: team-a\/web-0/);
    assert.ok(!calls.some((call) => call.endsWith('/eviction')));
  });

  it('evicts a pod that was being bound at that time, not one that may come back indefinitely', async () => {
    const at = (name: string, tolerations: Pod['spec']['tolerations'] = []): Pod => ({
      metadata: { ...pod(MANAGED).metadata, name, uid: `uid-${name}` },
      spec: { containers: [], nodeName: 'admiralty-eu', tolerations },
    });
    const cluster = new MemoryCluster([NODES, node], [PODS, at('first')]);
    cluster.after = ({ path }) => {
      if (path.endsWith('/first/eviction')) {
        cluster.put(PODS, at('late'));
        cluster.put(PODS, at('agent', [{ operator: 'Exists' }]));
      }
      return undefined;
    };
    const progress = { tell: () => undefined, signal: AbortSignal.timeout(60_000) };
    const drained = drainTarget(cluster.client, target, { evictUnmanaged: false, forMs: 600 }, progress);
    await assert.rejects(drained, { code: 'Timeout', message: /have not gone: team-a\/agent\./ });
  });

  it('evicts pods although another one cannot be evicted, and ends with the reason', async (t) => {
    virtualWaits(t);
    const at = (name: string): Pod => ({
      metadata: { ...pod(MANAGED).metadata, name, uid: `uid-${name}` },
      spec: { containers: [], nodeName: 'admiralty-eu' },
    });
    const cluster = new MemoryCluster([NODES, node], [PODS, at('broken')], [PODS, at('busy')]);
    const answers = Array.from({ length: 99 }, () => new ApiError(429, 'TooManyRequests', 'a budget'));
    cluster.before = ({ path }) => {
      if (path.endsWith('/broken/eviction')) return new ApiError(500, 'InternalError', 'more than one budget');
      return path.endsWith('/busy/eviction') ? answers.shift() : undefined;
    };
    const progress = { tell: () => undefined, signal: AbortSignal.timeout(60_000) };
    const drained = drainTarget(cluster.client, target, { evictUnmanaged: false, forMs: 60_000 }, progress);
    await assert.rejects(drained, { status: 500 });
    assert.deepEqual(cluster.names(PODS), ['team-a/broken']);
  });

  it('evicts a pod that has ended, although no controller would recreate it', async () => {
    const ended: Pod =
      { ...pod([]), spec: { containers: [], nodeName: 'admiralty-eu' }, status: { phase: 'Succeeded' } };
    const cluster = new MemoryCluster([NODES, node], [PODS, ended]);
    const progress = { tell: () => undefined, signal: AbortSignal.timeout(60_000) };
    await drainTarget(cluster.client, target, { evictUnmanaged: false, forMs: 600 }, progress);
    assert.deepEqual(cluster.names(PODS), []);
  });
});
