import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Service } from '../../../../api/objects/core.ts';
import { MCS_SERVICE_NAME_LABEL, type ServiceExport } from '../../../../api/kinds/service-discovery.ts';
import type { EndpointSlice } from '../../../../api/objects/endpoint-slice.ts';
import { MAX_EXPORTED_ENDPOINTS } from '../../../../api/kinds/service-discovery.ts';
import { exportedServiceName, MAX_EXPORTED_PORTS } from '../../../../model/network/gateway-names.ts';
import { toExport, type Export } from '../../../../service-discovery/exports/exported-service.ts';

const serviceExport: ServiceExport =
  { metadata: { namespace: 'shop', name: 'web', creationTimestamp: '2026-01-01T00:00:00Z' } };
const service = (spec: Service['spec'] = {}): Service => ({
  metadata: { namespace: 'shop', name: 'web', labels: { team: 'a' }, annotations: { note: 'x' } },
  spec: { clusterIP: '10.96.0.7', ports: [{ name: 'http', port: 80 }], ...spec },
});
const slice = (name: string, endpoints: EndpointSlice['endpoints'], more: Partial<EndpointSlice> = {}): EndpointSlice =>
  ({
    metadata: { name }, addressType: 'IPv4', ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
    endpoints: endpoints ?? null, ...more,
  });
const exported = (
  facts: { service?: Service | undefined; slices?: readonly EndpointSlice[]; serviceExport?: ServiceExport },
): Export =>
  toExport(
    { clusterId: 'eu', installNamespace: 'isthmus-system', serviceExport, service: service(), slices: [], ...facts },
  );
const specOf = (facts: Parameters<typeof exported>[0]) => {
  const found = exported(facts);
  assert.equal(found.kind, 'exported');
  return found.kind === 'exported' ? found.object.spec : assert.fail();
};

describe('an export', () => {
  it('without its Service is not valid, and says what to do', () => assert.deepEqual(
    exported({ service: undefined }),
    { kind: 'invalid', reason: 'NoService', message: 'there is no Service shop/web; create it, or delete this export' },
  ));
  it('of an ExternalName is not valid', () => assert.equal(
    (exported({ service: service({ type: 'ExternalName' }) }) as { reason?: string }).reason, 'InvalidServiceType',
  ));
  it('is told under a name of its own', () => assert.equal(exportedServiceName('eu', 'shop', 'web'), 'eu.shop.web'));
  it('is told with the time of the ServiceExport', () => assert.equal(specOf({}).exportedAt, '2026-01-01T00:00:00Z'));
  it('of a headless Service is headless', () => assert.equal(
    specOf({ service: service({ clusterIP: 'None' }) }).type, 'Headless',
  ));
  for (const type of ['ClusterIP', 'NodePort', 'LoadBalancer']) it(
    `of type ${type} has one address`, () => assert.equal(specOf({ service: service({ type }) }).type, 'ClusterSetIP'),
  );
  it('tells ports without what only its own cluster needs', () => {
    const ports = [{ name: 'http', port: 80, targetPort: 8080, nodePort: 30_080, appProtocol: 'http' }];
    assert.deepEqual(
      specOf({ service: service({ ports }) }).ports, [{ name: 'http', protocol: 'TCP', appProtocol: 'http', port: 80 }],
    );
  });
  it('tells how clients stay with an endpoint', () => {
    const { sessionAffinity, sessionAffinityConfig } = specOf(
      { service: service({ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } }) },
    );
    assert.deepEqual([sessionAffinity, sessionAffinityConfig], ['ClientIP', { clientIP: { timeoutSeconds: 5 } }]);
  });
  it('tells labels and annotations that are exported by name, never those of the Service', () => {
    assert.deepEqual([specOf({}).labels, specOf({}).annotations], [undefined, undefined]);
    const spec = { exportedLabels: { tier: 'front' }, exportedAnnotations: { owner: 'me' } };
    const told = specOf({ serviceExport: { ...serviceExport, spec } });
    assert.deepEqual([told.labels, told.annotations], [{ tier: 'front' }, { owner: 'me' }]);
  });
});

