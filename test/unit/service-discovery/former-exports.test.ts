// What remains of an export when its cluster has left its clusterset and joined one under another ID.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { OWN_EXPORT_LABEL } from '../../../api/kinds/service-discovery.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import { ClustersetState } from '../../../service-discovery/clusterset-state.ts';
import { startServices } from '../../../service-discovery/services-controller.ts';
import { AnsweringApiServer, type ServedObjects } from '../../support/doubles/answering-api-server.ts';
import { exportOf } from '../../support/objects/exported-services.ts';
import { SILENT } from '../../support/doubles/scripted-api-server.ts';

const installNamespace = 'isthmus-system';
const AT = { namespace: 'shop', name: 'web' };
const own = exportOf('old');
const former = {
  ...own, metadata: { ...own.metadata, namespace: installNamespace, uid: 'u', labels: { [OWN_EXPORT_LABEL]: 'true' } },
};
const heartbeat = '2026-01-01T00:00:00Z';
const status = { haStatus: 'active', version: '1', clusterID: 'new', backend: 'mtls', heartbeat, connections: [] };

/** The first deletion that service discovery asks for. */
async function firstDeletion(t: TestContext, more: ServedObjects): Promise<string> {
  const none = { serviceexports: [], serviceimports: [], services: [], endpointslices: [], clustersetmembers: [] };
  let tell: (path: string) => void = () => undefined;
  const deletion = new Promise<string>((resolve) => (tell = resolve));
  const server = await AnsweringApiServer.start({
    ...none, namespaces: [{ metadata: { name: 'shop' } }], exportedservices: [former],
    clustersetgateways: [{ metadata: { namespace: installNamespace, name: 'gw' }, status } as object as typeof former],
    ...more,
  }, (url) => {
    if (server.calls.at(-1)?.startsWith('DELETE') === true) tell(url.pathname);
    return [200, {}];
  });
  const stopped = new AbortController();
  const { client } = await openCluster({ kubeconfigPath: await server.kubeconfig(), userAgent: 'test' });
  t.after(async () => {
    stopped.abort();
    await client.transport.close();
    await server.stop();
  });
  const state = new ClustersetState({ client, installNamespace, logger: SILENT });
  startServices({ client, state, exportsFollowedServices: false, logger: SILENT }, stopped.signal);
  void state.run(stopped.signal);
  return deletion;
}

describe('an export of a cluster that has another ID by now', { timeout: 30_000 }, () => {
  const path = /\/namespaces\/isthmus-system\/exportedservices\/old\.shop\.web$/;
  it('ends under the former one', async (t) => {
    const serviceexports = [{ metadata: { ...AT, uid: 'e', creationTimestamp: '2026-01-01T00:00:00Z' } }];
    assert.match(await firstDeletion(t, { serviceexports, services: [{ metadata: AT }] }), path);
  });
  it('ends also when it is exported no more', async (t) => assert.match(await firstDeletion(t, {}), path));
});
