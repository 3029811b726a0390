import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { describe, it } from 'node:test';
import type { ClustersetMember, ClustersetEndpoint } from '../../../../api/kinds/gateway.ts';
import {
  issuedSerials, isTaken, parseEndpoint, parseJoin, planCopy, revokeAll, SERIALS_ANNOTATION, speaksFor, withSerial,
} from '../../../../gateway/broker/broker-protocol.ts';

const cluster = (name: string, spec: Partial<ClustersetMember['spec']> = {}): ClustersetMember =>
  ({ metadata: { name }, spec: { clusterID: name, ...spec } });
const endpoint = (name: string, addresses: readonly string[]): ClustersetEndpoint =>
  ({ metadata: { name: `${name}-mtls` }, spec: { clusterID: name, backend: 'mtls', addresses } });

describe('serial numbers of a member', () => {
  const one = withSerial(cluster('a'), { serial: 'AA', notAfterMs: 100 }, 0);
  it('are remembered', () => assert.deepEqual(issuedSerials(one), [{ serial: 'AA', notAfterMs: 100 }]));
  it('are forgotten when they have ended', () => assert.deepEqual(
    issuedSerials(withSerial(one, { serial: 'BB', notAfterMs: 300 }, 200)), [{ serial: 'BB', notAfterMs: 300 }],
  ));
  it('keep the ID taken while one may be good', () => {
    assert.ok(isTaken(one, 99));
    assert.ok(!isTaken(one, 100));
    assert.ok(!isTaken(revokeAll(one), 50));
  });
  it('that are unknown keep it taken: somebody made the object by hand', () => assert.ok(isTaken(cluster('a'), 0)));
  it('speak for it until they are revoked', () => {
    assert.ok(speaksFor(one, 'AA') && !speaksFor(revokeAll(one), 'AA') && !speaksFor(undefined, 'AA'));
  });
  it('are none where the annotation is nonsense', () => assert.deepEqual(
    issuedSerials({ ...cluster('a'), metadata: { name: 'a', annotations: { [SERIALS_ANNOTATION]: '{' } } }), [],
  ));
  it('revoked once stay revoked, once', () => assert.deepEqual(revokeAll(revokeAll(one)).spec.revokedSerials, ['AA']));
});

describe('bodies of members', () => {
  it('are read or refused, never more', () => {
    fc.assert(fc.property(fc.anything(), (body) => {
      for (const parse of [parseJoin, (one: unknown) => parseEndpoint(one, 'eu')]) {
        assert.ok(['value', 'invalid'].includes(parse(body).kind));
      }
    }));
  });
  it('may leave addresses and ranges out', () => {
    assert.deepEqual(parseJoin({ token: 't', clusterId: 'a', signingRequest: 's' }), {
      kind: 'value',
      value: { token: 't', clusterId: 'a', signingRequest: 's', addresses: [], clusterCIDR: [], serviceCIDR: [] },
    });
  });
});

describe('a local copy', () => {
  it('is left alone when it is current, also where an empty list is missing', () => {
    assert.deepEqual(planCopy([cluster('a', { clusterCIDR: [] })], [cluster('a')]), []);
  });
  it('gets what is new or has changed, and loses what is gone', () => {
    const changes =
      planCopy([endpoint('a', ['x:1']), endpoint('gone', [])], [endpoint('a', ['y:1']), endpoint('b', [])]);
    assert.deepEqual(changes, [
      { kind: 'apply', object: endpoint('a', ['y:1']) }, { kind: 'apply', object: endpoint('b', []) },
      { kind: 'delete', name: 'gone-mtls' },
    ]);
  });
  it('equals the broker after its changes, and then needs none', () => {
    const anEndpoint = fc.record({
      name: fc.constantFrom('a', 'b', 'c', 'd'), addresses: fc.array(fc.constantFrom('x:1', 'y:2'), { maxLength: 2 }),
    });
    const someEndpoints = fc.uniqueArray(anEndpoint, { selector: ({ name }) => name })
      .map((list) => list.map(({ name, addresses }) => endpoint(name, addresses)));
    fc.assert(fc.property(someEndpoints, someEndpoints, (local, remote) => {
      const copy = new Map(local.map((object) => [object.metadata.name ?? '', object]));
      for (const change of planCopy(local, remote)) {
        if (change.kind === 'apply') copy.set(change.object.metadata.name ?? '', change.object);
        else copy.delete(change.name);
      }
      assert.deepEqual(planCopy([...copy.values()], remote), []);
    }));
  });
});
