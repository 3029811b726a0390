import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { BROKER_COPY_LABEL, OWN_ENDPOINT_LABEL } from '../../../../api/objects/keys.ts';
import { EXPORTED_SERVICES } from '../../../../api/kinds/service-discovery.ts';
import { CLUSTERSET_ENDPOINTS, CLUSTERSET_MEMBERS, NAMESPACES, SECRETS } from '../../../../api/resource-types.ts';
import { join, leave } from '../../../../cli/gateway/gateway-membership.ts';
import { GATEWAY_SECRET, toGatewaySecret } from '../../../../gateway/broker/gateway-secret.ts';
import { startBroker, type Broker } from '../../../../gateway/broker/broker-server.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { createAuthority } from '../../../../process/crypto/certificate-authority.ts';
import { createTokenKey, signBrokerToken } from '../../../../process/crypto/signed-token.ts';
import { MemoryCluster } from '../../../support/doubles/memory-cluster.ts';
import { MemoryMemberStore } from '../../../support/doubles/memory-member-store.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';

const NAMESPACE = 'isthmus-system';
const signal = new AbortController().signal;
const { keyPair } = await createAuthority('clusterset of a test', 1, new Date());
const secret = (brokerUrl?: string) => toGatewaySecret(NAMESPACE, {
  clusterId: 'berlin', certificate: keyPair.certificate, key: keyPair.key, authority: keyPair.certificate,
  addresses: [], ...(brokerUrl !== undefined && { brokerUrl }),
});
const copy = (name: string, label = BROKER_COPY_LABEL, value = 'true') =>
  ({ metadata: { namespace: NAMESPACE, name, labels: { [label]: value } } });
const NO_BROKER = 'https://[::1]:1';

const token = await signBrokerToken(
  createTokenKey(), { brokerUrl: NO_BROKER, authority: keyPair.certificate }, { now: new Date() },
);

/** A member, with what its gateway has copied, and what others have made beside it. */
function member(brokerUrl?: string): MemoryCluster {
  return new MemoryCluster(
    [SECRETS, secret(brokerUrl)], [CLUSTERSET_MEMBERS, copy('rome')], [CLUSTERSET_ENDPOINTS, copy('rome-mtls')],
    [CLUSTERSET_ENDPOINTS, copy('berlin-mtls', OWN_ENDPOINT_LABEL)], [EXPORTED_SERVICES, copy('rome-shop-web')],
    [CLUSTERSET_MEMBERS, copy('by-hand', BROKER_COPY_LABEL, 'false')],
  );
}
const leftOf = (cluster: MemoryCluster) =>
  [SECRETS, CLUSTERSET_MEMBERS, CLUSTERSET_ENDPOINTS, EXPORTED_SERVICES].flatMap((type) => cluster.names(type));
const goodbye = (cluster: MemoryCluster, force = false) =>
  leave(cluster.client, { namespace: NAMESPACE, ...(force && { force }) }, signal);

describe('a cluster that leaves its clusterset', () => {
  it('keeps nothing of other members but what was written by hand', async () => {
    const cluster = member();
    assert.match(await goodbye(cluster), /no longer a member/);
    assert.deepEqual(leftOf(cluster), [`${NAMESPACE}/by-hand`]);
  });

  for (const writes of [1, 2, 3, 4]) {
    it(`can be told so again when the command was killed after write ${writes}`, async () => {
      const cluster = member();
      cluster.before = () => (cluster.writes.length >= writes ? new Error('killed') : undefined);
      await assert.rejects(goodbye(cluster), /killed/);
      cluster.before = () => undefined;
      await goodbye(cluster);
      assert.deepEqual(leftOf(cluster), [`${NAMESPACE}/by-hand`]);
    });
  }

  it('does not leave a broker that it cannot reach, unless by force', async () => {
    const cluster = member(NO_BROKER);
    await assert.rejects(goodbye(cluster), {
      code: 'BrokerUnreachable', message: /\[::1\]:1 cannot be reached: .*\. Where the broker is gone, .* --force\.$/,
    });
    assert.equal(leftOf(cluster).length, 6);
    await goodbye(cluster, true);
    assert.deepEqual(leftOf(cluster), [`${NAMESPACE}/by-hand`]);
  });

  it('leaves also where no kinds of a gateway are served any more', async () => {
    const cluster = member().withoutKinds(CLUSTERSET_MEMBERS, CLUSTERSET_ENDPOINTS, EXPORTED_SERVICES);
    await goodbye(cluster);
    assert.deepEqual(cluster.names(SECRETS), []);
  });

  it('that is none is told so', async () => {
    await assert.rejects(goodbye(new MemoryCluster()), {
      code: 'NotFound', message: `This cluster is not a member: there is no Secret ${NAMESPACE}/${GATEWAY_SECRET}.`,
    });
  });

  it('does not remove a Secret of that name that is no membership', async () => {
    const cluster = new MemoryCluster([SECRETS, { metadata: { namespace: NAMESPACE, name: GATEWAY_SECRET } }]);
    await assert.rejects(goodbye(cluster), { code: 'BadInput', message: /was not created by Isthmus and stays/ });
    assert.deepEqual(cluster.writes, []);
  });

  it('is not told that it has left when its Secret may not be read', async () => {
    const cluster = member();
    cluster.before = () => new ApiError(403, 'Forbidden', 'no');
    await assert.rejects(goodbye(cluster), { status: 403 });
  });
});

