// A gateway process whose membership changes while it runs.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import { CLUSTERSET_ENDPOINTS, CLUSTERSET_MEMBERS, SECRETS } from '../../../api/resource-types.ts';
import { toGatewaySecret } from '../../../gateway/broker/gateway-secret.ts';
import { GatewayController } from '../../../gateway/gateway-controller.ts';
import { identityOf, makeAuthority, until } from '../../support/doubles/gateway-world.ts';
import { FakeCluster } from '../../support/doubles/fake-cluster.ts';
import { SILENT } from '../../support/doubles/scripted-api-server.ts';
import { member, NAMESPACE } from '../pod-plane/nodes/plane-objects.ts';

it('a cluster that joins again under another ID has a connection to the one that took its former ID', async (t) => {
  const [authority, cluster, stop] = [await makeAuthority(), new FakeCluster(), new AbortController()];
  const joinAs = async (clusterId: string) => cluster.put(
    SECRETS, toGatewaySecret(NAMESPACE, { clusterId, addresses: [], ...(await identityOf(authority, clusterId)) }),
  );
  const add = (id: string) => {
    cluster.put(CLUSTERSET_MEMBERS, member(id));
    const metadata = { namespace: NAMESPACE, name: `${id}-mtls` };
    cluster.put(CLUSTERSET_ENDPOINTS, { metadata, spec: { clusterID: id, backend: 'mtls' } } as KubernetesObject);
  };
  await joinAs('eu');
  ['eu', 'us'].forEach(add);
  const controller = new GatewayController({
    client: cluster.client, namespace: NAMESPACE, services: new Map(),
    fence: { holds: () => true, msLeft: () => 9_000 }, audit: () => undefined, changed: () => undefined, logger: SILENT,
  });
  const running = controller.run(0, stop.signal, stop.signal);
  t.after(async () => {
    stop.abort();
    await running;
  });
  const peers = () => (controller.driver?.connections() ?? []).map(({ clusterId }) => clusterId);
  await until(() => peers().join() === 'us', 'the other member');
  await joinAs('fr');
  add('fr');
  await until(() => peers().join() === 'eu,us', 'the cluster of the former ID');
  assert.equal(controller.credentials?.clusterId, 'fr');
});
