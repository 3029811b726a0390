import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CableConnection } from '../../../../gateway/protocol/cable-driver.ts';
import {
  activeConnectAddress, GONE_AFTER_MS, HEARTBEAT_MS, isGone, needsUpdate, toGatewayStatus, type GatewayFacts,
} from '../../../../gateway/status/gateway-status.ts';

const RTT = { last: '1ms', min: '1ms', average: '1ms', max: '1ms', stdDev: '0s' };
const CABLE: CableConnection = {
  clusterId: 'east', status: 'connected', statusMessage: '4 sessions', usingIP: '10.0.0.1', usingNAT: true, rxBytes: 1,
  txBytes: 2, latencyRTT: RTT,
};
const FACTS: GatewayFacts =
  { isActive: true, version: '0.1.0', clusterId: 'west', backend: 'mtls', connections: [CABLE], nowMs: 1_000_000 };
const status = (part: Partial<GatewayFacts> = {}) => toGatewayStatus({ ...FACTS, ...part });

describe('the status of a Gateway', () => {
  it('has the fields of Submariner', () => {
    assert.deepEqual(status(), {
      haStatus: 'active', version: '0.1.0', clusterID: 'west', backend: 'mtls', heartbeat: '1970-01-01T00:16:40.000Z',
      connections: [{
        status: 'connected', statusMessage: '4 sessions', endpoint: { clusterID: 'east', backend: 'mtls' },
        usingNAT: true, usingIP: '10.0.0.1', latencyRTT: RTT,
      }],
    });
  });
  it('says where it listens for imports', () => assert.equal(
    status({ importAddress: '10.0.0.7' }).importAddress, '10.0.0.7',
  ));
  it('says what is wrong with the gateway, and when its certificate ends', () => {
    const { statusFailure, certificateExpires } = status({ failure: 'no Secret', certificateEndMs: 0 });
    assert.deepEqual([statusFailure, certificateExpires], ['no Secret', '1970-01-01T00:00:00.000Z']);
  });

  it('says where other gateways find the active one, by the latest that says it', () => {
    const at = (connectAddress: string | undefined, part: Partial<GatewayFacts> = {}) =>
      ({ metadata: {}, status: status({ connectAddress, ...part }) });
    const killed = at('10.0.0.1:8132');
    const next = at('[fd00::2]:8132', { nowMs: FACTS.nowMs + 1 });
    const others = [at('10.0.0.3:8132', { isActive: false, nowMs: FACTS.nowMs + 2 }), at(undefined), { metadata: {} }];
    assert.deepEqual(activeConnectAddress([killed, ...others, next]), { host: 'fd00::2', port: 8_132 });
    assert.equal(activeConnectAddress(others), undefined);
  });

  const later = { nowMs: FACTS.nowMs + 1_000 };
  it('is written at first', () => assert.ok(needsUpdate(undefined, status())));
  it('is not written for a round trip alone', () => assert.ok(
    !needsUpdate(status(), status(
      { ...later, connections: [{ ...CABLE, latencyRTT: { ...RTT, last: '9ms' }, statusMessage: '3 sessions' }] },
    )),
  ));
  it('is written when the heartbeat is due', () => assert.ok(
    needsUpdate(status(), status({ nowMs: FACTS.nowMs + HEARTBEAT_MS })),
  ));
  it('is written when the clock was set back, so that it does not become that of a process that is gone', () =>
    assert.ok(needsUpdate(status(), status({ nowMs: FACTS.nowMs - 600_000 }))));
  const changes: Record<string, Partial<GatewayFacts>> = {
    'it becomes passive': { isActive: false }, 'a cable breaks':
      { connections: [{ ...CABLE, status: 'error', statusMessage: 'refused' }] }, 'a cable goes': { connections: [] },
    'the peer is seen elsewhere': { connections: [{ ...CABLE, usingIP: '10.0.0.2' }] }, 'something is wrong': {
      failure: 'x',
    }, 'it listens for imports': { importAddress: '10.0.0.7' }, 'the certificate is renewed': { certificateEndMs: 5 },
    'its CONNECT endpoint is elsewhere': { connectAddress: '10.0.0.7:8132' },
  };
  for (const [what, change] of Object.entries(changes)) {
    it(`is written at once when ${what}`, () => assert.ok(needsUpdate(status(), status({ ...later, ...change }))));
  }
  it('that is old belongs to a process that is gone', () => {
    assert.ok(isGone(status(), FACTS.nowMs + GONE_AFTER_MS + 1));
    assert.ok(!isGone(status(), FACTS.nowMs + GONE_AFTER_MS) && !isGone(undefined, 0));
  });
});
