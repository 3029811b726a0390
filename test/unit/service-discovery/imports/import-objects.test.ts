import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ExportedService } from '../../../../api/kinds/service-discovery.ts';
import {
  importServiceName, isImported, toImportObjects, type ImportView,
} from '../../../../service-discovery/imports/import-objects.ts';
import { mergeExports } from '../../../../service-discovery/imports/merge-exports.ts';
import { exportOf } from '../../../support/objects/exported-services.ts';

const prefixes = new Map(
  [['eu', [{ own: '10.1.0.0/16', seen: '10.1.0.0/16' }]], ['us', [{ own: '10.1.0.0/16', seen: '242.1.0.0/16' }]]],
);
const objectsOf = (exports: readonly ExportedService[], more: Partial<ImportView> = {}) => {
  const merged = mergeExports(exports);
  return merged === undefined ? assert.fail('no export') : toImportObjects({
    clusterId: 'eu', merged, prefixes, unreachable: new Set(), podPlane: new Set(), importAddress: undefined,
    ips: ['10.96.0.9'], ...more,
  });
};
const addresses = (exports: readonly ExportedService[], more: Partial<ImportView> = {}) =>
  objectsOf(exports, more).slices
    .map(({ endpoints }) => (endpoints ?? []).map(({ addresses: [one], conditions }) => `${one} ${conditions?.ready}`))
    .flat();

const byListener = { importAddress: '10.9.0.1' };

describe('a ServiceImport', () => {
  it('has type, ports, affinity and address of the Service', () => {
    assert.deepEqual(objectsOf([exportOf('us')]).serviceImport.spec, {
      type: 'ClusterSetIP', ports: [{ name: 'http', protocol: 'TCP', port: 80 }], sessionAffinity: 'None',
      ips: ['10.96.0.9'], ipFamilies: ['IPv4'],
    });
  });
  const families: readonly [string, readonly ExportedService[], readonly string[], readonly unknown[]][] = [
    ['before an address was given', [exportOf('us')], [], [undefined, undefined]],
    ['in the order of its addresses', [exportOf('us')], ['fd00::9', '10.96.0.9'], [
      ['fd00::9', '10.96.0.9'], ['IPv6', 'IPv4'],
    ]],
    ['that is headless, by its endpoints', [exportOf('us', { type: 'Headless' })], [], [undefined, ['IPv4']]],
    ['that is headless, without endpoints', [exportOf('us', { type: 'Headless', slices: [] })], [], [
      undefined, undefined,
    ]],
  ];
  for (const [what, exports, ips, expected] of families) {
    it(`names addresses and their families: ${what}`, () => {
      const { spec } = objectsOf(exports, { ips }).serviceImport;
      assert.deepEqual([spec?.ips, spec?.ipFamilies], expected);
    });
  }
  it('carries exported labels and annotations, and cannot be made somebody else\'s by them', () => {
    const { serviceImport } = objectsOf(
      [exportOf(
        'us', { labels: { tier: 'front', 'endpointslice.kubernetes.io/managed-by': 'me' }, annotations: { a: 'b' } },
      )],
    );
    assert.equal(serviceImport.metadata.labels?.['tier'], 'front');
    assert.equal(serviceImport.metadata.annotations?.['a'], 'b');
    assert.ok(isImported(serviceImport));
  });

  it('leaves out labels and annotations that an API server refuses, with the whole object', () => {
    const labels =
      { tier: 'front', team: 'has space', 'a/b/c': 'x', long: 'x'.repeat(64), 'Bad.Domain/x': 'y', ok: '' };
    const annotations = { 'Example.com/doc': 'any text', 'no key': 'x', '/x': 'y' };
    const { metadata } = objectsOf([exportOf('us', { labels, annotations })]).serviceImport;
    assert.deepEqual(Object.keys(metadata.labels ?? {}).toSorted(), [
      'endpointslice.kubernetes.io/managed-by', 'multicluster.kubernetes.io/service-name', 'ok', 'tier',
    ]);
    assert.deepEqual(metadata.annotations, { 'Example.com/doc': 'any text' });
    const large = { a: 'x'.repeat(200_000), b: 'x'.repeat(100_000) };
    assert.deepEqual(objectsOf([exportOf('us', { annotations: large })]).serviceImport.metadata.annotations, {});
  });
});

