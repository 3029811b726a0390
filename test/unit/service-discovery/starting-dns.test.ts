// What names are answered with, and what becomes of imports, before all is known.
import assert from 'node:assert/strict';
import { Resolver } from 'node:dns/promises';
import { it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import type { ClustersetState } from '../../../service-discovery/clusterset-state.ts';
import { startServiceDiscovery } from '../../../service-discovery/main.ts';
import { startServices } from '../../../service-discovery/services-controller.ts';
import { AnsweringApiServer } from '../../support/doubles/answering-api-server.ts';
import { ScriptedApiServer, SILENT } from '../../support/doubles/scripted-api-server.ts';
import { eventually } from '../../support/history/eventually.ts';
import { exportOf } from '../../support/objects/exported-services.ts';

it('a DNS server that has not read the imports yet says of no name that it does not exist', async (t) => {
  const server = await ScriptedApiServer.start(); // it answers nothing
  const stopped = new AbortController();
  const dns = { host: '127.0.0.1', port: 0 };
  const discovery = await startServiceDiscovery(
    { client: server.client, installNamespace: 'isthmus-system', identity: 'test', dns, logger: SILENT },
    stopped.signal,
  );
  t.after(async () => {
    stopped.abort();
    await server.stop();
    await discovery.ended;
  });
  const resolver = new Resolver({ timeout: 5_000, tries: 1 });
  resolver.setServers([`127.0.0.1:${discovery.dnsPort}`]);
  const answerTo = (name: string) => resolver.resolve4(name).catch(({ code }: { readonly code: string }) => code);
  assert.equal(await answerTo('web.shop.svc.clusterset.local'), 'ESERVFAIL');
  assert.equal(await answerTo('example.com'), 'EREFUSED');
});

it('nor does one that does not know which cluster this is, because no gateway runs yet', async (t) => {
  const none = { serviceexports: [], serviceimports: [], services: [], endpointslices: [], clustersetmembers: [] };
  const server = await AnsweringApiServer.start({
    ...none, namespaces: [{ metadata: { name: 'shop' } }], exportedservices: [exportOf('us')], clustersetgateways: [],
  });
  const stopped = new AbortController();
  const { client } = await openCluster({ kubeconfigPath: await server.kubeconfig(), userAgent: 'test' });
  const dns = { host: '127.0.0.1', port: 0 };
  const options = { client, installNamespace: 'isthmus-system', identity: 'test', dns, logger: SILENT };
  const discovery = await startServiceDiscovery(options, stopped.signal);
  t.after(async () => {
    stopped.abort();
    await discovery.ended;
    await client.transport.close();
    await server.stop();
  });
  await eventually('all is read', async () => discovery.hasSynced);
  const resolver = new Resolver({ timeout: 5_000, tries: 1 });
  resolver.setServers([`127.0.0.1:${discovery.dnsPort}`]);
  await assert.rejects(resolver.resolve4('web.shop.svc.clusterset.local'), { code: 'ESERVFAIL' });
});

it('imports stay as they are until it is known which cluster this is', async () => {
  const stopped = new AbortController();
  let looked: () => void = () => undefined;
  const view = new Promise<void>((resolve) => (looked = resolve));
  let isPlanned = false;
  const state = {
    knowsItself: false, synced: async () => undefined, hasNamespace: () => true, view: () => looked(),
    exportOf: () => ({ slices: [], former: [] }),
    existing: () => {
      isPlanned = true;
      return { slices: [] };
    },
    onChange: (listener: (key: string) => void) => listener('shop/web'),
  } as unknown as ClustersetState;
  const client = {} as ClusterClient;
  startServices({ client, state, exportsFollowedServices: false, logger: SILENT }, stopped.signal);
  await view;
  await nextTurn();
  stopped.abort();
  assert.equal(isPlanned, false);
});
