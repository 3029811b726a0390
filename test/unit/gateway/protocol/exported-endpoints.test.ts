import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  OWN_EXPORT_LABEL, type ExportedEndpoint, type ExportedService,
} from '../../../../api/kinds/service-discovery.ts';
import { findExported, type FoundService } from '../../../../gateway/protocol/exported-endpoints.ts';
import { exportOf } from '../../../support/objects/exported-services.ts';

const endpoint = (address: string, ready = true) => ({ address, ready });
const slice = (
  endpoints: readonly ExportedEndpoint[], ports = [{ name: 'http', protocol: 'TCP', port: 8_080 }],
) => ({ addressType: 'IPv4', ports, endpoints });
const own = (spec: Partial<ExportedService['spec']> = {}): ExportedService => {
  const exported = exportOf('eu', spec);
  return { ...exported, metadata: { ...exported.metadata, labels: { [OWN_EXPORT_LABEL]: 'true' } } };
};

/** What a peer gets that asks the gateway of `eu`. */
function found(exported: ExportedService | undefined, asked = '_80._tcp.web.shop.svc', ranges: readonly string[] = [
  '10.1.0.0/16', 'fd01::/64',
]): string {
  const answer: FoundService | undefined =
    findExported(asked, { clusterId: 'eu', ranges, find: (name) => (name === 'eu.shop.web' ? exported : undefined) });
  if (answer === undefined) return 'not asked';
  return answer.kind === 'found' ? answer.addresses.map(({ host, port }) => `${host} ${port}`)
    .join(', ') : `${answer.status} ${answer.reason}`;
}

describe('a stream to an exported Service', () => {
  const rows: [sentence: string, answer: string, expected: string | RegExp][] = [
    [
      'is led to a ready endpoint, at the port that the name of the Service\'s port has there', found(own()),
      '10.1.0.5 8080',
    ],
    [
      'is led to the endpoints of all slices',
      found(
        own({
          slices: [slice([endpoint('10.1.0.5')]), slice(
            [endpoint('10.1.0.6')], [{ name: 'http', protocol: 'TCP', port: 9_090 }],
          )],
        }),
      ),
      '10.1.0.5 8080, 10.1.0.6 9090',
    ],
    ['is led to endpoints of IPv6, too', found(own({ slices: [slice([endpoint('fd01::5')])] })), 'fd01::5 8080'],
    [
      'is not led to endpoints that are not ready',
      found(own({ slices: [slice([endpoint('10.1.0.5', false), endpoint('10.1.0.6')])] })), '10.1.0.6 8080',
    ],
    [
      'is led to endpoints that serve until they end while none is ready, as kube-proxy does it',
      found(own({ slices: [slice([endpoint('10.1.0.5', false), {
        ...endpoint('10.1.0.6', false), serving: true, terminating: true,
      }])] })),
      '10.1.0.6 8080',
    ],
    [
      'is refused for a while where none is', found(own({ slices: [slice([endpoint('10.1.0.5', false)])] })),
      /^503 no pod behind shop\/web is ready/,
    ],
    [
      'is refused where nothing has the port',
      found(own({ slices: [slice([endpoint('10.1.0.5')], [{ name: 'admin', protocol: 'TCP', port: 81 }])] })), /^503/,
    ],
    [
      'is refused where the port of the endpoints is none: to dial it would throw',
      found(own({ slices: [-1, 0, 65_536].map((port) =>
        slice([endpoint('10.1.0.5')], [{ name: 'http', protocol: 'TCP', port }])) })),
      /^503/,
    ],
    [
      'is never led to what is no pod here: a node, the metadata server, the gateway itself',
      found(
        own({
          slices: [slice(['192.0.2.1', '169.254.169.254', '127.0.0.1', '10.2.0.1', '::1'].map((one) => endpoint(one)))],
        }),
      ),
      /^503/,
    ],
    ['is refused where the cluster announced no range', found(own(), undefined, []), /^503 .*--cluster-cidr/],
    ['is refused where nothing of this name is exported', found(undefined), /^403 shop\/web is not exported/],
    [
      'is refused for a port that is not exported', found(own(), '_8080._tcp.web.shop.svc'),
      /^403 shop\/web has no TCP port 8080/,
    ],
    ['is refused for a port of UDP', found(own({ ports: [{ name: 'http', protocol: 'UDP', port: 80 }] })), /^403/],
    ['is refused for what another cluster exports and is only copied here', found(exportOf('eu')), /^403/],
    [
      'is refused for an object that says it is another cluster\'s',
      found({ ...own(), spec: { ...own().spec, clusterID: 'us' } }), /^403/,
    ],
    ['is none where a stream asks for the API server', found(own(), 'kube-apiserver'), 'not asked'],
    ['is none for a name with more to it', found(own(), '_80._tcp.web.shop.svc.clusterset.local'), 'not asked'],
    ['is none for a port that no service has', found(own(), '_70000._tcp.web.shop.svc'), 'not asked'],
  ];
  for (const [sentence, answer, expected] of rows) it(
    sentence, () => (typeof expected === 'string' ? assert.equal(answer, expected) : assert.match(answer, expected)),
  );
});