describe('a cluster that joins a clusterset', () => {
  const INSTALLED = [NAMESPACES, { metadata: { name: NAMESPACE } }] as const;
  const hello = (cluster: MemoryCluster, more: object = {}) => join(cluster.client, {
    namespace: NAMESPACE, clusterId: 'berlin', address: [], clusterCidr: [], serviceCidr: [], token, ...more,
  }, signal);

  for (const clusterId of ['', 'Berlin', 'ber.lin', '-berlin', 'b'.repeat(64), 'ber_lin', '../x']) {
    it(`is not called ${JSON.stringify(clusterId)}`, async () => {
      const cluster = new MemoryCluster();
      await assert.rejects(hello(cluster, { clusterId }), { code: 'BadInput', message: /^--cluster-id must be a DNS/ });
    });
  }

  for (const [what, given] of Object.entries({
    'is no token': 'nonsense', 'is cut off': token.slice(0, 60),
    'is that of an invitation': 'eyJhbGciOiJIUzI1NiJ9.e30.x',
  })) {
    it(`with a token that ${what} is told where to get one`, async () => {
      await assert.rejects(hello(new MemoryCluster(), { token: given }), {
        code: 'BadInput', message: /isthmus broker token/,
      });
    });
  }

  it('does not ask the broker, which would use up the token, before its Secret can be written', async () => {
    const cluster =
      new MemoryCluster(INSTALLED, [SECRETS, { metadata: { namespace: NAMESPACE, name: GATEWAY_SECRET } }]);
    await assert.rejects(hello(cluster), { code: 'BadInput', message: /rename it, or join with another --namespace/ });
  });

  it('nor where there is no namespace for its Secret', async () => {
    await assert.rejects(hello(new MemoryCluster()), {
      code: 'NotFound', message: `This cluster has no namespace ${NAMESPACE}: run "isthmus install" first. Nothing ` +
        'was changed.',
    });
  });

  it('may have made its Secret by hand before, without a broker', async () => {
    const { metadata, ...rest } = secret();
    const byHand = { ...rest, metadata: { ...metadata, labels: {} } };
    await assert.rejects(hello(new MemoryCluster(INSTALLED, [SECRETS, byHand])), { code: 'BrokerUnreachable' });
  });
});

describe('a cluster that cannot store its membership', () => {
  const INSTALLED = [NAMESPACES, { metadata: { name: NAMESPACE } }] as const;
  const store = new MemoryMemberStore();
  const tokenKey = createTokenKey();
  const clusterId = 'berlin';
  let broker: Broker | undefined;
  let newToken = async () => '';
  before(async () => {
    const authority = await createAuthority('clusterset of a test', 1, new Date());
    const serving = await authority.issue({ commonName: 'broker', ipAddresses: ['127.0.0.1'], days: 1 }, new Date());
    const options = {
      url: '', host: '127.0.0.1', port: 0, authority, serving, tokenKey, store, now: () => new Date(), logger: SILENT,
    };
    broker = await startBroker(options);
    options.url = `https://127.0.0.1:${broker.port}`;
    newToken = () => signBrokerToken(
      tokenKey, { brokerUrl: options.url, authority: authority.keyPair.certificate }, { now: new Date() },
    );
  });
  after(() => broker?.close());
  const hello = (cluster: MemoryCluster, given: string) => join(
    cluster.client, { namespace: NAMESPACE, clusterId, address: [], clusterCidr: [], serviceCidr: [], token: given },
    signal,
  );
  const refusing = (method: string) => (call: { readonly method: string }) =>
    (call.method === method ? new ApiError(403, 'Forbidden', 'exceeded quota') : undefined);

  it('does not use up its token where its API server says so before', async () => {
    const cluster = new MemoryCluster(INSTALLED);
    const given = await newToken();
    cluster.before = refusing('POST');
    await assert.rejects(hello(cluster, given), /exceeded quota/);
    assert.equal(store.clusters.has(clusterId), false);
    cluster.before = () => undefined;
    await hello(cluster, given.replaceAll(/.{80}/g, '$&\n')); // as a terminal wraps it
    await goodbye(cluster);
  });

  it('leaves again where that shows too late, so that its ID is free', async () => {
    const cluster = new MemoryCluster(INSTALLED);
    cluster.before = refusing('PATCH');
    await assert.rejects(hello(cluster, await newToken()), /exceeded quota/);
    assert.equal(store.clusters.has(clusterId), false);
    cluster.before = () => undefined;
    await hello(cluster, await newToken());
    await hello(cluster, await newToken()).then(() => assert.fail('twice'), () => undefined);
  });
});
