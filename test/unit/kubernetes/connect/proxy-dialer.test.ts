import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { dialThroughProxy } from '../../../../kubernetes/connect/proxy-dialer.ts';
import { Transport } from '../../../../kubernetes/http/transport.ts';

const SERVER = new URL('https://api.example:6443');
let proxy: Server;

const proxyUrl = (login = ''): URL => new URL(`http://${login}127.0.0.1:${(proxy.address() as AddressInfo).port}`);

describe('a connection through the proxy of a kubeconfig', () => {
  beforeEach(async () => {
    proxy = createServer();
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
  });
  afterEach(() => {
    proxy.close();
    proxy.closeAllConnections();
  });

  it('leads to the server, by its name, and carries what comes with the answer', async () => {
    const asked: unknown[] = [];
    proxy.on('connect', ({ url, headers }, client) => {
      asked.push([url, headers.host, headers['proxy-authorization']]);
      client.write('HTTP/1.1 200 Connection established\r\n\r\nhello');
      client.on('data', (chunk: Buffer) => client.end(chunk));
    });
    const socket = await dialThroughProxy(proxyUrl(), SERVER, 10_000);
    const [first] = (await once(socket, 'data')) as [Buffer];
    assert.equal(first.toString(), 'hello');
    socket.write('back');
    assert.equal(((await once(socket, 'data')) as [Buffer])[0].toString(), 'back');
    assert.deepEqual(asked, [['api.example:6443', 'api.example:6443', undefined]]);
  });

  it('names itself to the proxy where the URL has a login', async () => {
    const asked: unknown[] = [];
    proxy.on('connect', ({ url, headers }, client) => {
      asked.push([url, headers['proxy-authorization']]);
      client.write('HTTP/1.1 200 OK\r\n\r\n');
    });
    (await dialThroughProxy(proxyUrl('me:p%40ss@'), new URL('https://[2001:db8::1]'), 10_000)).destroy();
    assert.deepEqual(asked, [['[2001:db8::1]:443', `Basic ${Buffer.from('me:p@ss').toString('base64')}`]]);
  });

  for (const login of ['me@', ':p@', 'me:p%zz@']) {
    it(`names itself by ${login} in calls as in streams, as kubectl does`, async () => {
      const asked: unknown[] = [];
      proxy.on('connect', ({ headers }, client) => {
        asked.push(headers['proxy-authorization']);
        client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      });
      const url = proxyUrl(login);
      const transport =
        new Transport({ server: SERVER, insecure: false, credentials: { kind: 'none' }, proxy: url }, 'isthmus-test/1');
      await assert.rejects(transport.call({ method: 'POST', path: '/version' }), { name: 'UnreachableError' });
      await assert.rejects(dialThroughProxy(url, SERVER, 10_000), /it answers 407/);
      await transport.close();
      const [user = '', password = ''] = login.slice(0, -1).split(':');
      const basic = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
      assert.deepEqual(asked, [basic, basic]);
    });
  }

  it('that the proxy refuses is told without its password', async () => {
    proxy.on('connect', (_request, client) => client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'));
    const url = proxyUrl('me:canary@');
    await assert.rejects(dialThroughProxy(url, SERVER, 10_000), { message: `proxy ${url.host}: it answers 407` });
  });

  it('fails when nobody listens, and when the proxy is silent', async () => {
    const held = once(proxy, 'connect');
    await assert.rejects(dialThroughProxy(proxyUrl(), SERVER, 200), /proxy 127\.0\.0\.1:\d+: no answer in time/);
    ((await held) as [unknown, Socket])[1].destroy();
    const gone = proxyUrl();
    const closed = once(proxy, 'close');
    proxy.close();
    await closed;
    await assert.rejects(dialThroughProxy(gone, SERVER, 10_000), /proxy .*ECONNREFUSED/);
  });
});
