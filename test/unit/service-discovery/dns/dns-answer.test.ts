import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ExportedService } from '../../../../api/kinds/service-discovery.ts';
import { answerQuestion, toDnsService, type DnsAnswer } from '../../../../service-discovery/dns/dns-answer.ts';
import { mergeExports } from '../../../../service-discovery/imports/merge-exports.ts';
import type { Preference } from '../../../../service-discovery/imports/preference.ts';
import { exportOf } from '../../../support/objects/exported-services.ts';

const prefixes =
  new Map(['eu', 'us', 'asia'].map((id, index) => [id, [{ own: '10.1.0.0/16', seen: `242.${index}.0.0/16` }]]));
const endpoints = (...list: readonly [address: string, ready: boolean, hostname?: string][]) => [
  {
    addressType: 'IPv4', ports: [{ name: 'http', protocol: 'TCP', port: 8_080 }],
    endpoints:
      list.map(([address, ready, hostname]) => ({ address, ready, ...(hostname !== undefined && { hostname }) })),
  },
];

interface Given {
  readonly exports: readonly ExportedService[];
  readonly unreachable?: readonly string[];
  readonly localIps?: readonly string[];
  readonly ips?: readonly string[];
  readonly preference?: Preference;
  readonly importAddress?: string;
}

/** Asked in cluster `eu`. */
function ask(
  name: string,
  { exports, unreachable = [], localIps = [], ips = ['10.96.0.100'], preference = 'local', importAddress }: Given,
  type = 'A',
): DnsAnswer {
  const merged = mergeExports(exports);
  const service = merged && toDnsService(
    {
      clusterId: 'eu', merged, prefixes, unreachable: new Set(unreachable), podPlane: new Set(), importAddress, ips,
      preference,
    },
    localIps,
  );
  return answerQuestion(
    { name, type }, (namespace, called) => (namespace === 'shop' && called === 'web' ? service : undefined),
  );
}
const addresses = (answer: DnsAnswer) => [answer.code, ...answer.records.map(
  (record) => ('address' in record ? record.address : record.type === 'SRV' && `${record.target}:${record.port}`),
)];
const WEB = 'web.shop.svc.clusterset.local';
const us = exportOf('us');
const eu = exportOf('eu');
const carried: ExportedService = { ...us, status: { listeners: [{ port: 80, listenerPort: 20_001 }] } };
const local = '10.96.0.7';

describe('a Service with one address', () => {
  const rows: [string, string, Given, string[]][] = [
    ['of another cluster is answered with the address of the import', WEB, { exports: [us] }, [
      'NOERROR', '10.96.0.100',
    ]],
    [
      'of this cluster, too, is answered with the address of the import', WEB,
      { exports: [us, eu], localIps: [local] }, ['NOERROR', '10.96.0.100'],
    ],
    [
      'without ready endpoints here is answered with the address of the import', WEB,
      { exports: [us, exportOf('eu', { slices: endpoints(['10.1.0.1', false]) })], localIps: [local] },
      ['NOERROR', '10.96.0.100'],
    ],
    [
      'that a listener of the gateway carries is answered with the address of the import', WEB,
      { exports: [carried], importAddress: '10.9.0.1' }, ['NOERROR', '10.96.0.100'],
    ],
    [
      'that a listener carries has no answer while its cluster is away', WEB,
      { exports: [carried], importAddress: '10.9.0.1', unreachable: ['us'] }, ['NOERROR'],
    ],
    ['whose clusters are all away is there and has no answer', WEB, { exports: [us], unreachable: ['us'] }, [
      'NOERROR',
    ]],
    ['of which one cluster is away is still answered', WEB, { exports: [us, exportOf('asia')], unreachable: ['us'] }, [
      'NOERROR', '10.96.0.100',
    ]],
    [
      'without ready endpoints anywhere has no answer', WEB,
      { exports: [exportOf('us', { slices: endpoints(['10.1.0.1', false]) })] }, ['NOERROR'],
    ],
    ['that has no address yet has no answer', WEB, { exports: [us], ips: [] }, ['NOERROR']],
    ['that nobody exports does not exist', WEB, { exports: [] }, ['NXDOMAIN']],
    ['of another name does not exist', 'api.shop.svc.clusterset.local', { exports: [us] }, ['NXDOMAIN']],
    ['of another namespace does not exist', 'web.other.svc.clusterset.local', { exports: [us] }, ['NXDOMAIN']],
    ['in one cluster is answered with that cluster\'s endpoints', `us.${WEB}`, { exports: [us, eu] }, [
      'NOERROR', '242.1.0.5',
    ]],
    ['in this cluster is answered with its own address', `eu.${WEB}`, { exports: [us, eu], localIps: [local] }, [
      'NOERROR', local,
    ]],
    ['in a cluster that does not export does not exist', `asia.${WEB}`, { exports: [us] }, ['NXDOMAIN']],
    ['in a cluster that is away has no answer', `us.${WEB}`, { exports: [us, eu], unreachable: ['us'] }, ['NOERROR']],
  ];
  for (const [what, name, given, expected] of rows) {
    it(what, () => assert.deepEqual(addresses(ask(name, given)), expected));
  }
});

