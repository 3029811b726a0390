// The driver on loopback sockets: who dials, what passes, what is refused and with which words.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { API_SERVER_SERVICE } from '../../model/network/gateway-names.ts';
import type { CertificateAuthority } from '../../process/crypto/certificate-authority.ts';
import { StreamRefusedError } from '../../gateway/tunnel/tunnel-session.ts';
import { alpnOf } from '../../gateway/protocol/tunnel-protocol.ts';
import { describeCableDriver } from '../contract/cable-driver.ts';
import {
  exchange, identityOf, makeAuthority, startGateway, startService, until, untilConnected, type TestGateway,
  type TestService,
} from '../support/doubles/gateway-world.ts';

const NEVER = new AbortController().signal;

describeCableDriver('mtls where one side can be dialled', async () => {
  const authority = await makeAuthority();
  const one = await startGateway({ clusterId: 'one', identity: await identityOf(authority, 'one'), listen: undefined });
  const other = await startGateway({ clusterId: 'other', identity: await identityOf(authority, 'other') });
  return {
    one: one.driver, other: other.driver, addresses: { one: [], other: [`127.0.0.1:${other.driver.port}`] },
    close: async () => void (await Promise.all([one.driver.close(), other.driver.close()])),
  };
});

describeCableDriver('mtls where both sides can be dialled', async () => {
  const authority = await makeAuthority();
  const one = await startGateway({ clusterId: 'one', identity: await identityOf(authority, 'one') });
  const other = await startGateway({ clusterId: 'other', identity: await identityOf(authority, 'other') });
  const addresses = { one: [`127.0.0.1:${one.driver.port}`], other: [`127.0.0.1:${other.driver.port}`] };
  return {
    one: one.driver, other: other.driver, addresses,
    close: async () => void (await Promise.all([one.driver.close(), other.driver.close()])),
  };
});

describe('a member of the later name that listens', () => {
  it('dials at once where no peer knows an address of it, as with the chart behind NAT', { timeout: 20_000 },
    async (t) => {
    let dialled = (): void => undefined;
    const isDialled = new Promise<void>((resolve) => (dialled = resolve));
    const peer = await startService((socket) => (socket.destroy(), dialled()));
    const identity = await identityOf(await makeAuthority(), 'target');
    const { driver } = await startGateway({ clusterId: 'target', identity, isAnnounced: false });
    t.mock.timers.enable({ apis: ['setTimeout'] });
    driver.connect({ clusterId: 'source', addresses: [`127.0.0.1:${peer.address.port}`] });
    t.mock.timers.tick(1);
    await isDialled;
    await driver.close();
    t.mock.timers.reset();
    await peer.close();
  });
});

