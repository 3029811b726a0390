// The broker over real TLS, with members' objects in memory: who may do what.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { pino } from 'pino';
import { MAX_CERTIFICATES, revokeAll } from '../../gateway/broker/broker-protocol.ts';
import { askBroker, openBroker, type BrokerAccess } from '../../gateway/broker/broker-request.ts';
import { startBroker, type Broker } from '../../gateway/broker/broker-server.ts';
import type { TlsIdentity } from '../../gateway/tunnel/tls-identity.ts';
import { createSigningRequest, type CertificateAuthority } from '../../process/crypto/certificate-authority.ts';
import { createTokenKey, readBrokerToken, signBrokerToken, signToken } from '../../process/crypto/signed-token.ts';
import { exportOf } from '../support/objects/exported-services.ts';
import { identityOf, makeAuthority, until } from '../support/doubles/gateway-world.ts';
import { MemoryMemberStore } from '../support/doubles/memory-member-store.ts';

const NEVER = new AbortController().signal;
const logger = pino({ level: 'silent' });

describe('the broker', () => {
  const store = new MemoryMemberStore();
  const tokenKey = createTokenKey();
  let authority: CertificateAuthority;
  let broker: Broker;
  let brokerUrl = '';
  let access: BrokerAccess;

  before(async () => {
    authority = await makeAuthority();
    const serving = await authority.issue({ commonName: 'broker', ipAddresses: ['127.0.0.1'], days: 1 }, new Date());
    const options = {
      host: '127.0.0.1', port: 0, url: 'https://broker.test', authority, serving, tokenKey, store,
      now: () => new Date(), logger,
    };
    broker = await startBroker(options);
    brokerUrl = `https://127.0.0.1:${broker.port}`;
    access = { brokerUrl, authority: authority.keyPair.certificate };
  });
  after(() => broker.close());

  const token = (options: { clusterId?: string; now?: Date; url?: string; key?: string } = {}) =>
    signBrokerToken(
      options.key ?? tokenKey,
      {
        brokerUrl: options.url ?? 'https://broker.test', authority: authority.keyPair.certificate,
        ...(options.clusterId !== undefined && { clusterId: options.clusterId }),
      },
      { now: options.now ?? new Date() },
    );
  const ask = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object, identity?: TlsIdentity) =>
    askBroker<Record<string, unknown>>({ ...access, identity }, { method, path, ...(body && { body }) }, NEVER);

  async function join(clusterId: string, brokerToken?: string, at = brokerUrl): Promise<TlsIdentity> {
    const { request, key } = await createSigningRequest({ commonName: clusterId });
    const body = {
      token: brokerToken ?? (await token()), clusterId, signingRequest: request, addresses: ['10.0.0.1:443'],
      clusterCIDR: ['10.1.0.0/16'],
    };
    const { certificate } = await askBroker<{ readonly certificate: string }>(
      { ...access, brokerUrl: at }, { method: 'POST', path: '/v1/join', body }, NEVER,
    );
    return { certificate, key, authority: authority.keyPair.certificate };
  }

  it('gives a cluster with a token a certificate for a day, in its own name only', async () => {
    const { certificate } = await join('first');
    const { subjectAltName, validFrom, validTo, issuer } = new X509Certificate(certificate);
    assert.equal(subjectAltName, 'DNS:first.gateway.isthmus.dev');
    assert.ok(Date.parse(validTo) - Date.parse(validFrom) <= 86_400_000 + 71 * 60_000);
    assert.match(issuer, /clusterset of a test/);
    assert.deepEqual(
      store.endpoints.get('first-mtls')?.spec, { clusterID: 'first', backend: 'mtls', addresses: ['10.0.0.1:443'] },
    );
  });

  it('C2-31: takes no name from the signing request', async () => {
    const { request } = await createSigningRequest({ commonName: 'first' });
    const { certificate } = (
      await ask('POST', '/v1/join', { token: await token(), clusterId: 'modest', signingRequest: request })
    ) as { certificate: string };
    assert.equal(new X509Certificate(certificate).subjectAltName, 'DNS:modest.gateway.isthmus.dev');
  });

  it('C2-30: takes a token once, even when it is used twice at the same time', async () => {
    const single = await token();
    const outcomes = await Promise.allSettled([join('twin-a', single), join('twin-b', single)]);
    assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
    await assert.rejects(join('twin-c', single), /already used/);
  });

  it('refuses a cluster ID that is taken, and the token may be used with another', async () => {
    const left = await token();
    await assert.rejects(join('first', left), /"first" has already joined.*by "isthmus broker revoke first"/);
    await join('second', left);
  });

  it('gives two clusters different global ranges that join at the same moment at two brokers', async () => {
    const serving = await authority.issue({ commonName: 'broker', ipAddresses: ['127.0.0.1'], days: 1 }, new Date());
    const other = await startBroker({
      host: '127.0.0.1', port: 0, url: 'https://broker.test', authority, serving, tokenKey, store,
      now: () => new Date(), logger,
    });
    let left = 2;
    let meet: () => void = () => undefined;
    const met = new Promise<void>((resolve) => (meet = resolve));
    const list = store.listClusters.bind(store);
    store.listClusters = async () => {
      const found = await list();
      left -= 1;
      if (left === 0) meet();
      if (left >= 0) await met; // neither sees the other
      return found;
    };
    await Promise.all([join('here'), join('there', undefined, `https://127.0.0.1:${other.port}`)]);
    store.listClusters = list;
    await other.close();
    const [here, there] = ['here', 'there'].map((id) => store.clusters.get(id)?.spec.globalCIDR?.join());
    assert.match(`${here} ${there}`, /^242\.\d+\.0\.0\/16 242\.\d+\.0\.0\/16$/);
    assert.notEqual(here, there);
  });

  const badTokens: Record<string, () => Promise<string>> = {
    'that is too old': () => token({ now: new Date(Date.now() - 1_000_000) }),
    'that holds for too long': () => signToken(
      {
        issuer: 'https://broker.test', audience: 'isthmus-join', id: 'x', notBefore: Math.floor(Date.now() / 1_000),
        expiresAt: Math.floor(Date.now() / 1_000) + 901, data: { ca: '' },
      },
      tokenKey,
    ),
    'from the future': () => token({ now: new Date(Date.now() + 3_600_000) }),
    'for another broker': () => token({ url: 'https://elsewhere.test' }),
    'signed with another key': () => token({ key: createTokenKey() }),
    'for another cluster': () => token({ clusterId: 'someone-else' }),
    'that was edited': async () => (await token()).replace(/\.([^.]{4})/, '.AAAA'),
    'without a signature': async () =>
      `${Buffer.from('{"alg":"none"}').toString('base64url')}.${(await token()).split('.')[1]}.`,
    'that is none': async () => 'nonsense',
  };
  for (const [what, make] of Object.entries(badTokens)) {
    it(`refuses a token ${what}`, async () => assert.rejects(join('newcomer', await make()), /token is not valid/));
  }

  const badBodies: Record<string, object> = {
    'with a cluster ID that is no label': { clusterId: 'A.b' }, 'with an address that is none': { addresses: ['x'] },
    'with too many addresses': { addresses: Array.from({ length: 17 }, () => 'a:1') },
    'with a signing request that is none': { signingRequest: 'nonsense' },
    'with a range that is no text': { clusterCIDR: [1] },
    'with a pod range that is an address': { clusterCIDR: ['10.244.0.0'] },
    'with a Service range that is a name': { serviceCIDR: ['services'] },
  };
  for (const [what, part] of Object.entries(badBodies)) {
    it(`refuses a request ${what}`, async () => {
      const { request } = await createSigningRequest({ commonName: 'x' });
      await assert.rejects(
        ask('POST', '/v1/join', { token: await token(), clusterId: 'newcomer', signingRequest: request, ...part }),
        /\(400\)/,
      );
      assert.equal(store.clusters.has('newcomer'), false);
    });
  }

  it('refuses a signing request that its key has not signed', async () => {
    const { request } = await createSigningRequest({ commonName: 'x' });
    const forged = Buffer.from(request.replace(/-----[A-Z ]+-----|\s/g, ''), 'base64');
    forged.writeUInt8((forged.readUInt8(forged.length - 1) ^ 1), forged.length - 1);
    const signingRequest =
      `-----BEGIN CERTIFICATE REQUEST-----\n${forged.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
    await assert.rejects(
      ask('POST', '/v1/join', { token: await token(), clusterId: 'newcomer', signingRequest }), /signed by that key/,
    );
  });

  it('tells members of all members, and strangers nothing', async () => {
    const member = await join('reader');
    const { clusters } = (await ask('GET', '/v1/members', undefined, member)) as {
      clusters: { metadata: object; spec: { clusterID: string } }[]
    };
    assert.ok(clusters.some(({ spec }) => spec.clusterID === 'first') && clusters.every(
      ({ metadata }) => Object.keys(metadata).join() === 'name',
    ));
    await assert.rejects(ask('GET', '/v1/members'), /\(401\)/);
    await assert.rejects(
      ask('GET', '/v1/members', undefined, await identityOf(await makeAuthority(), 'reader')), /\(401\).*not from/,
    );
    await assert.rejects(
      ask('GET', '/v1/members', undefined, await identityOf(
        authority, 'reader', { now: new Date(Date.now() - 172_800_000) },
      )),
      /\(401\).*expired/,
    );
    await assert.rejects(
      ask('GET', '/v1/members', undefined, await identityOf(authority, 'never-joined')), /\(403\).*no longer a member/,
    );
  });

  it('C2-34: lets a member write its own Endpoint and no other', async () => {
    const member = await join('writer');
    await ask('PUT', '/v1/clusters/writer/endpoint', { addresses: ['10.9.9.9:443'] }, member);
    assert.deepEqual(store.endpoints.get('writer-mtls')?.spec.addresses, ['10.9.9.9:443']);
    await assert.rejects(
      ask('PUT', '/v1/clusters/first/endpoint', { addresses: ['6.6.6.6:443'] }, member), /\(403\).*own objects only/,
    );
    await assert.rejects(ask('DELETE', '/v1/clusters/first', undefined, member), /\(403\)/);
    await assert.rejects(ask('PUT', '/v1/clusters/writer/endpoint', { addresses: ['6.6.6.6:443'] }), /\(401\)/);
    assert.deepEqual(store.endpoints.get('first-mtls')?.spec.addresses, ['10.0.0.1:443']);
  });

  it('renews a certificate for a new key, for the same name', async () => {
    const member = await join('renewing');
    const { request, key } = await createSigningRequest({ commonName: 'anything' });
    const { certificate } =
      (await ask('POST', '/v1/renew', { signingRequest: request }, member)) as { certificate: string };
    assert.equal(new X509Certificate(certificate).subjectAltName, 'DNS:renewing.gateway.isthmus.dev');
    await ask('GET', '/v1/members', undefined, { ...member, certificate, key });
  });

  async function follow(member: TlsIdentity): Promise<{ response: IncomingMessage; lines: string[] }> {
    const response =
      await openBroker({ ...access, identity: member }, { method: 'GET', path: '/v1/members/stream' }, NEVER);
    const lines: string[] = [];
    response.on('error', () => undefined)
      .on('data', (chunk: Buffer) => lines.push(...chunk.toString().split('\n').filter((line) => line !== '')));
    return { response, lines };
  }

  it('streams each change to those who follow', async () => {
    const { response, lines } = await follow(await join('follower'));
    await until(() => lines.length === 1, 'the first state');
    await join('latecomer');
    await until(() => lines.some((line) => line.includes('latecomer-mtls')), 'the change');
    response.destroy();
  });

  it('ends the stream of a member that is revoked, and refuses it from then on; the ID may be taken again',
    async () => {
    const member = await join('traitor');
    const { response } = await follow(member);
    const closed = new Promise((resolve) => response.once('close', resolve));
    await store.saveCluster(revokeAll(store.clusters.get('traitor')!));
    await closed;
    await assert.rejects(ask('GET', '/v1/members', undefined, member), /\(403\).*revoked/);
    const { request: signingRequest } = await createSigningRequest({ commonName: 'x' });
    await assert.rejects(ask('POST', '/v1/renew', { signingRequest }, member), /\(403\)/);
    const again = await join('traitor');
    await ask('GET', '/v1/members', undefined, again);
    await assert.rejects(ask('GET', '/v1/members', undefined, member), /\(403\)/);
  });

  it('forgets a member that leaves', async () => {
    const member = await join('leaver');
    await ask('DELETE', '/v1/clusters/leaver', undefined, member);
    assert.equal(store.clusters.has('leaver') || store.endpoints.has('leaver-mtls'), false);
    await assert.rejects(ask('GET', '/v1/members', undefined, member), /\(403\).*has left/);
    await join('leaver');
    const { serialNumber } = new X509Certificate(member.certificate);
    assert.deepEqual(store.clusters.get('leaver')?.spec.revokedSerials, [serialNumber], 'peers refuse it as well');
  });

  it('issues a member no more certificates than it remembers', async () => {
    const member = await join('greedy');
    const { request: signingRequest } = await createSigningRequest({ commonName: 'greedy' });
    for (let count = 1; count < MAX_CERTIFICATES; count += 1) {
      await ask('POST', '/v1/renew', { signingRequest }, member);
    }
    await assert.rejects(ask('POST', '/v1/renew', { signingRequest }, member), /\(429\).*50 valid certificates/);
  });

  describe('exports', () => {
    let member: TlsIdentity;
    const spec = exportOf('exporter').spec;
    before(async () => { member = await join('exporter'); });

    it('are written by the member that they are of, under its name, and streamed to those who follow', async () => {
      const { response, lines } = await follow(await join('importer'));
      await until(() => lines.length === 1, 'the first state');
      assert.deepEqual((JSON.parse(lines[0] ?? '') as { readonly exports: unknown }).exports, []);
      await ask('PUT', '/v1/clusters/exporter/exports/shop/web', { spec: { ...spec, clusterID: 'first' } }, member);
      assert.deepEqual(store.exported.get('exporter.shop.web')?.spec, spec);
      await until(() => lines.some((line) => line.includes('changedExports')), 'the change');
      await ask('DELETE', '/v1/clusters/exporter/exports/shop/web', undefined, member);
      await until(() => lines.some((line) => line.includes('"goneExports":["exporter.shop.web"]')), 'its end');
      response.destroy();
    });

    it('C2-34: of others are not written', async () => {
      await assert.rejects(
        ask('PUT', '/v1/clusters/first/exports/shop/web', { spec }, member), /\(403\).*own objects only/,
      );
      await assert.rejects(ask('DELETE', '/v1/clusters/first/exports/shop/web', undefined, member), /\(403\)/);
      await assert.rejects(ask('PUT', '/v1/clusters/exporter/exports/shop/web', { spec }), /\(401\)/);
    });

    it('that are none are refused', async () => {
      await assert.rejects(
        ask('PUT', '/v1/clusters/exporter/exports/shop/web', {}, member), /\(400\).*spec is missing/,
      );
      await assert.rejects(
        ask('PUT', '/v1/clusters/exporter/exports/a.b/web', { spec }, member), /\(400\).*DNS labels/,
      );
      await assert.rejects(
        ask(
          'PUT', '/v1/clusters/exporter/exports/shop/web', { spec: { ...spec, labels: { a: 'x'.repeat(500_000) } } },
          member,
        ),
        /\(413\)/,
      );
    });

    it('are 2,000 at most of one member', async () => {
      for (let index = 0; index < 2_000; index += 1) {
        store.exported.set(`exporter.many.s${index}`, exportOf('exporter', { namespace: 'many', name: `s${index}` }));
      }
      await assert.rejects(ask('PUT', '/v1/clusters/exporter/exports/shop/web', { spec }, member), /\(403\).*maximum/);
      await ask('PUT', '/v1/clusters/exporter/exports/many/s7', { spec }, member); // one that is there may change
    });

    it('are 16 MiB at most of one member: every other member keeps a copy of them', async () => {
      const large = await join('large');
      const spec = { ...exportOf('large').spec, labels: { a: 'x'.repeat(380_000) } };
      for (let index = 0; index < 44; index += 1) {
        const at = { namespace: 'many', name: `s${index}` };
        store.exported.set(`large.many.s${index}`, exportOf('large', { ...spec, ...at }));
      }
      const put = (name: string, of: object) =>
        ask('PUT', `/v1/clusters/large/exports/many/${name}`, { spec: of }, large);
      await assert.rejects(put('new', spec), /\(403\).*16 MiB/);
      await put('new', exportOf('large').spec);
      await put('s7', spec);
    });

    it('go with the member', async () => {
      await ask('DELETE', '/v1/clusters/exporter', undefined, member);
      assert.deepEqual([...store.exported.values()].filter((one) => one.spec.clusterID === 'exporter'), []);
    });
  });

  it('keeps the Endpoint of a pod plane beside that of the gateway, and takes no key that is none', async () => {
    const member = await join('plane');
    const key = Buffer.alloc(32, 1).toString('base64');
    await ask(
      'PUT', '/v1/clusters/plane/endpoint', { backend: 'wireguard', addresses: ['10.0.0.9:51820'], publicKeys: [key] },
      member,
    );
    assert.deepEqual(store.endpoints.get('plane-wireguard')?.spec, {
      clusterID: 'plane', backend: 'wireguard', addresses: ['10.0.0.9:51820'], publicKeys: [key],
    });
    assert.deepEqual(store.endpoints.get('plane-mtls')?.spec.addresses, ['10.0.0.1:443']);
    await assert.rejects(
      ask('PUT', '/v1/clusters/plane/endpoint', { backend: 'wireguard', addresses: [], publicKeys: ['x'] }, member),
      /\(400\).*keys of WireGuard/,
    );
    await assert.rejects(
      ask('PUT', '/v1/clusters/plane/endpoint', { backend: 'vxlan', addresses: [] }, member), /\(400\).*backend/,
    );
  });

  it('takes no key of a pod plane that another member has announced, and so would lose its traffic', async () => {
    const [owner, thief] = [await join('owner'), await join('thief')];
    const publicKeys = [Buffer.alloc(32, 2).toString('base64')];
    const announce = (clusterId: string, member: TlsIdentity) => ask(
      'PUT', `/v1/clusters/${clusterId}/endpoint`, { backend: 'wireguard', addresses: [], publicKeys }, member,
    );
    await announce('owner', owner);
    await assert.rejects(announce('thief', thief), /\(403\).*another member/);
    assert.equal(store.endpoints.has('thief-wireguard'), false);
    await announce('owner', owner);
  });

  it('tells nobody who the members are before it knows them: its members would forget one another', async () => {
    const member = await join('early');
    store.hasSynced = false;
    for (const path of ['/v1/members', '/v1/members/stream']) {
      await assert.rejects(ask('GET', path, undefined, member), /\(503\)/);
    }
    store.hasSynced = true;
    await ask('GET', '/v1/members', undefined, member);
  });

  it('refuses bodies beyond its bound', async () => assert.rejects(
    ask('POST', '/v1/join', { token: 'x'.repeat(100_000) }), /\(413\)/,
  ));

  it('is known by its own authority alone', async () => {
    const other = (await makeAuthority()).keyPair.certificate;
    await assert.rejects(
      askBroker({ ...access, authority: other }, { method: 'GET', path: '/v1/members' }, NEVER), /cannot be reached/,
    );
  });

  it('is named, with its authority, in the token', async () => {
    assert.deepEqual(readBrokerToken(await token({ clusterId: 'x' })), {
      brokerUrl: 'https://broker.test', authority: authority.keyPair.certificate, clusterId: 'x',
    });
    assert.equal(readBrokerToken('nonsense'), undefined);
  });
});
