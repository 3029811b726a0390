// The controller against a server of the test's own.
import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import type { TargetClusters } from '../../../../targets/target-clusters.ts';
import { startVirtualNodes } from '../../../../virtual-node/node/virtual-node-controller.ts';
import { ScriptedApiServer, SILENT, type Exchange } from '../../../support/doubles/scripted-api-server.ts';

const aNode = (name: string, resourceVersion = '2'): KubernetesObject =>
  ({ metadata: { name, uid: `uid of ${name}`, resourceVersion } });

/** The controller with targets that no session has reached since its start, and the watch of its nodes. */
async function started(t: TestContext): Promise<{ readonly server: ScriptedApiServer; readonly watch: Exchange }> {
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
  return { server, watch: await server.watch('1') };
}

/** The next request of that path; others are answered. */
async function asked(server: ScriptedApiServer, path: string): Promise<Exchange> {
  for (;;) {
    const exchange = await server.next();
    if (exchange.path === path) return exchange;
    exchange.answer(200, aNode('x'));
  }
}

it('a Lease is renewed while the API server has asked everybody else to wait', async (t) => {
  const { server, watch } = await started(t);
  watch.send('ADDED', aNode('admiralty-c2'));
  (await asked(server, '/api/v1/nodes/admiralty-c2/status')).answer(
    429, { kind: 'Status', code: 429 }, { 'retry-after': '60' },
  );
  watch.send('ADDED', aNode('admiralty-c3', '3'));
  const renewal = await asked(server, '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/admiralty-c3');
  assert.equal(renewal.method, 'PATCH');
  assert.match(renewal.body, /"holderIdentity":"admiralty-c3"/);
  renewal.answer(200, { metadata: {} });
});

it('a node gets its taint back while nothing is known of its target', { timeout: 10_000 }, async (t) => {
  const { server, watch } = await started(t);
  watch.send('ADDED', aNode('admiralty-c2'));
  const restored = await asked(server, '/api/v1/nodes/admiralty-c2');
  assert.equal(restored.method, 'PATCH');
  assert.match(restored.body, /"taints":\[\{"key":"virtual-kubelet.io\/provider"/);
  restored.answer(200, aNode('admiralty-c2'));
});