describe('streams through a cable', () => {
  let authority: CertificateAuthority;
  let source: TestGateway;
  let target: TestGateway;
  let echo: TestService;

  before(async () => {
    authority = await makeAuthority();
    echo = await startService();
    const services = new Map([[API_SERVER_SERVICE, echo.address], ['nowhere', { host: '127.0.0.1', port: 1 }]]);
    source = await startGateway({ clusterId: 'source', identity: await identityOf(authority, 'source'), services });
    // The target is behind NAT: it listens nowhere and dials out.
    target = await startGateway(
      { clusterId: 'target', identity: await identityOf(authority, 'target'), services, listen: undefined },
    );
    source.driver.connect({ clusterId: 'target', addresses: [] });
    target.driver.connect({ clusterId: 'source', addresses: [`127.0.0.1:${source.driver.port}`] });
    await Promise.all([untilConnected(source, 'target'), untilConnected(target, 'source')]);
  });
  after(async () => {
    await Promise.all([source.driver.close(), target.driver.close(), echo.close()]);
  });
  const open = (gateway: TestGateway, clusterId: string, service = API_SERVER_SERVICE) =>
    gateway.driver.openStream({ clusterId, service, lane: 'calls' }, NEVER);

  it('lead to the target although only the target can dial', async () => {
    assert.equal(await exchange(await open(source, 'target'), 'hello'), 'hello');
  });

  it('lead the other way over the same cable', async () => {
    assert.equal(await exchange(await open(target, 'source'), 'hello back'), 'hello back');
  });

  it('go over the session of their lane', async () => {
    const stream =
      await source.driver.openStream({ clusterId: 'target', service: API_SERVER_SERVICE, lane: 'bulk' }, NEVER);
    assert.equal(await exchange(stream, 'logs'), 'logs');
    assert.equal(target.audit.at(-1)?.lane, 'bulk');
  });

  it('carry many at once without mixing them up', async () => {
    const texts = Array.from({ length: 200 }, (_value, index) => `stream ${index}`);
    assert.deepEqual(await Promise.all(texts.map(async (text) => exchange(await open(source, 'target'), text))), texts);
  });

  it('leave nothing on the signal of those who open them, of whom there may be many', async () => {
    const { signal } = new AbortController();
    const warnings: string[] = [];
    const note = ({ name }: Error) => void warnings.push(name);
    process.on('warning', note);
    const streams = await Promise.all(Array.from(
      { length: 20 },
      () => source.driver.openStream({ clusterId: 'target', service: API_SERVER_SERVICE, lane: 'calls' }, signal),
    ));
    for (const stream of streams) stream.destroy();
    process.off('warning', note);
    assert.deepEqual([warnings, getEventListeners(signal, 'abort').length], [[], 0]);
  });

  // Each TCP connection then has more under way in both directions than the system's buffers hold: two ends that read
  // nothing while they write would stop for ever.
  for (
    const [who, from, to, lane] of [
      ['the side that was dialled', () => source, 'target', 'calls'],
      ['the side that dialled', () => target, 'source', 'calls'],
      ['the side that was dialled', () => source, 'target', 'bulk'],
    ] as const
  ) {
    it(`carry 32 MiB there and back at once, unchanged, at the pace of a reader that pauses, opened by ${who}, in ` +
      `the lane of ${lane}`, async () => {
      const sent = randomBytes(32 << 20);
      const stream = await from().driver.openStream({ clusterId: to, service: API_SERVER_SERVICE, lane }, NEVER);
      stream.end(sent);
      const parts: Buffer[] = [];
      for await (const chunk of stream) {
        parts.push(chunk as Buffer);
        if (parts.length % 500 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      }
      assert.ok(Buffer.concat(parts).equals(sent));
    });
  }

  it('end at the service when the client breaks off', async () => {
    await until(() => echo.sockets.size === 0, 'no connection left');
    const stream = await open(source, 'target');
    await until(() => echo.sockets.size === 1, 'one connection');
    stream.destroy();
    await until(() => echo.sockets.size === 0 && target.driver.servedStreams === 0, 'its end');
  });

  it('are refused for what is not on the list of services, and the peer says so', async () => {
    await assert.rejects(
      open(source, 'target', 'etcd'),
      (error: unknown) =>
        error instanceof StreamRefusedError && error.status === 403
          && /"etcd:443" is not on the list/.test(error.message),
    );
  });

  it('are refused for an unreachable service with its cause', async () => {
    await assert.rejects(
      open(source, 'target', 'nowhere'),
      (error: unknown) =>
        error instanceof StreamRefusedError && error.status === 502 && /nothing listens there/.test(error.message),
    );
  });

  it('are refused for a cluster that is no member', async () => {
    await assert.rejects(
      open(source, 'elsewhere'),
      (error: unknown) =>
        error instanceof StreamRefusedError && error.status === 404 && /no member/.test(error.message),
    );
  });

  it('leave who opened what in the audit log of the far side', () => {
    const opened = target.audit.find(({ outcome }) => outcome === 'opened');
    assert.deepEqual(opened, {
      direction: 'in', clusterId: 'source', service: API_SERVER_SERVICE, lane: 'calls', from: '127.0.0.1',
      outcome: 'opened', reason: '',
    });
    assert.ok(target.audit.some(({ outcome, service }) => outcome === 'refused' && service === 'etcd'));
  });

  it('go on through a renewed certificate while the old session drains', async () => {
    const long = await open(source, 'target');
    target.driver.use(await identityOf(authority, 'target'));
    source.driver.use(await identityOf(authority, 'source'));
    const texts = Array.from({ length: 50 }, (_value, index) => `renewed ${index}`);
    for (const text of texts) assert.equal(await exchange(await open(source, 'target'), text), text);
    assert.equal(await exchange(long, 'opened before'), 'opened before');
  });
});

describe('a gateway that ends while its peer lets a session go on', () => {
  it('waits for no longer than it said', { timeout: 20_000 }, async () => {
    const authority = await makeAuthority();
    const echo = await startService();
    const hub = await startGateway({
      clusterId: 'hub', identity: await identityOf(authority, 'hub'),
      services: new Map([[API_SERVER_SERVICE, echo.address]]),
    });
    const spoke =
      await startGateway({ clusterId: 'spoke', identity: await identityOf(authority, 'spoke'), listen: undefined });
    hub.driver.connect({ clusterId: 'spoke', addresses: [] });
    spoke.driver.connect({ clusterId: 'hub', addresses: [`127.0.0.1:${hub.driver.port}`] });
    await untilConnected(spoke, 'hub');
    const stream =
      await spoke.driver.openStream({ clusterId: 'hub', service: API_SERVER_SERVICE, lane: 'calls' }, NEVER);
    stream.on('error', () => undefined);
    const drained = hub.driver.close(60_000); // with the stream open, for as long as that
    await until(() => spoke.driver.connections()[0]?.status !== 'connected', 'the word of the hub');
    const startedAt = performance.now();
    await spoke.driver.close(300);
    const took = performance.now() - startedAt;
    assert.ok(took < 2_500, `${took} ms`); // the cable is given up as silent after four seconds in any case
    await Promise.all([drained, echo.close()]);
  });
});

describe('a cable of which one session is cut and does not come back', () => {
  it('carries calls over the other lane meanwhile', async () => {
    const authority = await makeAuthority();
    const echo = await startService();
    const hub = await startGateway({
      clusterId: 'hub', identity: await identityOf(authority, 'hub'),
      services: new Map([[API_SERVER_SERVICE, echo.address]]),
    });
    // ALPN is told in the clear, so a relay can see which session is which.
    const purpose = Buffer.from(alpnOf({ dialer: 'open', lane: 'calls' }));
    const ofCalls = new Set<Socket>();
    let isCut = false;
    const relay = await startService((socket) => {
      socket.once('data', (hello: Buffer) => {
        if (hello.includes(purpose)) ofCalls.add(socket);
        if (isCut && ofCalls.has(socket)) return void socket.destroy();
        const far = connectTcp({ host: '127.0.0.1', port: hub.driver.port ?? 0 });
        far.on('error', () => undefined).on('close', () => socket.destroy()).write(hello);
        socket.on('close', () => far.destroy());
        socket.pipe(far).pipe(socket);
      });
    });
    const spoke =
      await startGateway({ clusterId: 'spoke', identity: await identityOf(authority, 'spoke'), listen: undefined });
    hub.driver.connect({ clusterId: 'spoke', addresses: [] });
    spoke.driver.connect({ clusterId: 'hub', addresses: [`127.0.0.1:${relay.address.port}`] });
    const call = async () => exchange(
      await spoke.driver.openStream({ clusterId: 'hub', service: API_SERVER_SERVICE, lane: 'calls' }, NEVER), 'well',
    );
    await until(() => spoke.driver.connections()[0]?.statusMessage === '4 sessions', 'four sessions');
    assert.equal(await call(), 'well');
    assert.equal(hub.audit.at(-1)?.lane, 'calls');
    isCut = true;
    for (const socket of ofCalls) socket.destroy();
    await until(() => spoke.driver.connections()[0]?.statusMessage === '3 sessions', 'the loss of one');
    assert.equal(await call(), 'well');
    assert.equal(hub.audit.at(-1)?.lane, 'bulk');
    isCut = false;
    await until(() => spoke.driver.connections()[0]?.statusMessage === '4 sessions', 'its return');
    assert.equal(await call(), 'well');
    assert.equal(hub.audit.at(-1)?.lane, 'calls');
    await Promise.all([spoke.driver.close(), hub.driver.close(), relay.close(), echo.close()]);
  });
});

describe('a cable of which the way falls silent while much is being sent', () => {
  for (const [who, opener] of [['the side that dialled', 'spoke'], ['the side that was dialled', 'hub']] as const) {
    it(`is given up and made anew, opened by ${who}`, async () => {
      const authority = await makeAuthority();
      const echo = await startService();
      const services = new Map([[API_SERVER_SERVICE, echo.address]]);
      const limits = { pingEveryMs: 100, deadAfterMs: 800 };
      const hub =
        await startGateway({ clusterId: 'hub', identity: await identityOf(authority, 'hub'), services, limits });
      const passing = new Set<Socket>();
      let isSilent = false;
      const relay = await startService((socket) => {
        const far = connectTcp({ host: '127.0.0.1', port: hub.driver.port ?? 0 });
        for (const [from, to] of [[socket, far], [far, socket]] as const) {
          passing.add(from);
          from.on('error', () => undefined).on('close', () => passing.delete(from) && to.destroy()).on(
            'data', (chunk: Buffer) => void to.write(chunk),
          );
          if (isSilent) from.pause();
        }
      });
      const spoke = await startGateway(
        { clusterId: 'spoke', identity: await identityOf(authority, 'spoke'), services, limits, listen: undefined },
      );
      hub.driver.connect({ clusterId: 'spoke', addresses: [] });
      spoke.driver.connect({ clusterId: 'hub', addresses: [`127.0.0.1:${relay.address.port}`] });
      await Promise.all([untilConnected(spoke, 'hub'), untilConnected(hub, 'spoke')]);
      const [from, to] = opener === 'spoke' ? [spoke, 'hub'] : [hub, 'spoke'];
      const open = () => from.driver.openStream({ clusterId: to, service: API_SERVER_SERVICE, lane: 'calls' }, NEVER);
      const stream = await open();
      const broke = new Promise((resolve) => stream.on('error', () => undefined).resume().once('close', resolve));
      isSilent = true;
      for (const socket of passing) socket.pause();
      stream.write(randomBytes(32 << 20));
      await broke;
      await until(
        () => [spoke, hub].every(({ driver }) => driver.connections()[0]?.status !== 'connected'),
        'the loss on both sides',
      );
      isSilent = false;
      for (const socket of passing) socket.resume();
      await Promise.all([untilConnected(spoke, 'hub'), untilConnected(hub, 'spoke')]);
      assert.equal(await exchange(await open(), 'again'), 'again');
      await Promise.all([spoke.driver.close(), hub.driver.close(), relay.close(), echo.close()]);
    });
  }
});

describe('a cable that cannot be', () => {
  let authority: CertificateAuthority;
  let hub: TestGateway;
  before(async () => {
    authority = await makeAuthority();
    hub = await startGateway({ clusterId: 'hub', identity: await identityOf(authority, 'hub') });
    for (const clusterId of ['good', 'spoke']) hub.driver.connect({ clusterId, addresses: [] });
  });
  after(() => hub.driver.close());

  const DAY = 86_400_000;
  const cases: Record<
    string,
    {
      identity: () => Promise<Parameters<typeof startGateway>[0]['identity']>; clusterId?: string; peer?: string;
      cause: string; says: RegExp
    }
  > = {
    'with a certificate of another authority, towards a hub that does not know it': {
      identity: async () => ({
        ...(await identityOf(await makeAuthority(), 'spoke')), authority: authority.keyPair.certificate,
      }), cause: 'certificate', says: /not from the CA of this clusterset/,
    },
    'with an expired certificate': {
      identity: () => identityOf(authority, 'spoke', { now: new Date(Date.now() - 2 * DAY) }), cause: 'certificate',
      says: /expired/,
    },
    'with a certificate that is not valid yet': {
      identity: () => identityOf(authority, 'spoke', { now: new Date(Date.now() + DAY) }), cause: 'clock',
      says: /clocks/,
    },
    'with a certificate of a cluster that is no member': {
      identity: () => identityOf(authority, 'stranger'), clusterId: 'stranger', cause: 'unknown-peer',
      says: /not a known member/,
    },
    'with a certificate without the name of a cluster': {
      identity: async () => ({
        ...(await authority.issue({ commonName: 'spoke', dnsNames: ['spoke'], days: 1 }, new Date())),
        authority: authority.keyPair.certificate,
      }), cause: 'identity', says: /names no cluster/,
    },
    'with a certificate of two clusters': {
      identity: async () => ({
        ...(await authority.issue(
          { commonName: 'spoke', dnsNames: ['good.gateway.isthmus.dev', 'spoke.gateway.isthmus.dev'], days: 1 },
          new Date(),
        )),
        authority: authority.keyPair.certificate,
      }), cause: 'identity', says: /names no cluster/,
    },
    'to a hub that is another cluster than meant':
      { identity: () => identityOf(authority, 'spoke'), peer: 'other-hub', cause: 'identity', says: /another cluster/ },
    'to a hub of another authority': {
      identity: async () =>
        ({ ...(await identityOf(authority, 'spoke')), authority: (await makeAuthority()).keyPair.certificate }),
      cause: 'certificate', says: /from the CA/,
    },
  };
  for (const [what, { identity, clusterId = 'spoke', peer = 'hub', cause, says }] of Object.entries(cases)) {
    it(`${what} says so where it dials`, async () => {
      const spoke = await startGateway({ clusterId, identity: await identity(), listen: undefined });
      spoke.driver.connect({ clusterId: peer, addresses: [`127.0.0.1:${hub.driver.port}`] });
      const failure = () => spoke.driver.connections()[0];
      await until(
        () => failure()?.status === 'error' && failure()?.cause === cause,
        `cause ${cause}, not ${JSON.stringify(failure())}`,
      );
      assert.match(failure()?.statusMessage ?? '', says);
      await spoke.driver.close();
    });
  }

  const addresses: Record<string, [address: string, cause: string, says: RegExp]> = {
    'to a port where nothing listens': ['127.0.0.1:1', 'refused', /nothing listens there/],
    'to a name that does not exist': ['no-such-host.invalid:443', 'name', /name has no address/],
    'to what is no address': ['nonsense', 'name', /no HOST:PORT/],
  };
  for (const [what, [address, cause, says]] of Object.entries(addresses)) {
    it(`${what} says so`, async () => {
      const spoke =
        await startGateway({ clusterId: 'spoke', identity: await identityOf(authority, 'spoke'), listen: undefined });
      spoke.driver.connect({ clusterId: 'hub', addresses: [address] });
      await until(() => spoke.driver.connections()[0]?.cause === cause, `cause ${cause}`);
      assert.match(spoke.driver.connections()[0]?.statusMessage ?? '', says);
      await spoke.driver.close();
    });
  }

  it('to a server that speaks no TLS says so', async () => {
    const plain = await startService((socket) => void socket.write('SSH-2.0-OpenSSH_9.6\r\n'));
    const spoke =
      await startGateway({ clusterId: 'spoke', identity: await identityOf(authority, 'spoke'), listen: undefined });
    spoke.driver.connect({ clusterId: 'hub', addresses: [`127.0.0.1:${plain.address.port}`] });
    await until(() => spoke.driver.connections()[0]?.cause === 'protocol', 'cause protocol');
    await Promise.all([spoke.driver.close(), plain.close()]);
  });

  it('tries the next address when one does not answer', async () => {
    const spoke =
      await startGateway({ clusterId: 'good', identity: await identityOf(authority, 'good'), listen: undefined });
    spoke.driver.connect({ clusterId: 'hub', addresses: ['127.0.0.1:1', `127.0.0.1:${hub.driver.port}`] });
    await untilConnected(spoke, 'hub');
    await spoke.driver.close();
  });

  it('ends at once when its certificate is revoked, and stays refused', async () => {
    const identity = await identityOf(authority, 'good');
    const spoke = await startGateway({ clusterId: 'good', identity, listen: undefined });
    spoke.driver.connect({ clusterId: 'hub', addresses: [`127.0.0.1:${hub.driver.port}`] });
    await untilConnected(spoke, 'hub');
    const { X509Certificate } = await import('node:crypto');
    hub.driver.revoke(new Set([new X509Certificate(identity.certificate).serialNumber]));
    await until(() => spoke.driver.connections()[0]?.cause === 'revoked', 'the revocation');
    assert.match(spoke.driver.connections()[0]?.statusMessage ?? '', /revoked; join again/);
    hub.driver.revoke(new Set());
    await untilConnected(spoke, 'hub');
    await spoke.driver.close();
  });

  it('comes back after the peer was restarted', async () => {
    const identity = await identityOf(authority, 'hub');
    const first = await startGateway({ clusterId: 'hub', identity });
    const port = first.driver.port ?? 0;
    const spoke =
      await startGateway({ clusterId: 'spoke', identity: await identityOf(authority, 'spoke'), listen: undefined });
    first.driver.connect({ clusterId: 'spoke', addresses: [] });
    spoke.driver.connect({ clusterId: 'hub', addresses: [`127.0.0.1:${port}`] });
    await untilConnected(spoke, 'hub');
    await first.driver.close();
    await until(() => spoke.driver.connections()[0]?.status === 'error', 'the loss');
    const second = await startGateway({ clusterId: 'hub', identity, listen: { host: '127.0.0.1', port } });
    second.driver.connect({ clusterId: 'spoke', addresses: [] });
    await untilConnected(spoke, 'hub');
    await Promise.all([spoke.driver.close(), second.driver.close()]);
  });
});
