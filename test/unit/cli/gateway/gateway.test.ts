import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse, stringify } from 'yaml';
import type { ClustersetGateway } from '../../../../api/kinds/gateway.ts';
import { brokerUrl, servingRequest } from '../../../../cli/gateway/broker.ts';
import { gatewayCommand, throughGateway } from '../../../../cli/gateway/gateway.ts';
import { checkGateway, checkLines } from '../../../../cli/gateway/gateway-checks.ts';
import { planeAddresses } from '../../../../cli/gateway/gateway-node.ts';
import { allowedServices } from '../../../../cli/gateway/gateway-run.ts';
import { connectionsTable, endpointsTable, gatewaysTable } from '../../../../cli/gateway/gateway-table.ts';
import { parseGateways } from '../../../../cli/clusters/run-flags.ts';
import type { ParsedCredentials } from '../../../../gateway/broker/gateway-secret.ts';
import type { ClusterConnection } from '../../../../kubernetes/credentials/kubeconfig.ts';
import { AppError } from '../../../../process/errors.ts';
import { AnsweringApiServer } from '../../../support/doubles/answering-api-server.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const RTT = { last: '1ms', min: '1ms', average: '1.5ms', max: '2ms', stdDev: '0s' };
const active: ClustersetGateway = {
  metadata: { name: 'gw-1' },
  status: {
    haStatus: 'active', version: '0.1.0',
    clusterID: 'west', heartbeat: new Date(NOW - 1_000).toISOString(), certificateExpires: '2026-11-22T00:00:00.000Z',
    connections: [
      {
        status: 'connected', statusMessage: '4 sessions', endpoint: { clusterID: 'east', backend: 'mtls' },
        usingIP: '10.0.0.1', usingNAT: true, latencyRTT: RTT,
      },
      {
        status: 'error', statusMessage: 'north:443: nothing listens there',
        endpoint: { clusterID: 'north', backend: 'mtls' }, usingNAT: false,
      },
    ],
  },
};
const passive: ClustersetGateway = {
  metadata: { name: 'gw-2' },
  status: {
    haStatus: 'passive', version: '0.1.0', clusterID: 'west', heartbeat: new Date(NOW).toISOString(), connections: [],
  },
};
const member: ParsedCredentials = {
  kind: 'credentials',
  credentials: {
    clusterId: 'west', certificate: '', key: '', authority: '', addresses: [], notBeforeMs: NOW - 1_000,
    notAfterMs: NOW + 3_600_000,
  },
};

describe('tables', () => {
  it('show connections with the cause of those that are down', () => {
    assert.equal(connectionsTable([active, passive]), [
      'GATEWAY   CLUSTER   REMOTE IP   NAT   CABLE DRIVER   STATUS      RTT avg.   MESSAGE',
      'gw-1      east      10.0.0.1    yes   mtls           connected   1.5ms      <none>',
      'gw-1      north     <none>      no    mtls           error       <none>     north:443: nothing listens there',
    ].join('\n'));
  });
  it('show endpoints, the own one as local', () => {
    const endpoints = [{ metadata: {}, spec: { clusterID: 'west', backend: 'mtls', addresses: ['a:1', 'b:2'] } }, {
      metadata: {}, spec: { clusterID: 'east', backend: 'mtls' },
    }];
    assert.equal(
      endpointsTable('west', endpoints),
      [
        'CLUSTER   ENDPOINT IP   CABLE DRIVER   TYPE', 'west      a:1,b:2       mtls           local',
        'east      (dials out)   mtls           remote',
      ].join('\n'),
    );
  });
  it('show gateways with what is wrong first', () => {
    const table = gatewaysTable([active, passive, { metadata: { name: 'gw-3' } }]);
    assert.match(table, /gw-1 +active +1 of 2 connections are up/);
    assert.match(table, /gw-2 +passive +stands by/);
    assert.match(table, /gw-3 +unknown/);
  });
});

