// What DNS announces is a hint: before an administrator has approved it, no Secret is read for it, whatever the answers
// of DNS name.
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { DNS } from '../../../../discovery/registries/dns.ts';
import { RegistryFollower } from '../../../../discovery/watch/registry-follower.ts';
import { startDnsZone, zoneOf, type DnsZone } from '../../../support/doubles/dns-zone.ts';
import { ScriptedApiServer, SILENT } from '../../../support/doubles/scripted-api-server.ts';

const DOMAIN = 'clusters.example';
const announced = ['eu', 'us'].map((instance) =>
  ({ instance, target: `api.${instance}.example`, port: 6443, texts: ['txtvers=1'] }));

describe('a hint of DNS', () => {
  let zone: DnsZone;
  let server: ScriptedApiServer;
  let follower: RegistryFollower;
  let changed: () => void = () => undefined;
  before(async () => {
    zone = await startDnsZone();
    zone.answerBy(zoneOf(DOMAIN, announced));
  });
  after(() => zone.stop());
  beforeEach(async () => {
    server = await ScriptedApiServer.start();
    const read = new Promise<void>((resolve) => (changed = resolve));
    const spec = { from: { dns: { domain: DOMAIN, server: zone.address } }, namespaces: ['hints'] };
    follower = new RegistryFollower(
      { client: server.client, logger: SILENT, changed: () => changed() }, { registry: DNS, spec },
    );
    await read;
  });
  afterEach(async () => {
    follower.stop();
    await server.stop();
  });

  const accesses = (): readonly (readonly [entry: string, kind: string])[] => {
    const reading = follower.reading();
    assert.ok(reading.kind === 'read');
    return reading.clusters.map(({ entry, access: { kind } }) => [entry, kind] as const);
  };

  it('is shown, and has no Secret read before its approval', () => {
    follower.approve([]);
    assert.deepEqual(accesses(), [['Service eu', 'waiting'], ['Service us', 'waiting']]);
    assert.equal(server.requests, 0);
  });

  it('has none read by the approval of another one, or of a name that is not announced', async () => {
    follower.approve(['us', 'kube-root-ca']);
    const { path, query } = await server.next();
    assert.equal(path, '/api/v1/namespaces/hints/secrets');
    assert.equal(query.get('fieldSelector'), 'metadata.name=us', 'of the approved one alone, in its namespace');
    assert.equal(server.requests, 1);
  });

  it('has none read any more once its approval is withdrawn', async () => {
    follower.approve(['eu']);
    const list = await server.next();
    follower.approve([]);
    await list.closed();
    assert.deepEqual(accesses(), [['Service eu', 'waiting'], ['Service us', 'waiting']]);
    assert.equal(server.requests, 1);
  });
});
