import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { describe, it } from 'node:test';
import type { ClustersetMember, ClustersetEndpoint } from '../../../../api/kinds/gateway.ts';
import {
  globalRangesFor, issuedSerials, isTaken, parseEndpoint, parseJoin, planCopy, revokeAll, SERIALS_ANNOTATION,
  speaksFor, withSerial, type Parsed,
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
  it('of a member that has left do not speak for the next one of its ID', () => {
    const next = withSerial(cluster('a'), { serial: 'BB', notAfterMs: 300 }, 0);
    assert.deepEqual([speaksFor(next, 'BB'), speaksFor(next, 'AA')], [true, false]);
  });
  it('all speak for a member that was made by hand', () => assert.ok(speaksFor(cluster('a'), 'AA')));
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

describe('bodies of members that are refused', () => {
  const join = (more: object) => parseJoin({ token: 't', clusterId: 'eu', signingRequest: 's', ...more });
  const key = Buffer.alloc(32, 1).toString('base64');
  const wireguard = (more: object) => parseEndpoint({ backend: 'wireguard', addresses: ['a:1'], ...more }, 'eu');
  const rows: Record<string, readonly [parsed: Parsed<unknown>, says: RegExp]> = {
    'no token': [join({ token: undefined }), /token and signingRequest/],
    'a token that is a list': [join({ token: ['t'] }), /token and signingRequest/],
    'no request to sign': [join({ signingRequest: 1 }), /token and signingRequest/],
    'an ID with capitals': [join({ clusterId: 'EU' }), /clusterId must be a DNS label/],
    'an ID that is a path': [join({ clusterId: '../eu' }), /clusterId must be a DNS label/],
    'an address without a port': [join({ addresses: ['a:1', 'b'] }), /"b" is none/],
    'an address that is a number': [join({ addresses: [1] }), /at most 16 texts HOST:PORT$/],
    'seventeen addresses': [join({ addresses: Array.from({ length: 17 }, () => 'a:1') }), /at most 16/],
    'an address of 301 characters': [join({ addresses: [`${'a'.repeat(299)}:1`] }), /at most 16/],
    'ranges that are a text': [join({ clusterCIDR: '10.0.0.0/8' }), /clusterCIDR and serviceCIDR must be lists/],
    'ranges of Services that are numbers': [join({ serviceCIDR: [10] }), /clusterCIDR and serviceCIDR must be lists/],
    'an unknown driver': [wireguard({ backend: 'ipsec' }), /backend must be mtls or wireguard/],
    'a third key': [wireguard({ publicKeys: [key, key, key] }), /at most 2 keys/],
    'a key that is cut off': [wireguard({ publicKeys: [key.slice(4)] }), /keys of WireGuard/],
    'a key that would be configuration': [wireguard({ publicKeys: ['x\nPostUp = reboot'] }), /keys of WireGuard/],
  };
  for (const [what, [parsed, says]] of Object.entries(rows)) {
    it(`have ${what}`, () => assert.match(parsed.kind === 'invalid' ? parsed.message : 'it is accepted', says));
  }
  it('are those of WireGuard alone: keys beside mTLS are not kept', () => {
    const parsed = parseEndpoint({ addresses: [], publicKeys: [key] }, 'eu');
    assert.deepEqual(parsed.kind === 'value' && parsed.value.spec, { clusterID: 'eu', backend: 'mtls', addresses: [] });
  });
});

describe('global ranges of a member that joins', () => {
  const rangesOf = (name: string, clusterCIDR: readonly string[], globalCIDR?: readonly string[]) =>
    cluster(name, { clusterCIDR, ...(globalCIDR && { globalCIDR }) });
  const first = globalRangesFor('a', ['10.42.0.0/16'], []);
  const inA = rangesOf('a', ['10.42.0.0/16'], first);

  it('are as large as its own', () => assert.match(first.join(), /\/16$/));
  it('are kept when it joins again with the same pods', () =>
    assert.deepEqual(globalRangesFor('a', ['10.42.0.0/16'], [inA]), first));
  it('are never those of another member', () =>
    assert.notDeepEqual(globalRangesFor('b', ['10.42.0.0/16'], [inA]), first));
  it('are new ones when its pods have other ranges, and its old ones do not count as taken', () =>
    assert.match(globalRangesFor('a', ['10.42.0.0/20'], [inA]).join(), /\/20$/));
  it('are none when none are left: it is reached while nobody else uses its ranges', () =>
    assert.deepEqual(globalRangesFor('a', ['10.0.0.0/1'], []), []));
  it('are none for a member without ranges', () => assert.deepEqual(globalRangesFor('a', [], []), []));
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
