import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node, Pod } from '../../../../api/objects/core.ts';
import { PROVIDER_KEY, PROVIDER_VALUE, PROXY_SCHEDULER } from '../../../../api/objects/keys.ts';
import { NODES, PLACEMENT_POLICIES, PODS } from '../../../../api/resource-types.ts';
import { movePod } from '../../../../cli/pods/move.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { MemoryCluster } from '../../../support/doubles/memory-cluster.ts';

const at = { namespace: 'team-a', name: 'web-0' };
const pod: Pod = {
  metadata: {
    ...at, uid: 'p',
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: 's', controller: true }],
  },
  spec: { containers: [], schedulerName: PROXY_SCHEDULER, nodeName: 'admiralty-us' },
};
const conditions = [{ type: 'Ready', status: 'True' }, { type: 'TargetReady', status: 'True' }] as const;
const node: Node =
  { metadata: { name: 'admiralty-eu', labels: { [PROVIDER_KEY]: PROVIDER_VALUE } }, status: { conditions } };

/** A cluster whose scheduler accepts every policy at once, and whose budgets let no pod go. */
function busyCluster(): MemoryCluster {
  const cluster = new MemoryCluster([PODS, pod], [NODES, node]);
  cluster.before = ({ method, path }) => {
    if (path.endsWith('/eviction')) return new ApiError(429, 'TooManyRequests', 'a budget forbids it');
    if (method !== 'GET' || !path.includes('/placementpolicies/')) return undefined;
    const [name = ''] = cluster.names(PLACEMENT_POLICIES).map((key) => key.split('/')[1]);
    const policy = cluster.find(PLACEMENT_POLICIES, name, at.namespace)!;
    const accepted = { conditions: [{ type: 'Accepted', status: 'True' }] };
    cluster.put(PLACEMENT_POLICIES, { ...policy, status: accepted } as never);
    return undefined;
  };
  return cluster;
}

describe('isthmus move', () => {
  const wish = { at, target: { kind: 'ClusterTarget', name: 'eu' }, recreates: false, forMs: 20 } as const;
  const moved = (cluster: MemoryCluster) =>
    movePod(cluster.client, wish, { tell: () => undefined, signal: new AbortController().signal });
  const refused = { code: 'Timeout', message: /web-0 was not evicted in 0.02 s: a PodDisruptionBudget forbids it/ };

  it('says so when a budget does not let the pod go in time, and leaves no policy', async () => {
    const cluster = busyCluster();
    await assert.rejects(moved(cluster), refused);
    assert.deepEqual([cluster.names(PLACEMENT_POLICIES), cluster.names(PODS)], [[], ['team-a/web-0']]);
  });

  it('says what happened to the pod also where the policy cannot be deleted', async () => {
    const cluster = busyCluster();
    const { before } = cluster;
    cluster.before = (call) => (call.method === 'DELETE' ? new ApiError(503, 'Unavailable', 'no') : before(call));
    await assert.rejects(moved(cluster), refused);
  });
});
