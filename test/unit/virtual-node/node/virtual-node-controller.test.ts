// The controller against a server of the test's own.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import type { TargetClusters } from '../../../../targets/target-clusters.ts';
import { startVirtualNodes } from '../../../../virtual-node/node/virtual-node-controller.ts';
import { ScriptedApiServer, SILENT, type Exchange } from '../../../support/scripted-api-server.ts';

const aNode = (name: string, resourceVersion = '2'): KubernetesObject =>
  ({ metadata: { name, uid: `uid of ${name}`, resourceVersion } });

it('a Lease is renewed while the API server has asked everybody else to wait', async (t) => {
  const server = await ScriptedApiServer.start();
  const stopped = new AbortController();
  t.after(async () => {
    stopped.abort();
    await server.stop();
  });
  const targets = {
    byNode: (nodeName: string) => ({
      ref: { kind: 'ClusterTarget', name: nodeName.replace('admiralty-', '') }, key: nodeName, nodeName,
      session: undefined, availability: { kind: 'unavailable', reason: 'Connecting', message: 'wait' },
    }),
    object: () => undefined, get: () => undefined, listen: () => undefined, untilSynced: async () => undefined,
  } as unknown as TargetClusters;
  const events = { record: () => undefined };
  startVirtualNodes({ source: server.client, sourceId: 'source', targets, events, logger: SILENT }, stopped.signal);
  await server.list('1');
  const watch = await server.watch('1');
  watch.send('ADDED', aNode('admiralty-c2'));
  const asked = async (path: string): Promise<Exchange> => {
    for (;;) {
      const exchange = await server.next();
      if (exchange.path === path) return exchange;
      exchange.answer(200, aNode('x'));
    }
  };
  (await asked('/api/v1/nodes/admiralty-c2/status')).answer(
    429, { kind: 'Status', code: 429 }, { 'retry-after': '60' },
  );
  watch.send('ADDED', aNode('admiralty-c3', '3'));
  const renewal = await asked('/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/admiralty-c3');
  assert.equal(renewal.method, 'PATCH');
  assert.match(renewal.body, /"holderIdentity":"admiralty-c3"/);
  renewal.answer(200, { metadata: {} });
});
