import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Condition } from '../../../../api/objects/core.ts';
import type { ClustersetGateway } from '../../../../api/kinds/gateway.ts';
import type { ServiceExport, ServiceImport } from '../../../../api/kinds/service-discovery.ts';
import { checkFailover, checkServices } from '../../../../cli/gateway/clusterset-checks.ts';
import { parseVerifications } from '../../../../cli/gateway/gateway-verify.ts';
import { AppError } from '../../../../process/errors.ts';

const condition = (type: string, status: 'True' | 'False', message: string): Condition =>
  ({ type, status, reason: 'R', message, lastTransitionTime: '' });
const exported = (...conditions: readonly Condition[]): ServiceExport =>
  ({ metadata: { namespace: 'shop', name: 'web' }, status: { conditions } });
const imported = (...conditions: readonly Condition[]): ServiceImport => ({
  metadata: { namespace: 'shop', name: 'web' }, spec: { type: 'ClusterSetIP', ports: [] },
  status: { clusters: [{ cluster: 'us' }], conditions },
});
const say = (checks: ReturnType<typeof checkServices>) =>
  checks.map(({ what, holds, detail }) => `${holds ? '✓' : '✗'} ${what}: ${detail}`);
const answers = (answer?: readonly string[] | string) =>
  new Map(answer === undefined ? [] : [['shop/web', answer] as const]);

describe('the verification of Services', () => {
  const rows: [
    string, readonly ServiceExport[], readonly ServiceImport[], readonly string[] | string | undefined, string,
  ][] = [
    [
      'says what to do where there are none', [], [], undefined,
      '✗ a Service is exported: none is, here or elsewhere: run "isthmus service export NAME -n NAMESPACE"',
    ],
    [
      'says that the others know of an export', [exported(condition('Ready', 'True', 'they do'))], [], undefined,
      '✓ the others know of shop/web: they do',
    ],
    [
      'says why they do not', [exported(condition('Ready', 'False', 'the broker is away'))], [], undefined,
      '✗ the others know of shop/web: the broker is away',
    ],
    [
      'says that nobody has looked', [exported()], [], undefined,
      '✗ the others know of shop/web: no component has processed it: run "isthmus service run" in this cluster',
    ],
    [
      'tells contradictions, which break nothing',
      [exported(condition('Ready', 'True', 'ok'), condition('Conflict', 'True', 'ports differ'))], [], undefined,
      '✓ the others know of shop/web: ok; R: ports differ',
    ],
    [
      'says what an import resolves to', [], [imported(condition('Ready', 'True', ''))], ['10.96.0.9'],
      '✓ shop/web of us resolves: 10.96.0.9',
    ],
    [
      'says that nothing healthy is behind one', [], [imported()], [],
      '✗ shop/web of us resolves: it has no healthy endpoint: see "isthmus gateway diagnose" and the pods behind it',
    ],
    [
      'says that the DNS server does not answer', [], [imported()], '10.0.0.1 says ETIMEOUT',
      '✗ shop/web of us resolves: 10.0.0.1 says ETIMEOUT',
    ],
    [
      'says that one has no address yet', [], [imported(condition('Ready', 'False', 'no address was given yet'))],
      ['x'], '✗ shop/web of us resolves: no address was given yet',
    ],
  ];
  for (const [what, exports, imports, answer, expected] of rows) {
    it(what, () => assert.deepEqual(say(checkServices({ exports, imports, answers: answers(answer) })), [expected]));
  }
});

describe('the verification of failover', () => {
  const gateway = (
    name: string, haStatus: 'active' | 'passive', backend: string, heartbeatMs = 0,
  ): ClustersetGateway => ({
    metadata: { name },
    status: {
      haStatus, version: '1', clusterID: 'eu', backend, heartbeat: new Date(heartbeatMs).toISOString(), connections: [],
    },
  });
  const failover = (...gateways: readonly ClustersetGateway[]) =>
    checkFailover(gateways, 0).map(({ what, holds, detail }) => `${holds ? '✓' : '✗'} ${what}: ${detail}`);
  it('wants a standby for each kind of gateway', () => {
    assert.deepEqual(failover(
      gateway('a', 'active', 'mtls'), gateway('b', 'passive', 'mtls'), gateway('n', 'active', 'wireguard'),
    ), [
      '✓ a standby takes over from the gateway (mtls): b',
      '✗ a standby takes over from the gateway (wireguard): there is none: run "isthmus gateway node" on a second ' +
        'node, and label it isthmus.dev/gateway=true',
    ]);
  });
  it('does not count a standby that has not been heard for a minute', () => assert.match(
    failover(gateway('a', 'active', 'mtls'), gateway('b', 'passive', 'mtls', -60_001))[0] ?? '', /^✗/,
  ));
  it('says what to do where no gateway runs', () => assert.deepEqual(
    failover(), ['✗ a gateway runs: none does: start one with "isthmus gateway run"'],
  ));
});

describe('--only', () => {
  it('takes Submariner\'s names', () => assert.deepEqual(
    parseVerifications('connectivity,service-discovery, gateway-failover'),
    ['connectivity', 'service-discovery', 'gateway-failover'],
  ));
  it('refuses others, and names those there are', () => assert.throws(
    () => parseVerifications('all'),
    (error) =>
      error instanceof AppError && /choose from connectivity, service-discovery, gateway-failover/.test(error.message),
  ));
});
