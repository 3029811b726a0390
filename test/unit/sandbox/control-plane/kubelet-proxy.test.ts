// The proxy before kwok: only the API server's certificate gets through, and only the proxy can make kwok run commands.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  createAuthority, type CertificateAuthority, type KeyPair,
} from '../../../../process/crypto/certificate-authority.ts';
import { freePorts } from '../../../../sandbox/processes/free-ports.ts';
import {
  kwokTarget, openKubeletProxy, requestHeaderText, type KubeletProxy,
} from '../../../../sandbox/control-plane/kubelet-proxy.ts';

describe('kwokTarget', () => {
  const rows: readonly (readonly [target: string, expected: string])[] = [
    ['/exec/ns/pod/main?command=ls&command=%2F', '/exec/ns/pod/secret?command=ls&command=%2F'],
    ['/exec/ns/pod/uid/main?command=ls', '/exec/ns/pod/uid/secret?command=ls'],
    ['/exec/ns/pod/main', '/exec/ns/pod/secret'],
    ['/containerLogs/ns/pod/main?follow=true', '/containerLogs/ns/pod/main?follow=true'],
    ['/attach/ns/pod/main?path=/exec/a/b/c', '/attach/ns/pod/main?path=/exec/a/b/c'],
    ['/healthz', '/healthz'],
  ];
  for (const [target, expected] of rows) {
    it(`${target} → ${expected}`, () => assert.equal(kwokTarget(target, 'secret'), expected));
  }
});

describe('requestHeaderText', () => {
  it('is the request as it came', () => {
    assert.equal(
      requestHeaderText('POST', '/exec', ['Upgrade', 'SPDY/3.1', 'X-A', '1']),
      'POST /exec HTTP/1.1\r\nUpgrade: SPDY/3.1\r\nX-A: 1\r\n\r\n',
    );
  });
});

const record = (text: string): string => `2026-01-02T03:04:05Z stdout F ${text}\n`;

describe('openKubeletProxy', () => {
  let authority: CertificateAuthority;
  let kwok: Server;
  let proxy: KubeletProxy;
  let port = 0;
  let folder: string;
  let logFile: string;

  before(async () => {
    const now = new Date();
    folder = await mkdtemp(join(tmpdir(), 'isthmus-kubelet-proxy-'));
    logFile = join(folder, 'container.log');
    await writeFile(logFile, record('before'));
    authority = await createAuthority('test-ca', 1, now);
    kwok = createServer((incoming, answer) => answer.end(`${incoming.method} ${incoming.url}`));
    kwok.on('upgrade', (incoming, socket) => {
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\nx-target: ${incoming.url}\r\n\r\n`,
      );
      socket.pipe(socket);
    });
    kwok.listen(0, '127.0.0.1');
    await once(kwok, 'listening');
    [port = 0] = await freePorts(1);
    const serving =
      await authority.issue({ commonName: 'kubelet', dnsNames: ['localhost'], usages: ['server'], days: 1 }, now);
    const kwokPort = (kwok.address() as AddressInfo).port;
    proxy = await openKubeletProxy({
      port, kwokPort, serving, authority: authority.keyPair.certificate, clientName: 'api-server',
      execContainer: 'secret', logFile,
    });
  });
  after(async () => {
    await proxy.close();
    kwok.close();
    await rm(folder, { recursive: true });
  });

  const clientNamed = (commonName: string): Promise<KeyPair> =>
    authority.issue({ commonName, usages: ['client'], days: 1 }, new Date());
  const open = (
    path: string, client: KeyPair | undefined, headers: Readonly<Record<string, string>> = {},
  ): ReturnType<typeof request> => {
    const identity = client === undefined ? {} : { cert: client.certificate, key: client.key };
    return request({
      host: '127.0.0.1', port, servername: 'localhost', path, ca: authority.keyPair.certificate, agent: false, headers,
      ...identity,
    });
  };
  const ask =
    async (path: string, client: KeyPair | undefined): Promise<{ readonly status: number; readonly text: string }> => {
    const [answer] = (await once(open(path, client).end(), 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of answer) text += String(chunk);
    return { status: answer.statusCode ?? 0, text };
  };

  it('passes the requests of the API server on', async () => {
    assert.deepEqual(await ask('/containerLogs/ns/pod/main?tailLines=1', await clientNamed('api-server')), {
      status: 200, text: 'GET /containerLogs/ns/pod/main?tailLines=1',
    });
  });

  it('shows logs that are followed itself, to any number of readers, each at its own pace', async () => {
    const client = await clientNamed('api-server');
    const readers = await Promise.all(Array.from(
      { length: 20 },
      async () =>
        ((await once(open('/containerLogs/ns/pod/main?follow=true&tailLines=1', client).end(), 'response')) as [
          IncomingMessage,
        ])[0],
    ));
    const [stalled, ...others] = readers;
    stalled?.pause();
    const seen = others.map((reader) => {
      let said = '';
      reader.setEncoding('utf8').on('data', (text: string) => (said += text));
      return () => said;
    });
    const until = async (holds: (said: string) => boolean) => {
      while (!seen.every((said) => holds(said()))) await new Promise(setImmediate);
    };
    await until((said) => said === 'before\n');
    await appendFile(logFile, record('x'.repeat(3 << 20)) + record('after').slice(0, 5));
    await appendFile(logFile, record('after').slice(5));
    await until((said) => said.length === (3 << 20) + 14 && said.endsWith('x\nafter\n'));
    for (const reader of readers) reader.destroy();
  });

  it('turns away others, although the cluster knows them', async () => {
    assert.equal((await ask('/exec/ns/pod/main', await clientNamed('someone'))).status, 403);
  });

  it('does not even talk to strangers', async () => {
    await assert.rejects(ask('/healthz', undefined));
  });

  it('passes streams on, with the secret container, in both directions', async () => {
    const upgrading = open(
      '/exec/ns/pod/main?command=ls', await clientNamed('api-server'), { connection: 'upgrade', upgrade: 'echo' },
    ).end();
    const [answer, socket] = (await once(upgrading, 'upgrade')) as [IncomingMessage, Socket];
    assert.equal(answer.headers['x-target'], '/exec/ns/pod/secret?command=ls');
    socket.write('hello');
    const [echoed] = (await once(socket, 'data')) as [Buffer];
    assert.equal(echoed.toString(), 'hello');
    socket.destroy();
  });

  it('turns away streams of others', async () => {
    const upgrading =
      open('/exec/ns/pod/main', await clientNamed('someone'), { connection: 'upgrade', upgrade: 'echo' }).end();
    const [answer] = (await once(upgrading, 'response')) as [IncomingMessage];
    assert.equal(answer.statusCode, 403);
    answer.destroy();
  });

  it('says when kwok is not there', async () => {
    const now = new Date();
    const [own = 0, nobody = 0] = await freePorts(2);
    const serving = await authority.issue({ commonName: 'kubelet', dnsNames: ['localhost'], days: 1 }, now);
    const lonely = await openKubeletProxy({
      port: own, kwokPort: nobody, serving, authority: authority.keyPair.certificate, clientName: 'api-server',
      execContainer: 'secret', logFile,
    });
    const before = port;
    port = own;
    assert.equal((await ask('/healthz', await clientNamed('api-server'))).status, 502);
    port = before;
    await lonely.close();
  });
});
