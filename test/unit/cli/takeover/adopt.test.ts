import assert from 'node:assert/strict';
import { it } from 'node:test';
import { DELEGATE_FINALIZER } from '../../../../api/objects/keys.ts';
import { NAMESPACES, POD_CHAPERONS, PODS } from '../../../../api/resource-types.ts';
import { adoptPods } from '../../../../cli/takeover/adopt.ts';
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
