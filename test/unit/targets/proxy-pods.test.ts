import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { PLACEMENT_ANNOTATION } from '../../../api/objects/keys.ts';
import { boundTo, remotelyPlaced, proxyPods } from '../../../targets/proxy-pods.ts';
import { annotated, aProxy, named, onNode, withVersion } from '../../support/objects/builders.ts';
import { ScriptedApiServer, SILENT } from '../../support/doubles/scripted-api-server.ts';

const lost = annotated({ [PLACEMENT_ANNOTATION]: JSON.stringify({ not: { 'ClusterTarget/b': 'Unreachable' } }) });
const names = (records: readonly { readonly key: string }[]) =>
  records.map(({ key }) => key.slice(key.indexOf('/') + 1)).join(' ');

describe('the proxy pods of a source', () => {
  let server: ScriptedApiServer;
  const stop = new AbortController();
  beforeEach(async () => {
    server = await ScriptedApiServer.start();
  });
  afterEach(async () => {
    stop.abort();
    await server.stop();
  });

  it('are those of our scheduler, found by their node and by being away from a target, as they are now', async () => {
    const proxies = proxyPods({ client: server.client, logger: SILENT });
    void proxies.run(stop.signal);
    const pod = (name: string, version: string, ...changes: Parameters<typeof aProxy>) =>
      aProxy(named(name), withVersion(version), ...changes);
    const list =
      await server.list('10', pod('one', '1', onNode('a')), pod('two', '2', onNode('a'), lost), pod('new', '3'));
    assert.equal(list.query.get('fieldSelector'), 'spec.schedulerName=admiralty-proxy');
    await proxies.synced;
    assert.deepEqual([names(boundTo(proxies, 'a')), names(boundTo(proxies, 'b')), names(remotelyPlaced(proxies))], [
      'one two', '', 'two',
    ]);
    const watch = await server.watch('10');
    const gone =
      new Promise<void>((resolve) => proxies.onChange((_key, _before, after) => after === undefined && resolve()));
    watch.send('MODIFIED', pod('new', '11', onNode('b')));
    watch.send('DELETED', pod('two', '12', onNode('a'), lost));
    await gone;
    assert.deepEqual(
      [names(boundTo(proxies, 'a')), names(boundTo(proxies, 'b')), names(remotelyPlaced(proxies))], ['one', 'new', ''],
    );
  });
});
