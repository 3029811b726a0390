// The options by which peering goes through the gateway, and by which it names the member whose pods those of the
// target are.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gatewayRoute, podPlaneCluster } from '../../../../cli/clusters/gateway-route.ts';

const ENDPOINTS = [new URL('http://127.0.0.1:8132')];

describe('the way through the gateway', () => {
  it('is none when none is asked for', () => assert.equal(gatewayRoute({}), undefined));
  it('names the endpoints and the cluster', () => assert.deepEqual(
    gatewayRoute({ gateway: ENDPOINTS, gatewayCluster: 'eu-west' }), { clusterId: 'eu-west', endpoints: ENDPOINTS },
  ));
  for (const [what, flags] of Object.entries(
    { 'the endpoints alone': { gateway: ENDPOINTS }, 'the cluster alone': { gatewayCluster: 'eu-west' } },
  )) {
    it(`is refused with ${what}`, () => assert.throws(() => gatewayRoute(flags), /used together/));
  }
  it('is refused for what is not a valid cluster ID', () => assert.throws(
    () => gatewayRoute({ gateway: ENDPOINTS, gatewayCluster: 'EU West' }), /not "EU West"/,
  ));
});

describe('the member whose pods those of the target are', () => {
  it('is nobody when none is named', () => assert.equal(
    podPlaneCluster({ gateway: ENDPOINTS, gatewayCluster: 'eu-west' }), undefined,
  ));
  it('is the one that is named, whatever way calls go', () => assert.equal(
    podPlaneCluster({ podPlaneCluster: 'eu-west' }), 'eu-west',
  ));
  it('is refused for what is not a valid cluster ID', () => assert.throws(
    () => podPlaneCluster({ podPlaneCluster: 'EU' }), /--pod-plane-cluster must be .* not "EU"/,
  ));
});
