import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { parseName, serviceName, type ParsedName } from '../../../../service-discovery/dns/dns-names.ts';

const web = { kind: 'service', namespace: 'shop', name: 'web' } as const;

describe('a name', () => {
  const rows: [string, ParsedName][] = [
    ['web.shop.svc.clusterset.local', web],
    ['web.shop.svc.clusterset.local.', web],
    ['WEB.Shop.svc.ClusterSet.Local', web],
    ['us.web.shop.svc.clusterset.local', { ...web, cluster: 'us' }],
    ['web-0.us.web.shop.svc.clusterset.local', { ...web, cluster: 'us', host: 'web-0' }],
    ['_http._tcp.web.shop.svc.clusterset.local', { ...web, port: 'http', protocol: 'TCP' }],
    ['_http._tcp.us.web.shop.svc.clusterset.local', { ...web, cluster: 'us', port: 'http', protocol: 'TCP' }],
    ['clusterset.local', { kind: 'empty' }],
    ['svc.clusterset.local', { kind: 'empty' }],
    ['shop.svc.clusterset.local', { kind: 'empty' }],
    ['web.shop.pod.clusterset.local', { kind: 'unknown' }],
    ['dns-version.clusterset.local', { kind: 'version' }],
    ['web.dns-version.clusterset.local', { kind: 'unknown' }],
    ['a.b.us.web.shop.svc.clusterset.local', { kind: 'unknown' }],
    ['_tcp.web.shop.svc.clusterset.local', { kind: 'unknown' }],
    ['_http._tcp.web-0.us.web.shop.svc.clusterset.local', { kind: 'unknown' }],
    ['us._http._tcp.web.shop.svc.clusterset.local', { kind: 'unknown' }],
    ['web.shop.svc.cluster.local', { kind: 'outside' }],
    ['notclusterset.local', { kind: 'outside' }],
    ['', { kind: 'outside' }],
  ];
  for (const [name, expected] of rows) {
    it(`"${name}" is ${JSON.stringify(expected)}`, () => assert.deepEqual(parseName(name), expected));
  }

  it('is read as it was written', () => {
    const label = fc.stringMatching(/^[a-z][a-z0-9-]{0,10}$/);
    fc.assert(fc.property(label, label,
      fc.option(label, { nil: undefined }), fc.option(label, { nil: undefined }), (namespace, name, cluster, host) => {
      const asked = { namespace, name, ...(cluster !== undefined && { cluster, ...(host !== undefined && { host }) }) };
      assert.deepEqual(parseName(serviceName(asked)), { kind: 'service', ...asked });
    }), { numRuns: 100 });
  });
});