describe('a headless Service', () => {
  const headless = (
    cluster: string, slices = endpoints(['10.1.0.5', true, 'web-0'], ['10.1.0.6', true], ['10.1.0.7', false, 'web-2']),
  ) => exportOf(cluster, { type: 'Headless', slices });
  const both = { exports: [headless('us'), headless('eu')] };
  const rows: [string, string, Given, string[]][] = [
    ['is answered with all ready endpoints, those of this cluster first', WEB, both, [
      'NOERROR', '10.1.0.5', '10.1.0.6', '242.1.0.5', '242.1.0.6',
    ]],
    ['in one cluster is answered with those there', `us.${WEB}`, both, ['NOERROR', '242.1.0.5', '242.1.0.6']],
    ['by the name of one endpoint is answered with it', `web-0.us.${WEB}`, both, ['NOERROR', '242.1.0.5']],
    ['by the address of one endpoint without a name is answered with it', `242-1-0-6.us.${WEB}`, both, [
      'NOERROR', '242.1.0.6',
    ]],
    ['by the name of an endpoint that is not ready has no answer', `web-2.us.${WEB}`, both, ['NOERROR']],
    ['by the name of no endpoint does not exist', `web-9.us.${WEB}`, both, ['NXDOMAIN']],
    ['loses the endpoints of a cluster that is away', WEB, { ...both, unreachable: ['us'] }, [
      'NOERROR', '10.1.0.5', '10.1.0.6',
    ]],
  ];
  for (const [what, name, given, expected] of rows) {
    it(what, () => assert.deepEqual(addresses(ask(name, given)), expected));
  }

  it('tells its ports and endpoints by SRV, with their addresses beside them', () => {
    const answer = ask(`_http._tcp.us.${WEB}`, both, 'SRV');
    assert.deepEqual(addresses(answer), ['NOERROR', `web-0.us.${WEB}:8080`, `242-1-0-6.us.${WEB}:8080`]);
    assert.deepEqual(
      answer.additional.map((record) => record.type === 'A' && record.address), ['242.1.0.5', '242.1.0.6'],
    );
  });
});