describe('endpoints of an export', () => {
  const one = (conditions?: { ready?: boolean; serving?: boolean; terminating?: boolean }) =>
    [{ addresses: ['10.1.0.5', '10.1.0.6'], hostname: 'web-0', ...(conditions && { conditions }) }];
  const rows: [string, Parameters<typeof one>[0], Service | undefined, boolean][] = [
    ['without a condition are ready', undefined, service(), true],
    ['that are ready are ready', { ready: true }, service(), true],
    ['that are not ready are not', { ready: false }, service(), false],
    [
      'that are not ready are, where the Service publishes them all the same', { ready: false },
      service({ publishNotReadyAddresses: true }), true,
    ],
  ];
  for (const [what, conditions, of, ready] of rows) {
    it(what, () => assert.deepEqual(
      specOf({ service: of, slices: [slice('a', one(conditions))] }).slices,
      [{
        name: 'a', addressType: 'IPv4', ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
        endpoints: [{ address: '10.1.0.5', hostname: 'web-0', ready }],
      }],
    ));
  }
  const ends: [string, NonNullable<Parameters<typeof one>[0]>, boolean, object][] = [
    ['that end are told to serve until then', { ready: false, serving: true, terminating: true }, false, {
      serving: true, terminating: true,
    }],
    ['that end and serve no more', { ready: false, serving: false, terminating: true }, false, { terminating: true }],
    ['that are published before they serve', { ready: true, serving: false, terminating: false }, true, {
      serving: false,
    }],
  ];
  for (const [what, conditions, ready, more] of ends) {
    it(what, () => assert.deepEqual(
      specOf({ slices: [slice('a', one(conditions))] }).slices[0]?.endpoints,
      [{ address: '10.1.0.5', hostname: 'web-0', ready, ...more }],
    ));
  }
  it('that were imported from others are not exported again', () => assert.deepEqual(
    specOf(
      { slices: [slice('a', one(), { metadata: { name: 'a', labels: { [MCS_SERVICE_NAME_LABEL]: 'web' } } })] },
    ).slices,
    [],
  ));
  it('that are names are not exported', () => assert.deepEqual(
    specOf({ slices: [slice('a', [{ addresses: ['example.com'] }], { addressType: 'FQDN' })] }).slices, [],
  ));
  it('are told in one order, whatever order the slices are known in', () => {
    const [a, b] = [slice('a', [{ addresses: ['10.1.0.1'] }]), slice('b', [{ addresses: ['10.1.0.2'] }])];
    assert.deepEqual(specOf({ slices: [b, a] }), specOf({ slices: [a, b] }));
  });
  it('are none where a slice has none, or null', () => assert.deepEqual(
    specOf({ slices: [slice('a', null), slice('b', [], { ports: null })] }).slices, [],
  ));
  it('beyond what an object can hold are left out and counted', () => {
    const many = Array.from(
      { length: MAX_EXPORTED_ENDPOINTS }, (_, index) => ({ addresses: [`10.1.${index >> 8}.${index & 255}`] }),
    );
    const found =
      exported({ slices: [slice('a', many), slice('b', [{ addresses: ['10.2.0.1'] }, { addresses: ['10.2.0.2'] }])] });
    assert.equal(found.kind === 'exported' && found.leftOut.endpoints, 2);
    assert.equal(found.kind === 'exported' && found.object.spec.slices.length, 1);
  });
  it('beyond what clusters merge are left out and counted: ports, of the Service and of its endpoints', () => {
    const many = Array.from(
      { length: MAX_EXPORTED_PORTS + 2 }, (_, index) => ({ name: `p${index}`, protocol: 'TCP', port: index + 1 }),
    );
    const slices = [slice('a', [{ addresses: ['10.1.0.1'] }], { ports: many.toReversed() })];
    const found = exported({ service: service({ ports: many }), slices });
    assert.ok(found.kind === 'exported');
    const { ports, slices: [first] } = found.object.spec;
    assert.deepEqual([found.leftOut, ports.length], [{ endpoints: 0, ports: 2 }, MAX_EXPORTED_PORTS]);
    assert.deepEqual(first?.ports.map(({ name }) => name).toReversed(), ports.map(({ name }) => name));
  });
});
