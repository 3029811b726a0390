// What names are answered with before the objects of the cluster were read.
import assert from 'node:assert/strict';
import { Resolver } from 'node:dns/promises';
import { it } from 'node:test';
import { startServiceDiscovery } from '../../../service-discovery/main.ts';
import { ScriptedApiServer, SILENT } from '../../support/doubles/scripted-api-server.ts';

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