describe('the Service of an import', () => {
  it('has no selector, for its endpoints are written, and addresses of all families of the cluster', () => {
    assert.deepEqual(objectsOf([exportOf('us')]).service?.spec, {
      type: 'ClusterIP', ipFamilyPolicy: 'PreferDualStack', ports: [{ name: 'http', protocol: 'TCP', port: 80 }],
      sessionAffinity: 'None',
    });
  });
  it('has nothing that an API server refuses, whatever clusters export: endpoints of all would wait for it', () => {
    const odd = exportOf('us', {
      exportedAt: '2026-05-01T00:00:00Z', ports: [
        { name: 'Not a label', port: 81 }, { name: 'tls', protocol: 'TLS', port: 82 }, { name: 'big', port: 70_000 },
        { name: 'ok', port: 83, appProtocol: 'two words' }, { name: 'h2', port: 84, appProtocol: 'kubernetes.io/h2c' },
      ],
    });
    assert.deepEqual(objectsOf([exportOf('eu'), odd]).service?.spec?.ports, [
      { name: 'http', protocol: 'TCP', port: 80 }, { name: 'ok', port: 83 },
      { name: 'h2', port: 84, appProtocol: 'kubernetes.io/h2c' },
    ]);
    const policies: readonly (readonly [Partial<ExportedService['spec']>, object])[] = [
      [{ sessionAffinity: 'Always', internalTrafficPolicy: 'Never' }, {}],
      [{ sessionAffinity: 'None', sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } },
        { sessionAffinity: 'None' }],
      [{ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 90_000 } } },
        { sessionAffinity: 'ClientIP' }],
      [{ trafficDistribution: 'PreferSameZone' }, { sessionAffinity: 'None' }],
    ];
    for (const [said, expected] of policies) {
      const { type: _t, ipFamilyPolicy: _f, ports: _p, ...got } = objectsOf([exportOf('us', said)]).service?.spec ?? {};
      assert.deepEqual(got, expected);
    }
  });
  it('is not there for a headless import', () => assert.equal(
    objectsOf([exportOf('us', { type: 'Headless' })]).service, undefined,
  ));
  it('has a name that no label is too short for', () => assert.ok(importServiceName('a'.repeat(63)).length <= 63));
  it('has another name for another import', () => assert.notEqual(
    importServiceName('a'.repeat(63)), importServiceName(`${'a'.repeat(62)}b`),
  ));
});