describe('SRV of a Service with one address', () => {
  it('leads to its name and port', () => {
    const answer = ask(`_http._tcp.${WEB}`, { exports: [us] }, 'SRV');
    assert.deepEqual(addresses(answer), ['NOERROR', `${WEB}:80`]);
    assert.deepEqual(answer.additional, [{ type: 'A', name: WEB, address: '10.96.0.100' }]);
  });
  it('without a port tells all', () => assert.deepEqual(
    addresses(ask(WEB, { exports: [us] }, 'SRV')), ['NOERROR', `${WEB}:80`],
  ));
  it('tells a number once that TCP and UDP share', () => {
    const shared = (number: number) => [
      { name: 'tcp', protocol: 'TCP', port: number }, { name: 'udp', protocol: 'UDP', port: number },
    ];
    const slices = [{ addressType: 'IPv4', ports: shared(5_353), endpoints: [{ address: '10.1.0.5', ready: true }] }];
    const dns = exportOf('us', { ports: shared(53), slices });
    assert.deepEqual(addresses(ask(WEB, { exports: [dns] }, 'SRV')), ['NOERROR', `${WEB}:53`]);
    const headless = exportOf('us', { ports: shared(53), slices, type: 'Headless' });
    assert.deepEqual(addresses(ask(WEB, { exports: [headless] }, 'SRV')), ['NOERROR', `242-1-0-5.us.${WEB}:5353`]);
  });
  it('of a port that is not there does not exist', () => assert.deepEqual(
    [ask(`_ftp._tcp.${WEB}`, { exports: [us] }, 'SRV').code, ask(`_http._udp.${WEB}`, { exports: [us] }, 'SRV').code],
    ['NXDOMAIN', 'NXDOMAIN'],
  ));
  it('is empty while nothing is healthy', () => assert.deepEqual(
    addresses(ask(`_http._tcp.${WEB}`, { exports: [us], unreachable: ['us'] }, 'SRV')), ['NOERROR'],
  ));
});

describe('a Service with addresses of both families', () => {
  const v6 = { addressType: 'IPv6', ports: [], endpoints: [{ address: 'fd00:1::5', ready: true }] };
  const dual = exportOf('eu', { slices: [...endpoints(['10.1.0.5', true]), v6] });
  const headless: Given = { exports: [exportOf('eu', { type: 'Headless', slices: dual.spec.slices })] };
  const ips = ['10.96.0.100', 'fd00:96::100'];
  const through = (importAddress: string): Given => ({ exports: [carried], ips, importAddress });
  const rows: [string, string, Given, type: 'A' | 'AAAA', string[]][] = [
    ['is answered with the one of the family that is asked for', WEB, { exports: [dual], ips }, 'AAAA', [ips[1] ?? '']],
    ['is answered with the other one as well', WEB, { exports: [dual], ips }, 'A', [ips[0] ?? '']],
    ['has no answer of a family without endpoints', WEB, { exports: [eu], ips }, 'AAAA', []],
    ['is answered in the family of the listener that carries it', WEB, through('fd00:9::1'), 'AAAA', [ips[1] ?? '']],
    ['has no answer in the other family then', WEB, through('fd00:9::1'), 'A', []],
    [
      'in this cluster is answered with its own address', `eu.${WEB}`,
      { exports: [dual], localIps: [local, 'fd00:96::7'] }, 'AAAA', ['fd00:96::7'],
    ],
    ['without addresses of its own is answered with its endpoints', WEB, headless, 'AAAA', ['fd00:1::5']],
    ['knows an endpoint by its address with dashes', `fd00-1--5.eu.${WEB}`, headless, 'AAAA', ['fd00:1::5']],
  ];
  for (const [what, name, given, type, expected] of rows) {
    it(what, () => assert.deepEqual(addresses(ask(name, given, type)), ['NOERROR', ...expected]));
  }

  it('is answered in both, however many endpoints of the other one are listed first', () => {
    const many = Array.from({ length: 300 }, (_, index) => [`10.1.${index >> 8}.${index & 255}`, true] as const);
    const slices = [...endpoints(...many.map(([one, ready]): [string, boolean] => [one, ready])), v6];
    assert.deepEqual(addresses(ask(WEB, { exports: [exportOf('eu', { slices })], ips }, 'AAAA')), ['NOERROR', ips[1]]);
    assert.deepEqual(
      addresses(ask(WEB, { exports: [exportOf('eu', { type: 'Headless', slices })] }, 'AAAA')),
      ['NOERROR', 'fd00:1::5'],
    );
  });

  it('is told beside SRV with records of both families', () => assert.deepEqual(
    ask(`_http._tcp.${WEB}`, { exports: [dual], ips }, 'SRV').additional.map(({ type }) => type), ['A', 'AAAA'],
  ));
});

