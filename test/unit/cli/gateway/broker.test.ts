// The end of a membership by the broker's administrator, and a broker that runs for long.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { afterEach, describe, it, mock } from 'node:test';
import { connect } from 'node:tls';
import type { ClustersetMember } from '../../../../api/kinds/gateway.ts';
import { CLUSTERSET_ENDPOINTS, CLUSTERSET_MEMBERS, SECRETS } from '../../../../api/resource-types.ts';
import { makeToken, revoke, storeBrokerState } from '../../../../cli/gateway/broker.ts';
import { withSerial } from '../../../../gateway/broker/broker-protocol.ts';
import { BROKER_SECRET } from '../../../../manifests/objects/gateway.ts';
import { createAuthority } from '../../../../process/crypto/certificate-authority.ts';
import { createTokenKey, verifyBrokerToken } from '../../../../process/crypto/signed-token.ts';
import { freePorts } from '../../../../sandbox/processes/free-ports.ts';
import { AnsweringApiServer } from '../../../support/doubles/answering-api-server.ts';
import { isthmusHere } from '../../../support/processes/command-in-process.ts';
import { eventually } from '../../../support/history/eventually.ts';
import { MemoryCluster } from '../../../support/doubles/memory-cluster.ts';

const namespace = 'isthmus-broker';
const signal = new AbortController().signal;
const member = withSerial(
  { metadata: { namespace, name: 'eu' }, spec: { clusterID: 'eu' } }, { serial: 'AA', notAfterMs: 1_000 }, 0,
);
const world = () => new MemoryCluster(
  [CLUSTERSET_MEMBERS, member],
  [CLUSTERSET_ENDPOINTS, { metadata: { namespace, name: 'eu-mtls' }, spec: { clusterID: 'eu' } } as object as never],
);
const ended = (cluster: MemoryCluster) => revoke(cluster.client, { namespace, clusterId: 'eu' }, signal);
const revokedIn = (cluster: MemoryCluster) =>
  (cluster.find(CLUSTERSET_MEMBERS, 'eu', namespace) as unknown as ClustersetMember).spec.revokedSerials;

describe('a member that is revoked', () => {
  it('has no valid certificate and no endpoint any more, and is remembered', async () => {
    const cluster = world();
    assert.equal(await ended(cluster), '"eu" is revoked: 1 certificates are no longer valid.');
    assert.deepEqual([revokedIn(cluster), cluster.names(CLUSTERSET_ENDPOINTS)], [['AA'], []]);
  });

  it('does not keep a certificate that it renews at the same moment', async () => {
    const cluster = world();
    let renewals = 0;
    cluster.before = ({ method }) => {
      if (method === 'PATCH' && renewals++ === 0) {
        cluster.put(CLUSTERSET_MEMBERS, withSerial(member, { serial: 'BB', notAfterMs: 2_000 }, 0));
      }
      return undefined;
    };
    await ended(cluster);
    assert.deepEqual(revokedIn(cluster), ['AA', 'BB']);
  });

  it('must be one', () => assert.rejects(
    revoke(new MemoryCluster().client, { namespace, clusterId: 'eu' }, signal),
    { code: 'NotFound', message: 'No cluster "eu" is known to this broker.' },
  ));
});

describe('a broker that two people deploy at once', () => {
  it('has one CA, that of the first', async () => {
    const cluster = new MemoryCluster();
    const url = 'https://broker.test';
    const keys = { url, 'ca.crt': 'theirs', 'ca.key': 'theirs', 'token.key': 'theirs' };
    const theirs = Object.fromEntries(Object.entries(keys).map(([key, text]) => [key, btoa(text)]));
    let isFirst = true;
    cluster.before = ({ method, path }) => {
      if (method === 'GET' || !path.includes('/secrets') || !isFirst) return undefined;
      isFirst = false;
      cluster.put(SECRETS, { metadata: { namespace, name: BROKER_SECRET }, data: theirs } as object as never);
      return undefined;
    };
    await storeBrokerState(cluster.client, { namespace, url }, signal);
    assert.deepEqual(cluster.find(SECRETS, BROKER_SECRET, namespace)?.['data'], theirs);
  });
});

describe('a token of a broker', () => {
  it('holds by the clock of its cluster, whatever that of this machine says', async () => {
    const [{ client }, brokerUrl, now, then] =
      [new MemoryCluster(), 'https://broker.test', performance.now(), new Date(Date.now() - 3_600_000)];
    await storeBrokerState(client, { namespace, url: brokerUrl }, signal);
    const [tokenKey = ''] = [await client.get(SECRETS, { namespace, name: BROKER_SECRET }, signal)]
      .map(({ data }) => atob(data?.['token.key'] ?? ''));
    client.transport.clock.observe(then.toUTCString(), now, now);
    const token = await makeToken(client, { namespace }, signal);
    assert.notEqual(await verifyBrokerToken(tokenKey, token, { brokerUrl, now: then }), undefined);
  });
});

describe('a broker that runs', () => {
  afterEach(() => mock.timers.reset());

  it('gets another serving certificate every day, before its own expires', async () => {
    const [port = 0] = await freePorts(1);
    const { certificate, key } = (await createAuthority('clusterset of a test', 1, new Date())).keyPair;
    const texts = {
      'url': `https://127.0.0.1:${port}`, 'ca.crt': certificate, 'ca.key': key, 'token.key': createTokenKey(),
    };
    const data = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, btoa(text)]));
    const server = await AnsweringApiServer.start({
      secrets: [{ metadata: { namespace, name: BROKER_SECRET }, data } as object as never], clustersetmembers: [],
      clustersetendpoints: [], exportedservices: [],
    });
    mock.timers.enable({ apis: ['setInterval'] });
    const ended = isthmusHere(
      'broker', 'run', '--listen', `127.0.0.1:${port}`, '--log-level', 'error', '--kubeconfig',
      await server.kubeconfig(),
    );
    const first = await eventually('the broker listens', () => serialAt(port));
    mock.timers.tick(86_400_000);
    await eventually('another certificate', async () => (await serialAt(port)) !== first);
    process.emit('SIGHUP');
    assert.equal((await ended).code, 0);
    await server.stop();
  });
});

/** Serial number of the certificate that is served at a port. */
async function serialAt(port: number): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}
