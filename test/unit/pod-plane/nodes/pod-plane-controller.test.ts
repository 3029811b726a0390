// A node of the pod plane against a server of the test's own.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { OWN_ENDPOINT_LABEL } from '../../../../api/objects/keys.ts';
import { PodPlaneController } from '../../../../pod-plane/nodes/pod-plane-controller.ts';
import type { RouteAgent, RouteAgentFacts } from '../../../../pod-plane/nodes/route-agent.ts';
import { ScriptedApiServer, SILENT } from '../../../support/doubles/scripted-api-server.ts';

const node = (name: string, address: string) => ({
  metadata: { name, resourceVersion: '1' }, spec: {},
  status: { addresses: [{ type: 'InternalIP', address }], conditions: [{ type: 'Ready', status: 'True' }] },
}) as KubernetesObject;
const named = (name: string, spec: object, labels = {}) =>
  ({ metadata: { namespace: 'isthmus-system', name, labels, resourceVersion: '1' }, spec }) as KubernetesObject;
const there: Readonly<Record<string, readonly KubernetesObject[]>> = {
  nodes: [node('one', '10.0.0.1'), node('other', '10.0.0.2')],
  clustersetmembers: [named('eu', { clusterID: 'eu', clusterCIDR: ['10.1.0.0/16'] }), named(
    'us', { clusterID: 'us', clusterCIDR: ['10.2.0.0/16'] },
  )],
  clustersetendpoints: [
    named('eu-wireguard', { clusterID: 'eu', backend: 'wireguard', addresses: [], publicKeys: ['k'] }, {
      [OWN_ENDPOINT_LABEL]: 'true',
    }),
    named('us-wireguard', { clusterID: 'us', backend: 'wireguard', addresses: ['10.9.0.1:51820'], publicKeys: ['k'] }),
  ],
  leases: [named('isthmus-pod-plane', { holderIdentity: 'one/run' })],
};

it('a worker takes up its part as soon as all is known, whatever was known last, without waiting for a change',
  { timeout: 30_000 }, async (t) => {
  const server = await ScriptedApiServer.start();
  const stopped = new AbortController();
  let take: (facts: RouteAgentFacts) => void = () => undefined;
  const taken = new Promise<RouteAgentFacts>((resolve) => (take = resolve));
  const makeAgent = () => ({
    use: async (facts: RouteAgentFacts) => take(facts), close: async () => undefined, release: async () => undefined,
    failure: undefined,
  }) as unknown as RouteAgent;
  const controller = new PodPlaneController({
    client: server.client, namespace: 'isthmus-system', node: 'other', program: '', listenPort: 51_820, pathMtu:
      1_500, fence: { holds: () => false, msLeft: () => 0 }, makeAgent, changed: () => undefined, logger: SILENT,
  });
  const running = controller.run(stopped.signal);
  t.after(async () => {
    stopped.abort();
    await server.stop();
    await running;
  });
  for (let lists = 0; lists < 6;) {
    const exchange = await server.next();
    if (exchange.query.get('watch') === 'true') continue;
    exchange.answerPage('1', '', ...(there[exchange.path.split('/').at(-1) ?? ''] ?? []));
    lists += 1;
  }
  const { nodeAddress, gatewayAddress, remoteRanges } = await taken;
  assert.deepEqual([nodeAddress, gatewayAddress, remoteRanges], ['10.0.0.2', '10.0.0.1', ['10.2.0.0/16']]);
});