describe('a Service whose endpoints all end', () => {
  const [slice] = us.spec.slices;
  const endpoint = { address: '10.1.0.5', ready: false, serving: true, terminating: true };
  const slices = slice === undefined ? [] : [{ ...slice, endpoints: [endpoint] }];
  it('is answered with the address of the import while they serve, as kube-proxy goes on', () => assert.deepEqual(
    addresses(ask(WEB, { exports: [exportOf('us', { slices })] })), ['NOERROR', '10.96.0.100'],
  ));
  it('has no answer where it is headless', () => assert.deepEqual(
    addresses(ask(WEB, { exports: [exportOf('us', { type: 'Headless', slices })] })), ['NOERROR'],
  ));
});

describe('other questions', () => {
  it('about the version of the schema are answered with that of the specification', () => {
    const name = 'DNS-Version.clusterset.local';
    assert.deepEqual(ask(name, { exports: [] }, 'TXT').records, [{ type: 'TXT', name, text: '1.0.0' }]);
    assert.deepEqual(addresses(ask(name, { exports: [] })), ['NOERROR']);
  });
  it('about IPv6 are answered with nothing where there is none, for the name is there', () => assert.deepEqual(
    addresses(ask(WEB, { exports: [us] }, 'AAAA')), ['NOERROR'],
  ));
  it('about names between the zone and Services are answered with nothing', () => assert.equal(
    ask('shop.svc.clusterset.local', { exports: [us] }).code, 'NOERROR',
  ));
  it('about other zones are refused', () => assert.equal(ask('example.com', { exports: [us] }).code, 'REFUSED'));
  it('in other case are answered in the case of the question', () => assert.equal(
    ask('Web.Shop.svc.clusterset.local', { exports: [us] }).records[0]?.name, 'Web.Shop.svc.clusterset.local',
  ));
  it('are never answered with an address that is not ready or not announced', () => {
    const slices = endpoints(['169.254.169.254', true], ['10.1.0.9', false]);
    assert.deepEqual(addresses(ask(WEB, { exports: [exportOf('us', { type: 'Headless', slices })] })), ['NOERROR']);
  });
});

describe('what another cluster says of its endpoints', () => {
  const srv = (port: number, hostname?: string) => {
    const last = ['10.1.0.2', true] as const;
    const [slice] = endpoints(['10.1.0.1', true], hostname === undefined ? [...last] : [...last, hostname]);
    const slices = slice === undefined ? [] : [{ ...slice, ports: [{ name: 'http', port }] }];
    const exported = exportOf('us', { type: 'Headless', slices });
    return addresses(ask(`_http._tcp.${WEB}`, { exports: [exported] }, 'SRV'));
  };
  const numbered = ['242.1.0.1', '242.1.0.2'].map((ip) => `${ip.replaceAll('.', '-')}.us.${WEB}`);
  it('is told as they name it', () => assert.deepEqual(srv(8_080, 'db'), [
    'NOERROR', `${numbered[0]}:8080`, `db.us.${WEB}:8080`,
  ]));
  for (const port of [0, -1, 70_000]) {
    it(`is left out where a port is none: ${port}`, () => assert.deepEqual(srv(port), ['NOERROR']));
  }
  for (const hostname of ['', 'a..b', 'not a label', 'h'.repeat(64)]) {
    it(`is named by the address where a host name is none: ${hostname.slice(0, 12)}`, () => assert.deepEqual(
      srv(8_080, hostname), ['NOERROR', ...numbered.map((target) => `${target}:8080`)],
    ));
  }
});
