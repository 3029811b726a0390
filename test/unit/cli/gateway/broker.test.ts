// The end of a membership by the broker's administrator.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClustersetMember } from '../../../../api/kinds/gateway.ts';
import { CLUSTERSET_ENDPOINTS, CLUSTERSET_MEMBERS } from '../../../../api/resource-types.ts';
import { revoke } from '../../../../cli/gateway/broker.ts';
import { withSerial } from '../../../../gateway/broker/broker-protocol.ts';
import { MemoryCluster } from '../../../support/memory-cluster.ts';

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
