import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Gateway, GatewayConnection } from '../../../api/gateway.ts';
import { unreachableMembers } from '../../../service-discovery/reachability.ts';

const cable = (backend: string, clusterID: string, status: GatewayConnection['status']): GatewayConnection => ({ status, statusMessage: '', endpoint: { clusterID, backend }, usingNAT: false });
const gateway = (connections: readonly GatewayConnection[], { haStatus = 'active', heartbeat = '2026-01-01T00:00:00Z' }: { haStatus?: 'active' | 'passive'; heartbeat?: string } = {}): Gateway =>
  ({ metadata: { name: 'g' }, status: { haStatus, version: '1', clusterID: 'eu', heartbeat, connections } });

describe('members out of reach', () => {
  const rows: [string, readonly Gateway[], readonly string[]][] = [
    ['are none where there is no gateway', [], []],
    ['are those whose cable is broken', [gateway([cable('mtls', 'us', 'error'), cable('mtls', 'asia', 'connected')])], ['us']],
    ['are not those that are only being dialled: a gateway that takes over dials them all', [gateway([cable('mtls', 'us', 'connecting')])], []],
    ['follow from the pod plane alone, where there is one', [gateway([cable('mtls', 'us', 'error')]), gateway([cable('wireguard', 'us', 'connected'), cable('wireguard', 'asia', 'error')])], ['asia']],
    ['are not what a standby says', [gateway([cable('mtls', 'us', 'error')], { haStatus: 'passive' })], []],
    ['are what was said last, where a gateway was killed', [gateway([cable('mtls', 'us', 'error')]), gateway([cable('mtls', 'us', 'connected')], { heartbeat: '2026-01-01T00:00:07Z' })], []],
    ['are not what a gateway that says nothing of itself knows', [{ metadata: { name: 'g' } }], []],
  ];
  for (const [what, gateways, expected] of rows) it(what, () => assert.deepEqual([...unreachableMembers(gateways)], expected));
});
