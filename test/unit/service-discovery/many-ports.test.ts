// A member decides how many ports it exports. What is made of them takes as many steps as there are ports, not as many
// as there are pairs of them: one export must not hold up DNS and the imports of all others.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answerQuestion, toDnsService } from '../../../service-discovery/dns/dns-answer.ts';
import { toImportObjects, type ImportView } from '../../../service-discovery/imports/import-objects.ts';
import { reachableSlices } from '../../../service-discovery/imports/reachable-slices.ts';
import { mergeExports } from '../../../service-discovery/imports/merge-exports.ts';
import { exportOf } from '../../support/objects/exported-services.ts';

const MANY = 300;
/** So often may each of them be looked at. */
const LOOKS = 40;

/** An export with many ports and endpoints, and how often the name of a port was read. */
function counted(type: 'ClusterSetIP' | 'Headless') {
  let reads = 0;
  const ports = Array.from({ length: MANY }, (_, index) => ({
    get name() {
      reads += 1;
      return `port-${index}`;
    },
    protocol: 'TCP', port: index + 1,
  }));
  const endpoints = Array.from({ length: MANY }, (_, index) => (
    { address: `10.1.${index >> 8}.${index & 255}`, ready: true }
  ));
  const exported = exportOf('eu', { type, ports, slices: [{ addressType: 'IPv4', ports, endpoints }] });
  const merged = mergeExports([exported]) ?? assert.fail('no import');
  const view: ImportView = {
    clusterId: 'eu', merged, prefixes: new Map(), unreachable: new Set(), podPlane: new Set(), importAddress: undefined,
    ips: ['10.96.0.9'],
  };
  const since = (work: () => unknown) => {
    const before = reads;
    work();
    return reads - before;
  };
  return { view, since, merging: reads };
}

for (const type of ['ClusterSetIP', 'Headless'] as const) describe(`many ports of a Service, ${type}`, () => {
  const { view, since, merging } = counted(type);
  const service = toDnsService(view, []);
  const records = (name: string) =>
    answerQuestion({ name: `${name}web.shop.svc.clusterset.local`, type: 'SRV' }, () => service).records.length;
  const steps: Readonly<Record<string, number>> = {
    'are merged': merging,
    'become ports of EndpointSlices': since(() => toImportObjects(view)),
    'are told by SRV': since(() => records('')),
    'are searched for one that is there': since(() => records('_port-7._tcp.')),
    'are searched for one that is not there': since(() => records('_other._tcp.')),
  };
  for (const [what, reads] of Object.entries(steps)) {
    it(`${what} one by one`, () => assert(reads <= MANY * LOOKS, `${reads} reads of ${MANY} ports`));
  }
  it('are told by no more records than clients look at', () => assert.equal(records(''), 256));
  it('are found', () => assert.equal(records('_port-7._tcp.'), type === 'Headless' ? 256 : 1));
});

it('many ports of a Service are each looked up once among the listeners of a gateway', () => {
  let reads = 0;
  const numbers = Array.from({ length: MANY }, (_, index) => index + 1);
  const listeners = numbers.map((port) => ({
    get port() {
      reads += 1;
      return port;
    },
    listenerPort: 20_000 + port,
  }));
  const { view } = counted('ClusterSetIP');
  const ports = numbers.map((port) => ({ name: `port-${port}`, protocol: 'TCP', port }));
  const slices = [{ addressType: 'IPv4', ports, endpoints: [{ address: '10.1.0.1', ready: true }] }] as const;
  const exported = { ...exportOf('us', { ports, slices }), status: { listeners } };
  const [slice] = reachableSlices(exported, { ...view, importAddress: '10.9.0.1' });
  assert.deepEqual([slice?.ports.length, slice?.ports[6]?.port], [MANY, 20_007]);
  assert(reads <= MANY * LOOKS, `${reads} reads of ${MANY} listeners`);
});