describe('checks', () => {
  const check = (part: Partial<Parameters<typeof checkGateway>[0]> = {}) =>
    checkLines(checkGateway({ secret: member, gateways: [active, passive], nowMs: NOW, peers: [], ...part }));
  it('name what is down and why', () => assert.match(
    check(),
    /✓ a gateway connection to east: round trip 1\.5ms\n✗ a gateway connection to north: north:443: nothing listens there$/,
  ));
  it('look at one peer when asked to', () => assert.doesNotMatch(check({ peers: ['east'] }), /north/));
  const wrong: Record<string, [part: Parameters<typeof check>[0], says: RegExp]> = {
    'that the cluster is no member': [{ secret: undefined }, /✗ the cluster is a member: .*gateway join/],
    'what is wrong with the Secret': [
      { secret: { kind: 'invalid', message: 'tls.crt is not a valid certificate' } },
      /✗ the cluster is a member: tls\.crt/,
    ],
    'a certificate that has ended': [{ nowMs: NOW + 4_000_000 }, /✗ its certificate is good: it ended .*join again/],
    'a clock that is wrong':
      [{ nowMs: NOW - 10_000 }, /✗ its certificate is good: it is not valid yet; correct the clock/],
    'that no gateway is active': [{ gateways: [passive] }, /✗ one gateway is active: 0 are active; start one/],
    'a gateway that has died': [
      { gateways: [{ ...active, status: { ...active.status!, heartbeat: new Date(NOW - 61_000).toISOString() } }] },
      /✗ one gateway is active: 0/,
    ],
    'a peer that is no member':
      [{ peers: ['south'] }, /✗ a gateway connection to south: "south" is not a known member/],
    'what is wrong with the gateway itself': [
      { gateways: [{ ...active, status: { ...active.status!, statusFailure: 'port in use' } }] },
      /✗ the gateway is well: port in use/,
    ],
  };
  for (const [what, [part, says]] of Object.entries(wrong)) it(`name ${what}`, () => assert.match(check(part), says));
});

describe('--dns of verify', () => {
  const parse = (text: string) => gatewayCommand().parseAsync(['verify', 'us', '--dns', text], { from: 'user' });
  for (const text of ['localhost:8053', '10.96.0.10:dns', 'fd00::1]:53', '']) {
    it(`refuses "${text}", which no resolver takes`, () => assert.rejects(
      parse(text), ({ code, message }: AppError) => code === 'BadInput' && message.startsWith('--dns must be IP:PORT'),
    ));
  }
});

describe('checks of a cluster', () => {
  it('go by its clock, whatever that of the machine that asks says', async (t) => {
    const now = Date.now();
    const gateways = [active, passive].map(({ metadata, status }) => ({
      metadata: { ...metadata, namespace: 'isthmus-system' },
      status: { ...status, heartbeat: new Date(now).toISOString() },
    }));
    const server = await AnsweringApiServer.start({ secrets: [], clustersetgateways: gateways });
    t.after(() => server.stop());
    const lines: string[] = [];
    t.mock.method(console, 'log', (text: string) => lines.push(text));
    t.mock.timers.enable({ apis: ['Date'], now: now + 600_000 });
    const flags = ['--kubeconfig', await server.kubeconfig()];
    await gatewayCommand().parseAsync(['verify', 'us', '--only', 'gateway-failover', ...flags], { from: 'user' });
    await gatewayCommand().parseAsync(['diagnose', ...flags], { from: 'user' });
    process.exitCode = undefined; // there is no Secret
    assert.match(lines.join('\n'), /^✓ a standby takes over from the gateway \(mtls\): gw-2$/m);
    assert.match(lines.join('\n'), /^✓ one gateway is active: gw-1$/m);
  });
});

describe('a kubeconfig through the gateway', () => {
  const config = {
    clusters: [{ name: 'c', cluster: { server: 'https://10.0.0.1:6443', 'certificate-authority-data': 'QQ==' } }],
    users: [{ name: 'u', user: { token: 't' } }], contexts: [], 'current-context': 'x',
  };
  it('goes by the proxy to the name of the cluster, and expects the server that it named', () => {
    const text = throughGateway(stringify(config), 'east', new URL('http://127.0.0.1:8132'), '/kube');
    const made = parse(text) as typeof config;
    assert.deepEqual(made.clusters[0]?.cluster, {
      server: 'https://east.gateway.isthmus.dev:443', 'certificate-authority-data': 'QQ==',
      'proxy-url': 'http://127.0.0.1:8132', 'tls-server-name': '10.0.0.1',
    });
    assert.deepEqual(made.users, config.users);
  });
  it('keeps a server name that was given', () => {
    const named = {
      ...config, clusters: [{ name: 'c', cluster: { server: 'https://10.0.0.1', 'tls-server-name': 'kubernetes' } }],
    };
    const made = throughGateway(stringify(named), 'east', new URL('http://x:1'), '/kube');
    assert.match(made, /tls-server-name: kubernetes/);
  });
  it('names the same files wherever it is put', () => {
    const user = { 'client-certificate': 'me.crt', 'client-key': '/keys/me.key' };
    const text = stringify({ ...config, users: [{ name: 'on', user }] });
    const made = throughGateway(text, 'east', new URL('http://x:1'), '/kube');
    assert.match(made, /- name: "on"\n +user:\n +client-certificate: \/kube\/me\.crt\n +client-key: \/keys\/me\.key\n/);
  });
  it('needs a cluster ID', () => assert.throws(
    () => throughGateway('', 'A.b', new URL('http://x:1'), '/kube'), /not a valid cluster ID/,
  ));
});

