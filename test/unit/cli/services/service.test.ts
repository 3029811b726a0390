import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Condition } from '../../../../api/objects/core.ts';
import type { ServiceExport, ServiceImport } from '../../../../api/kinds/service-discovery.ts';
import { servicesTable } from '../../../../cli/services/service-table.ts';
import { AppError } from '../../../../process/errors.ts';
import { dnsAddress, dnsStub, exportText } from '../../../../cli/services/service.ts';

const condition = (type: string, status: 'True' | 'False', reason: string, message = 'm'): Condition =>
  ({ type, status, reason, message, lastTransitionTime: '' });
const OF = { namespace: 'shop', name: 'web' };
const HEAD = 'shop/web is exported as web.shop.svc.clusterset.local';

describe('what is said of an export', () => {
  const rows: [string, readonly Condition[], string][] = [
    [
      'is its name when all is well',
      [condition('Valid', 'True', 'Valid'), condition('Ready', 'True', 'Exported'), condition(
        'Conflict', 'False', 'NoConflicts',
      )],
      HEAD,
    ],
    [
      'is what is wrong with it', [condition('Valid', 'False', 'NoService', 'create it')],
      `${HEAD}\n  Valid NoService: create it`,
    ],
    [
      'is what contradicts it', [condition('Conflict', 'True', 'PortConflict', 'ports differ')],
      `${HEAD}\n  Conflict PortConflict: ports differ`,
    ],
    [
      'is what to start where nobody looks', [],
      `${HEAD}\n  no component has processed it yet: run "isthmus service run" in this cluster`,
    ],
  ];
  for (const [what, conditions, expected] of rows) {
    it(what, () => assert.equal(exportText(OF, { conditions }), expected));
  }
});

describe('the table of Services', () => {
  const imported: ServiceImport = {
    metadata: OF, spec: { type: 'ClusterSetIP', ports: [], ips: ['10.96.0.9'] },
    status: { clusters: [{ cluster: 'eu' }, { cluster: 'us' }] },
  };
  const exported = (...conditions: readonly Condition[]): ServiceExport => ({ metadata: OF, status: { conditions } });
  const row = (exports: readonly ServiceExport[], imports: readonly ServiceImport[]) =>
    servicesTable(exports, imports).split('\n')[1]?.split(/\s{2,}/);
  const rows: [string, readonly ServiceExport[], readonly ServiceImport[], readonly string[]][] = [
    ['shows a Service of others', [], [imported], [
      'shop', 'web', 'ClusterSetIP', '10.96.0.9', 'eu,us', 'no', '<none>',
    ]],
    ['shows one of this cluster and others', [exported(condition('Ready', 'True', 'Exported'))], [imported], [
      'shop', 'web', 'ClusterSetIP', '10.96.0.9', 'eu,us', 'yes', '<none>',
    ]],
    ['shows why one is not exported', [exported(condition('Valid', 'False', 'NoService'))], [], [
      'shop', 'web', '<none>', '<none>', '<none>', 'NoService', '<none>',
    ]],
    ['shows one that nobody has looked at', [exported()], [], [
      'shop', 'web', '<none>', '<none>', '<none>', 'not yet', '<none>',
    ]],
    [
      'shows contradictions',
      [exported(condition('Ready', 'True', 'Exported'), condition('Conflict', 'True', 'PortConflict'))], [imported],
      ['shop', 'web', 'ClusterSetIP', '10.96.0.9', 'eu,us', 'yes', 'PortConflict'],
    ],
  ];
  for (const [what, exports, imports, expected] of rows) {
    it(what, () => assert.deepEqual(row(exports, imports), expected));
  }
});

it('the block for CoreDNS forwards one zone and no other', () => assert.match(
  dnsStub('10.96.0.53'), /^clusterset\.local:53 \{\n {4}errors\n {4}cache 5\n {4}forward \. 10\.96\.0\.53\n\}$/m,
));

describe('the address of a DNS server outside of the cluster', () => {
  for (const address of ['192.0.2.10:8053', '[2001:db8::5]:53']) {
    it(`may be ${address}`, () => assert.equal(dnsAddress(address), address));
  }
  for (const address of [
    '0.0.0.0:8053', '[::]:8053', 'dns.example:53', '192.0.2.10', '192.0.2.10:0', '192.0.2.10:70000', '2001:db8::5:53',
  ]) {
    it(`cannot be ${address}`, () => assert.throws(
      () => dnsAddress(address), (error) => error instanceof AppError && error.code === 'BadInput',
    ));
  }
});
