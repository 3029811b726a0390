import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { describe, it } from 'node:test';
import type { ClustersetGateway } from '../../../../api/kinds/gateway.ts';
import {
  apiServerAuthority, clusterIdOfCertificate, exportedPortName, gatewayName, isClusterId, ownClusterId,
  parseExportedPort, parseRoute,
} from '../../../../model/network/gateway-names.ts';

const aClusterId = fc.stringMatching(/^[a-z0-9](?:[-a-z0-9]{0,20}[a-z0-9])?$/);

describe('cluster IDs', () => {
  for (const id of ['a', 'cluster-1', '0', 'x'.repeat(63)]) it(`${id} may be one`, () => assert.ok(isClusterId(id)));
  for (const id of ['', '-a', 'a-', 'A', 'a.b', 'a_b', 'x'.repeat(64), 'a\n', ' a']) {
    it(`"${id}" may not`, () => assert.ok(!isClusterId(id)));
  }
});

describe('the cluster of a certificate', () => {
  it('is the one that was put in', () => fc.assert(
    fc.property(aClusterId, (id) => assert.equal(clusterIdOfCertificate(`DNS:${gatewayName(id)}`), id)),
  ));
  const others = [
    undefined, '', 'DNS:a.example.com', 'DNS:gateway.isthmus.dev', 'DNS:a.b.gateway.isthmus.dev',
    'DNS:a.gateway.isthmus.dev, DNS:b.gateway.isthmus.dev', 'URI:a.gateway.isthmus.dev', 'DNS:"a.gateway.isthmus.dev"',
    'DNS:A.gateway.isthmus.dev', 'DNS:a.gateway.isthmus.dev.evil', 'IP Address:1.2.3.4, DNS:a.gateway.isthmus.dev',
    'DNS:a.gateway.isthmus.dev\n',
  ];
  for (const names of others) {
    it(`is not read from ${JSON.stringify(names)}`, () => assert.equal(clusterIdOfCertificate(names), undefined));
  }
});

describe('the route of a CONNECT request', () => {
  it('leads to the API server of the cluster that it names', () => fc.assert(
    fc.property(aClusterId, (clusterId) => assert.deepEqual(
      parseRoute(apiServerAuthority(clusterId)), { kind: 'route', clusterId, service: 'kube-apiserver' },
    )),
  ));
  const good: Record<string, [clusterId: string, service: string]> = {
    'east:443': ['east', 'kube-apiserver'], east: ['east', 'kube-apiserver'], 'EAST.gateway.isthmus.dev:6443': [
      'east', 'kube-apiserver',
    ], 'metrics.east.gateway.isthmus.dev:443': ['east', 'metrics'], 'metrics.east:443': ['east', 'metrics'],
  };
  for (const [authority, [clusterId, service]] of Object.entries(good)) {
    it(`${authority} leads to ${service} of ${clusterId}`, () => assert.deepEqual(
      parseRoute(authority), { kind: 'route', clusterId, service },
    ));
  }
  for (const authority of [
    '', ':443', 'a.b.c:443', '10.0.0.1:6443', 'east:443:443', 'east/..:443', 'ea st:443', '[::1]:443',
    '.gateway.isthmus.dev:443', `${'x'.repeat(64)}:443`,
  ]) {
    it(`"${authority}" leads nowhere`, () => assert.equal(parseRoute(authority).kind, 'invalid'));
  }
  it('never fails, whatever is asked for, and never repeats much of it',
    () => fc.assert(fc.property(fc.string({ maxLength: 2_000 }), (authority) => {
    const route = parseRoute(authority);
    assert.ok(
      route.kind === 'route'
        ? isClusterId(route.clusterId) && isClusterId(route.service)
        : route.message.length < 3_000,
    );
  })));
});

describe('the name of a port of an exported Service', () => {
  const aPort = fc.record(
    { namespace: aClusterId, name: aClusterId, port: fc.integer({ min: 1, max: 65_535 }) }, { noNullPrototype: true },
  );
  it('is read as it was made, and is no ID', () => fc.assert(fc.property(aPort, (port) => {
    assert.deepEqual(parseExportedPort(exportedPortName(port)), port);
    assert.ok(!isClusterId(exportedPortName(port)));
  })));
  for (const text of [
    'kube-apiserver', '_0._tcp.a.b.svc', '_65536._tcp.a.b.svc', '_80._udp.a.b.svc', '_80._tcp.a.b.c.svc',
    '_80._tcp.a.b.svc.', '_80._tcp.A.b.svc', '_80._tcp..b.svc', '',
  ]) {
    it(`is not "${text}"`, () => assert.equal(parseExportedPort(text), undefined));
  }
});

describe('the ID of a cluster', () => {
  const says = (clusterID: string, heartbeat: string, haStatus: 'active' | 'passive' = 'active'): ClustersetGateway =>
    ({ metadata: { name: 'g' }, status: { haStatus, version: '1', clusterID, heartbeat, connections: [] } });
  const rows: [string, readonly ClustersetGateway[], string | undefined][] = [
    ['is unknown without a gateway', [], undefined],
    ['is unknown while a gateway says nothing of itself', [{ metadata: { name: 'g' } }], undefined],
    ['is what a gateway says, active or not', [says('eu', '2026-01-01T00:00:00Z', 'passive')], 'eu'],
    ['is unknown to a gateway that has not joined', [says('', '2026-01-01T00:00:00Z')], undefined],
    [
      'is what was said last, where the cluster has left and joined as another',
      [says('eu', '2026-01-01T00:00:00Z'), says('eu2', '2026-02-01T00:00:00Z')], 'eu2',
    ],
  ];
  for (const [what, gateways, expected] of rows) it(what, () => assert.equal(ownClusterId(gateways), expected));
});