describe('options', () => {
  it('of the broker: its URL in one form', () => assert.equal(
    brokerUrl('https://broker.example:8443/'), 'https://broker.example:8443',
  ));
  for (const url of ['http://broker', 'https://user@broker', 'https://broker/path', 'broker:8443']) {
    it(`of the broker: ${url} is refused`, () => assert.throws(() => brokerUrl(url), /--url must be https/));
  }
  it('of the broker: its certificate is for an address or a name', () => {
    assert.deepEqual(servingRequest('https://10.0.0.1:8443').ipAddresses, ['10.0.0.1']);
    assert.deepEqual(servingRequest('https://[fd00::1]').ipAddresses, ['fd00::1']);
    assert.deepEqual(servingRequest('https://broker.example').dnsNames, ['broker.example']);
  });
  it('of run: gateways as a list', () => assert.deepEqual(
    parseGateways('http://a:1, http://b:2').map(({ origin }) => origin), ['http://a:1', 'http://b:2'],
  ));
  for (const text of ['https://a:1', 'a:1', 'http://a:1/path', '']) {
    it(`of run: gateway "${text}" is refused`, () => assert.throws(() => parseGateways(text), /--gateway takes http/));
  }
  const cluster = {
    connection: {
      server: new URL('https://10.0.0.1'), insecure: false, credentials: { kind: 'none' },
    } satisfies ClusterConnection,
  };
  it('of the gateway: its API server is a service unless another is named', () => {
    assert.deepEqual(allowedServices([], cluster).get('kube-apiserver'), { host: '10.0.0.1', port: 443 });
    assert.deepEqual(
      allowedServices(['kube-apiserver=lb:6443'], cluster).get('kube-apiserver'), { host: 'lb', port: 6443 },
    );
    assert.throws(() => allowedServices(['x'], cluster), /--service/);
  });
});

describe('--address of a node', () => {
  const rows: [string, readonly string[], readonly string[] | undefined][] = [
    ['that is missing leaves it to the nodes\' own', [], undefined],
    ['none means that it can only dial out', ['none'], []],
    ['may be several', ['a:1', '10.0.0.1:2'], ['a:1', '10.0.0.1:2']],
  ];
  for (const [what, given, expected] of rows) it(what, () => assert.deepEqual(planeAddresses(given), expected));
  for (const given of [['x'], ['none', 'a:1'], ['a:0']]) {
    it(`refuses ${given.join(' ')}`, () => assert.throws(
      () => planeAddresses(given), (error) => error instanceof AppError && error.code === 'BadInput',
    ));
  }
});

describe('the checks of a pod plane', () => {
  const status = (more: object) => ({
    haStatus: 'active', version: '1', clusterID: 'eu', heartbeat: new Date(0).toISOString(), connections: [], ...more,
  }) as never;
  const plane = (more: object = {}) =>
    ({ metadata: { name: 'pod-plane-a' }, status: status({ backend: 'wireguard', ...more }) });
  const checks = (...gateways: readonly { metadata: { name: string }; status: never }[]) => checkGateway(
    { secret: undefined, gateways, nowMs: 0, peers: [] },
  ).map(({ what, holds }) => `${holds ? '✓' : '✗'} ${what}`).slice(3);
  it('are none where no node runs it', () => assert.deepEqual(
    checks({ metadata: { name: 'g' }, status: status({ backend: 'mtls' }) }), [],
  ));
  it('tell which node is its gateway, and which pods are reached', () => {
    const connections = [
      { status: 'connected', statusMessage: '', usingNAT: false, endpoint: { clusterID: 'us', backend: 'wireguard' } },
      { status: 'error', statusMessage: 'x', usingNAT: false, endpoint: { clusterID: 'asia', backend: 'wireguard' } },
    ];
    assert.deepEqual(checks(plane({ connections })), [
      '✓ one node is the gateway of the pod plane', '✓ pods of us are reached', '✗ pods of asia are reached',
    ]);
  });
  it('tell that no node is', () => assert.deepEqual(
    checks(plane({ haStatus: 'passive' })), ['✗ one node is the gateway of the pod plane'],
  ));
  it('tell what is wrong with it', () => assert.deepEqual(
    checks(plane({ statusFailure: 'no right to' })),
    ['✓ one node is the gateway of the pod plane', '✗ the pod plane is healthy'],
  ));
});
