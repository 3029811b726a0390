import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DELEGATE_FINALIZER } from '../../../../api/objects/keys.ts';
import { NAMESPACES, POD_CHAPERONS, PODS } from '../../../../api/resource-types.ts';
import { adoptPods } from '../../../../cli/takeover/adopt.ts';
import { ApiError, UnreachableError } from '../../../../kubernetes/flow/api-error.ts';
import { storedIn } from '../../../support/doubles/memory-admiralty.ts';
import { withUid } from '../../../support/objects/builders.ts';
import { admiraltyChaperon, admiraltyProxy } from '../../../support/objects/admiralty-pods.ts';
import { MemoryCluster } from '../../../support/doubles/memory-cluster.ts';

it('isthmus adopt goes on where a pod is gone by the time that it is taken over', async () => {
  const proxies = ['a', 'b'].map(
    (name) => withUid(`uid-${name}`)(admiraltyProxy({ namespace: 'web', name, nodeName: 'admiralty-eu' })),
  );
  const source = new MemoryCluster(
    [NAMESPACES, { metadata: { name: 'kube-system', uid: 'S' } }], ...proxies.map((proxy) => [PODS, proxy] as const),
  );
  const inTarget = new MemoryCluster(
    ...proxies.map((proxy) => [POD_CHAPERONS, admiraltyChaperon(proxy, 'hub')] as const),
  );
  inTarget.before = ({ method }) => {
    if (method !== 'PATCH') return undefined;
    source.drop(PODS, { namespace: 'web', name: 'a' });
    inTarget.drop(POD_CHAPERONS, { namespace: 'web', name: 'a-x7k2p' });
    return undefined;
  };
  const { adoptions } = await adoptPods(
    { source: source.client, inTarget: inTarget.client, target: { kind: 'ClusterTarget', name: 'eu' } },
    { tell: () => undefined, signal: new AbortController().signal },
  );
  assert.deepEqual(adoptions.map(({ pod }) => pod), ['web/b']);
  assert.deepEqual(source.find(PODS, 'b', 'web')?.metadata.finalizers, [DELEGATE_FINALIZER]);
});

describe('isthmus adopt whose calls fail, one after the other', () => {
  const names = ['a', 'b'];
  const made = () => {
    const proxies = names.map(
      (name) => withUid(`uid-${name}`)(admiraltyProxy({ namespace: 'web', name, nodeName: 'admiralty-eu' })),
    );
    const chaperons = proxies.map((proxy) => admiraltyChaperon(proxy, 'hub'));
    const delegates = chaperons.map(({ metadata }) => ({ metadata, spec: { nodeName: 'node-1', containers: [] } }));
    const source = new MemoryCluster(
      [NAMESPACES, { metadata: { name: 'kube-system', uid: 'S' } }], ...proxies.map((each) => [PODS, each] as const),
    );
    const inTarget = new MemoryCluster(
      ...chaperons.map((each) => [POD_CHAPERONS, each] as const), ...delegates.map((each) => [PODS, each] as const),
    );
    const request =
      { source: source.client, inTarget: inTarget.client, target: { kind: 'ClusterTarget', name: 'eu' } } as const;
    const adopt = () => adoptPods(request, { tell: () => undefined, signal: new AbortController().signal });
    return { clusters: [source, inTarget], adopt, stored: () => [storedIn(source), storedIn(inTarget)] };
  };
  const faults = {
    'with 500': new ApiError(500, 'InternalError', 'etcd'), 'with a conflict': new ApiError(409, 'Conflict', 'changed'),
    'without an answer': new UnreachableError('reset'),
  };
  for (const [how, fault] of Object.entries(faults)) {
    for (const when of ['before', 'after'] as const) {
      it(`ends as it should when it is typed again: ${how}, ${when} the call is done`, async () => {
        const whole = made();
        let calls = 0;
        for (const cluster of whole.clusters) cluster[when] = () => void (calls += 1);
        await whole.adopt();
        for (let nth = 1; nth <= calls; nth += 1) {
          const { clusters, adopt, stored } = made();
          let count = 0;
          for (const cluster of clusters) cluster[when] = () => ((count += 1) === nth ? fault : undefined);
          await adopt().catch(() => undefined);
          await adopt();
          assert.deepEqual(stored(), whole.stored(), `call ${nth} of ${calls}`);
        }
      });
    }
  }
});
