import assert from 'node:assert/strict';
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import packet from 'dns-packet';
import { answerQuestion, type DnsService } from '../../../../service-discovery/dns/dns-answer.ts';
import { startDnsServer, type DnsServer } from '../../../../service-discovery/dns/dns-server.ts';

const WEB = 'web.shop.svc.clusterset.local';
const endpoints = Array.from({ length: 200 }, (_, index) => (
  { address: `10.1.0.${index}`, ready: true, ports: [{ name: 'http', protocol: 'TCP', port: 8_080 }] }
));
const service = (type: DnsService['type'], count: number): DnsService => ({
  namespace: 'shop', name: 'web', type, ports: [], ips: ['10.96.0.9'], localIps: [], preference: 'local',
  clusters: [{ id: 'us', isLocal: false, endpoints: endpoints.slice(0, count) }],
});
const known = new Map([['web', service('ClusterSetIP', 1)], ['many', service('Headless', 200)]]);

describe('the DNS server', () => {
  let server: DnsServer;
  let resolver: Resolver;
  before(async () => {
    server = await startDnsServer({
      host: '127.0.0.1', port: 0,
      resolve: (question) => answerQuestion(question, (_namespace, name) => known.get(name)),
    });
    resolver = new Resolver({ timeout: 5_000, tries: 1 });
    resolver.setServers([`127.0.0.1:${server.port}`]);
  });
  after(() => server.close());

  it('is understood by a resolver', async () => assert.deepEqual(
    await resolver.resolve4(WEB, { ttl: true }), [{ address: '10.96.0.9', ttl: 5 }],
  ));
  it('tells a resolver the version of the schema', async () => assert.deepEqual(
    await resolver.resolveTxt('dns-version.clusterset.local'), [['1.0.0']],
  ));
  it('tells a resolver more than fits a datagram over TCP', async () => assert.equal(
    (await resolver.resolve4('many.shop.svc.clusterset.local')).length, 200,
  ));
  it('tells what does not exist from what has no such record', async () => {
    await assert.rejects(resolver.resolve4('none.shop.svc.clusterset.local'), { code: 'ENOTFOUND' });
    await assert.rejects(resolver.resolve6(WEB), { code: 'ENODATA' });
  });
  it('refuses other zones', () => assert.rejects(resolver.resolve4('example.com'), { code: 'EREFUSED' }));

  it('goes on after a datagram from port 0, which anybody can forge and nobody can answer', async () => {
    const udp: UdpSocket[] = [];
    const note = (message: unknown) => udp.push((message as { readonly socket: UdpSocket }).socket);
    subscribe('udp.socket', note);
    const resolve = () => answerQuestion({ name: WEB, type: 'A' }, () => known.get('web'));
    const another = await startDnsServer({ host: '127.0.0.1', port: 0, resolve });
    unsubscribe('udp.socket', note);
    const question = packet.encode({ type: 'query', id: 1, questions: [{ type: 'A', name: WEB }] });
    assert.equal(udp[0]?.emit('message', question, { address: '127.0.0.1', family: 'IPv4', port: 0, size: 50 }), true);
    await another.close();
  });

  it('answers several questions of one connection, however they are cut', async () => {
    const socket = connect(server.port, '127.0.0.1');
    const framed = (id: number) => {
      const message = packet.encode({ type: 'query', id, questions: [{ type: 'A', name: WEB }] });
      return Buffer.concat([Buffer.from([message.length >> 8, message.length & 255]), message]);
    };
    let heard = Buffer.alloc(0);
    const two = new Promise<void>((resolve) => socket.on('data', (chunk: Buffer) => {
      heard = Buffer.concat([heard, chunk]);
      if (heard.length >= 2 && heard.length >= 2 * (2 + heard.readUInt16BE(0))) resolve();
    }));
    const bytes = Buffer.concat([framed(1), framed(2)]);
    socket.write(bytes.subarray(0, 5));
    await new Promise((resolve) => setImmediate(resolve));
    socket.write(bytes.subarray(5));
    await two;
    const size = 2 + heard.readUInt16BE(0);
    assert.deepEqual([packet.decode(heard.subarray(2, size)).id, packet.decode(heard.subarray(size + 2)).id], [1, 2]);
    socket.destroy();
  });

  it('cuts a connection that sends what is no question, and serves the next one', async () => {
    const socket = connect(server.port, '127.0.0.1').on('error', () => undefined);
    socket.write(Buffer.from([0, 3, 1, 2, 3]));
    await once(socket, 'close');
    assert.deepEqual(await resolver.resolve4(WEB), ['10.96.0.9']);
  });

  it('leaves connections for others where one client opens as many as it can', { timeout: 20_000 }, async () => {
    const from = (localAddress: string) => connect({ port: server.port, host: '127.0.0.1', localAddress });
    const many = Array.from({ length: 256 }, () => from('127.0.0.1').on('error', () => undefined));
    await Promise.all(many.map((socket) => once(socket, 'connect')));
    const message = packet.encode({ type: 'query', id: 4, questions: [{ type: 'A', name: WEB }] });
    const other = from('127.0.0.2');
    other.write(Buffer.concat([Buffer.from([0, message.length]), message]));
    const [answer] = (await once(other, 'data')) as [Buffer];
    assert.equal(packet.decode(answer.subarray(2)).id, 4);
    for (const socket of [...many, other]) socket.destroy();
  });

  it('says nothing to a datagram that is no question, and answers the next one', async () => {
    const socket = createSocket('udp4');
    socket.send(Buffer.from('nonsense'), server.port, '127.0.0.1');
    socket.send(
      packet.encode({ type: 'query', id: 3, questions: [{ type: 'A', name: WEB }] }), server.port, '127.0.0.1',
    );
    const [first] = (await once(socket, 'message')) as [Buffer];
    assert.equal(packet.decode(first).id, 3);
    socket.close();
  });
});

it('a port that is taken is said to whoever starts the server', async () => {
  const first = await startDnsServer(
    { host: '127.0.0.1', port: 0, resolve: () => ({ code: 'REFUSED', records: [], additional: [] }) },
  );
  await assert.rejects(
    startDnsServer(
      { host: '127.0.0.1', port: first.port, resolve: () => ({ code: 'REFUSED', records: [], additional: [] }) },
    ),
    { code: 'EADDRINUSE' },
  );
  await first.close();
});
