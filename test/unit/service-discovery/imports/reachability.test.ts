import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClustersetGateway, GatewayConnection, GatewayStatus } from '../../../../api/kinds/gateway.ts';
import { readReachability } from '../../../../service-discovery/imports/reachability.ts';

const cable = (backend: string, clusterID: string, status: GatewayConnection['status']): GatewayConnection =>
  ({ status, statusMessage: '', endpoint: { clusterID, backend }, usingNAT: false });
const gateway = (connections: readonly GatewayConnection[], more: Partial<GatewayStatus> = {}): ClustersetGateway =>
  ({
    metadata: { name: 'g' },
    status:
      { haStatus: 'active', version: '1', clusterID: 'eu', heartbeat: '2026-01-01T00:00:00Z', connections, ...more },
  });

describe('members out of reach', () => {
  const rows: [string, readonly ClustersetGateway[], readonly string[]][] = [
    ['are none where there is no gateway', [], []],
    ['are those whose cable is broken', [gateway([cable('mtls', 'us', 'error'), cable('mtls', 'asia', 'connected')])], [
      'us',
    ]],
    [
      'are not those that are only being dialled: a gateway that takes over dials them all',
      [gateway([cable('mtls', 'us', 'connecting')])], [],
    ],
    [
      'follow from the pod plane alone, where it leads to them',
      [gateway([cable('mtls', 'us', 'error')]), gateway(
        [cable('wireguard', 'us', 'connected'), cable('wireguard', 'asia', 'error')],
      )],
      ['asia'],
    ],
    [
      'follow from the other cables, where the pod plane leads to others only',
      [gateway([cable('mtls', 'us', 'error'), cable('mtls', 'asia', 'error')]), gateway(
        [cable('wireguard', 'asia', 'connected')],
      )],
      ['us'],
    ],
    [
      'follow from an existing Submariner as from a pod plane of ours',
      [gateway([cable('mtls', 'us', 'connected')]), gateway([cable('submariner', 'us', 'error')])], ['us'],
    ],
    [
      'follow from our own pod plane where both lead to them',
      [gateway([cable('submariner', 'us', 'error')]), gateway([cable('wireguard', 'us', 'connected')])], [],
    ],
    ['are not what a standby says', [gateway([cable('mtls', 'us', 'error')], { haStatus: 'passive' })], []],
    [
      'are what was said last, where a gateway was killed',
      [gateway([cable('mtls', 'us', 'error')]), gateway(
        [cable('mtls', 'us', 'connected')], { heartbeat: '2026-01-01T00:00:07Z' },
      )],
      [],
    ],
    ['are not what a gateway that says nothing of itself knows', [{ metadata: { name: 'g' } }], []],
  ];
  for (const [what, gateways, expected] of rows) {
    it(what, () => assert.deepEqual([...readReachability(gateways).unreachable], expected));
  }
});

describe('members on the pod plane', () => {
  it('are those that it leads to, also while it is broken', () => {
    const both = [gateway([cable('mtls', 'africa', 'connected')]), gateway(
      [cable('wireguard', 'us', 'connected'), cable('wireguard', 'asia', 'error')],
    )];
    assert.deepEqual([...readReachability(both).podPlane], ['us', 'asia']);
  });
});

describe('the address of listeners', () => {
  const at = (importAddress: string, more: Partial<GatewayStatus> = {}) =>
    gateway([cable('mtls', 'us', 'connected')], { importAddress, ...more });
  const rows: [string, readonly ClustersetGateway[], string | undefined][] = [
    ['is nowhere where no gateway listens', [gateway([cable('mtls', 'us', 'connected')])], undefined],
    ['is that of the active gateway', [at('10.0.0.1', { haStatus: 'passive' }), at('10.0.0.2')], '10.0.0.2'],
    [
      'is that of the one that took over', [at('10.0.0.1'), at('10.0.0.2', { heartbeat: '2026-01-01T00:00:07Z' })],
      '10.0.0.2',
    ],
    [
      'is not that of a gateway that took over from one and does not listen',
      [at('10.0.0.1'), gateway([cable('mtls', 'us', 'connected')], { heartbeat: '2026-01-01T00:00:07Z' })], undefined,
    ],
  ];
  for (const [what, gateways, expected] of rows) {
    it(what, () => assert.equal(readReachability(gateways).importAddress, expected));
  }
});