describe('EndpointSlices of an import', () => {
  const down = { slices: [{
    addressType: 'IPv4', ports: [{ name: 'http', port: 8080 }], endpoints: [{ address: '10.1.0.5', ready: false }],
  }] };
  const preferences: readonly [string, readonly ExportedService[], Partial<ImportView>, readonly string[]][] = [
    ['of this cluster alone, while one is ready', [exportOf('eu'), exportOf('us')], {}, ['10.1.0.5 true']],
    ['of all while none is ready here', [exportOf('eu', down), exportOf('us')], {}, [
      '10.1.0.5 false', '242.1.0.5 true',
    ]],
    ['of all where nobody is preferred', [exportOf('eu'), exportOf('us')], { preference: 'none' }, [
      '10.1.0.5 true', '242.1.0.5 true',
    ]],
    ['of others alone where they are preferred', [exportOf('eu'), exportOf('us')], { preference: 'remote' }, [
      '242.1.0.5 true',
    ]],
    [
      'of all while none of the preferred others is ready', [exportOf('eu'), exportOf('us')],
      { preference: 'remote', unreachable: new Set(['us']) }, ['10.1.0.5 true', '242.1.0.5 false'],
    ],
    [
      'of all clusters for a headless import', [exportOf('eu', { type: 'Headless' }), exportOf('us', {
        type: 'Headless',
      })], {}, ['10.1.0.5 true', '242.1.0.5 true'],
    ],
  ];
  for (const [what, exports, view, expected] of preferences) {
    it(`hold endpoints ${what}`, () => assert.deepEqual(addresses(exports, view).toSorted(), expected));
  }
  it('hold of others the ports that no ready endpoint here serves', () => {
    const ports = [{ name: 'http', protocol: 'TCP', port: 80 }, { name: 'admin', protocol: 'TCP', port: 81 }];
    const slices = [{
      addressType: 'IPv4', ports: [{ name: 'http', port: 8080 }, { name: 'admin', port: 8081 }],
      endpoints: [{ address: '10.1.0.6', ready: true }],
    }];
    const held = objectsOf([exportOf('eu'), exportOf('us', { ports, slices })]).slices;
    assert.deepEqual(held.map(({ ports: named }) => (named ?? []).map(({ name }) => name)), [['http'], ['admin']]);
  });
  it('hold of others a port that has another protocol here', () => {
    const udp = { name: 'http', protocol: 'UDP', port: 80 };
    const slices = [{
      addressType: 'IPv4', ports: [{ ...udp, port: 8080 }], endpoints: [{ address: '10.1.0.6', ready: true }],
    }];
    const here = exportOf('eu', { exportedAt: '2026-05-01T00:00:00Z', ports: [udp], slices });
    assert.deepEqual(addresses([exportOf('us'), here]), ['242.1.0.5 true']);
  });
  it('hold all endpoints of a headless import, whatever the number of the port is in their cluster', () => {
    const other = { type: 'Headless', ports: [{ name: 'http', protocol: 'TCP', port: 8_000 }] } as const;
    assert.deepEqual(
      addresses([exportOf('eu', { type: 'Headless' }), exportOf('us', other)]), ['10.1.0.5 true', '242.1.0.5 true'],
    );
  });
  it('hold of a cluster only the ports that it exposes under the number of the import', () => {
    const younger = exportOf('us', {
      exportedAt: '2026-05-01T00:00:00Z', ports: [{ name: 'http', protocol: 'TCP', port: 8_000 }],
    });
    assert.deepEqual(addresses([exportOf('eu'), younger], { preference: 'none' }), ['10.1.0.5 true']);
    const inUs = objectsOf([exportOf('eu'), younger], { clusterId: 'us' }).slices;
    const [slice, ...others] = inUs.map(({ metadata }) => metadata.labels);
    assert.deepEqual([slice?.['multicluster.kubernetes.io/source-cluster'], others], ['eu', []]);
  });
  it('hold addresses under which this cluster reaches the endpoints', () => assert.deepEqual(
    addresses([exportOf('us')]), ['242.1.0.5 true'],
  ));
  it('hold the own addresses of this cluster\'s endpoints', () => assert.deepEqual(
    addresses([exportOf('us')], { clusterId: 'us' }), ['10.1.0.5 true'],
  ));
  it('hold endpoints of a cluster that is not reached as not ready', () => assert.deepEqual(
    addresses([exportOf('us')], { unreachable: new Set(['us']) }), ['242.1.0.5 false'],
  ));
  const ends = { slices: [{
    addressType: 'IPv4', ports: [{ name: 'http', port: 8080 }],
    endpoints: [{ address: '10.1.0.5', ready: false, serving: true, terminating: true }],
  }] };
  const conditionsOf = (one: ExportedService, more: Partial<ImportView> = {}) =>
    objectsOf([one], more).slices.flatMap(({ endpoints }) => endpoints?.map(({ conditions }) => conditions));
  it('say of endpoints that end whether these still serve: kube-proxy uses them while none is ready', () => {
    const status = { listeners: [{ port: 80, listenerPort: 20_001 }] };
    const draining = { ready: false, serving: true, terminating: true };
    assert.deepEqual(conditionsOf(exportOf('us')), [{ ready: true, serving: true, terminating: false }]);
    assert.deepEqual(conditionsOf(exportOf('us', ends)), [draining]);
    assert.deepEqual(conditionsOf({ ...exportOf('us', ends), status }, byListener), [draining]);
    assert.deepEqual(conditionsOf(exportOf('us', ends), { unreachable: new Set(['us']) }), [
      { ready: false, serving: false, terminating: true },
    ]);
  });
  it('never hold an address outside of what the cluster announced', () => {
    const slices = [{
      addressType: 'IPv4', ports: [{ name: 'http', port: 80 }],
      endpoints: [{ address: '169.254.169.254', ready: true }, { address: '10.2.0.1', ready: true }],
    }];
    assert.deepEqual(addresses([exportOf('us', { slices })]), []);
  });
  it('hold nothing of a cluster that announced no ranges', () => assert.deepEqual(addresses([exportOf('asia')]), []));
  it('have the labels of the MCS API, and that of the Service for kube-proxy', () => {
    const labels = objectsOf([exportOf('us')]).slices[0]?.metadata.labels;
    assert.deepEqual(labels, {
      'endpointslice.kubernetes.io/managed-by': 'isthmus-service-discovery',
      'multicluster.kubernetes.io/service-name': 'web', 'multicluster.kubernetes.io/source-cluster': 'us',
      'kubernetes.io/service-name': importServiceName('web'),
    });
  });
  it('of a headless import belong to no Service of ours', () => assert.equal(
    objectsOf([exportOf('us', { type: 'Headless' })]).slices[0]?.metadata.labels?.['kubernetes.io/service-name'],
    undefined,
  ));
  it('keep host names', () => {
    const slices =
      [{ addressType: 'IPv4', ports: [], endpoints: [{ address: '10.1.0.7', hostname: 'web-0', ready: true }] }];
    assert.equal(
      objectsOf([exportOf('us', { type: 'Headless', ports: [], slices })]).slices[0]?.endpoints?.[0]?.hostname, 'web-0',
    );
  });
  it('have the ports that the import serves, by name', () => {
    const slices = [{
      addressType: 'IPv4', ports: [{ name: 'http', port: 8080 }, { name: 'debug', port: 6060 }],
      endpoints: [{ address: '10.1.0.7', ready: true }],
    }];
    assert.deepEqual(objectsOf([exportOf('us', { slices })]).slices[0]?.ports, [{ name: 'http', port: 8080 }]);
  });
  it('hold the listener of the gateway where no pod plane leads to a cluster, for each of its ports', () => {
    const ports = [{ name: 'http', protocol: 'TCP', port: 80 }, { name: 'dns', protocol: 'UDP', port: 53 }, {
      name: 'new', protocol: 'TCP', port: 81,
    }];
    const us: ExportedService =
      { ...exportOf('us', { ports }), status: { listeners: [{ port: 80, listenerPort: 20_001 }] } };
    const [slice, ...others] = objectsOf([us], byListener).slices;
    assert.deepEqual([slice?.addressType, slice?.ports, slice?.endpoints, others], [
      'IPv4', [{ name: 'http', protocol: 'TCP', port: 20_001 }],
      [{ addresses: ['10.9.0.1'], conditions: { ready: true, serving: true, terminating: false } }], [],
    ]);
    assert.equal(slice?.metadata.labels?.['multicluster.kubernetes.io/source-cluster'], 'us');
    assert.notEqual(slice?.metadata.name, objectsOf([us]).slices[0]?.metadata.name);
  });
  it('hold pods where the pod plane leads to their cluster, and those of this one', () => {
    const listeners = [{ port: 80, listenerPort: 20_001 }];
    const exports =
      [exportOf('eu'), { ...exportOf('us'), status: { listeners } }, { ...exportOf('asia'), status: { listeners } }];
    const view = { ...byListener, podPlane: new Set(['us']), preference: 'none' } as const;
    assert.deepEqual(addresses(exports, view).toSorted(), [
      '10.1.0.5 true', '10.9.0.1 true', '242.1.0.5 true',
    ]);
  });
  it('hold the listener for a Service of IPv6 alone, which the pod plane does not carry', () => {
    const slices = [{
      addressType: 'IPv6', ports: [{ name: 'http', port: 8080 }], endpoints: [{ address: 'fd00:1::5', ready: true }],
    }];
    const status = { listeners: [{ port: 80, listenerPort: 20_001 }] };
    const us: ExportedService = { ...exportOf('us', { slices }), status };
    const view = { importAddress: 'fd00:9::1', podPlane: new Set(['us']) };
    const [slice] = objectsOf([us], view).slices;
    assert.deepEqual([slice?.addressType, slice?.endpoints?.[0]?.addresses], ['IPv6', ['fd00:9::1']]);
    assert.deepEqual(addresses([us], { podPlane: new Set(['us']) }), [], 'nor does it without a listener');
  });
  it('hold the listener as not ready while nothing is behind it', () => {
    const status = { listeners: [{ port: 80, listenerPort: 20_001 }] };
    assert.deepEqual(addresses([{ ...exportOf('us', down), status }], byListener), ['10.9.0.1 false']);
    assert.deepEqual(
      addresses([{ ...exportOf('us'), status }], { ...byListener, unreachable: new Set(['us']) }), ['10.9.0.1 false'],
    );
    assert.deepEqual(addresses([{ ...exportOf('us', { slices: [] }), status }], byListener), []);
  });
  it('are not there before the gateway listens, nor for a headless Service', () => {
    const status = { listeners: [{ port: 80, listenerPort: 20_001 }] };
    assert.deepEqual(
      [addresses([exportOf('us')], byListener), addresses(
        [{ ...exportOf('us', { type: 'Headless' }), status }], byListener,
      )],
      [[], []],
    );
  });
  it('are of the family of the listener', () => {
    const us: ExportedService = { ...exportOf('us'), status: { listeners: [{ port: 80, listenerPort: 20_001 }] } };
    assert.equal(objectsOf([us], { importAddress: 'fd00::1' }).slices[0]?.addressType, 'IPv6');
  });
  it('are not there where no port is served', () => assert.deepEqual(
    objectsOf([
      exportOf('eu'),
      exportOf('us', {
        exportedAt: '2026-05-01T00:00:00Z', ports: [{ name: 'web', port: 80 }],
        slices: [
          { addressType: 'IPv4', ports: [{ name: 'web', port: 1 }], endpoints: [{ address: '10.1.0.7', ready: true }] },
        ],
      }),
    ]).slices.length,
    1,
  ));
  it('have a name for each cluster and slice', () => {
    const [slice] = exportOf('us').spec.slices;
    const names = objectsOf(
      [exportOf('us', { slices: slice === undefined ? [] : [slice, slice] }), exportOf('eu')], { preference: 'none' },
    ).slices.map(({ metadata }) => metadata.name);
    assert.equal(new Set(names).size, 3);
  });
});
