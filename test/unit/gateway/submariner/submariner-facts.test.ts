import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { ClustersetMember, ClustersetEndpoint } from '../../../../api/kinds/gateway.ts';
import type {
  SubmarinerCluster, SubmarinerConnection, SubmarinerEndpoint, SubmarinerGateway,
} from '../../../../api/objects/submariner.ts';
import {
  planSubmariner, readSubmariner, type SubmarinerObjects,
} from '../../../../gateway/submariner/submariner-facts.ts';
import type { Plan } from '../../../../model/objects/plan.ts';

const cluster = (id: string, range: string, global: readonly string[] = []): SubmarinerCluster => ({
  metadata: { name: id },
  spec: { cluster_id: id, cluster_cidr: [range], service_cidr: ['100.64.0.0/16'], global_cidr: global },
});
const endpoint = (id: string, host: string): SubmarinerEndpoint => ({
  metadata: { name: `${id}-submariner-cable` },
  spec: { cluster_id: id, private_ip: host, public_ip: '', backend_config: { 'udp-port': '4501' } },
});
const RTT = { last: '1ms', min: '1ms', average: '1ms', max: '1ms', stdDev: '0s' };
const connection = (id: string, status: string): SubmarinerConnection => ({
  status, statusMessage: 'said', endpoint: { cluster_id: id }, usingIP: '10.0.0.2', usingNAT: true, latencyRTT: RTT,
});
const gateway =
  (haStatus: string, connections: readonly SubmarinerConnection[], at = 1, id = 'eu'): SubmarinerGateway => ({
    metadata: { name: haStatus, annotations: { 'update-timestamp': String(at) } },
    status: { haStatus, localEndpoint: { cluster_id: id }, connections },
  });
const THREE: SubmarinerObjects = {
  clusters: [cluster('eu', '10.1.0.0/16'), cluster('us', '10.2.0.0/16'), cluster('asia', '10.3.0.0/16')],
  endpoints: [endpoint('eu', '10.0.0.1'), endpoint('us', '10.0.0.2')],
  gateways: [gateway('passive', []), gateway('active', [connection('us', 'connected')])],
};
const read = (more: Partial<SubmarinerObjects> = {}, expectedId?: string) =>
  readSubmariner({ ...THREE, ...more }, expectedId);
const ids = (facts: ReturnType<typeof read>) => facts.members.map((one) => one.cluster.clusterID);

describe('an existing Submariner', () => {
  it('leads to the clusters that have a ClustersetEndpoint, with their own ranges', () => {
    const { clusterId, members, failure } = read();
    assert.deepEqual([clusterId, failure], ['eu', undefined]);
    assert.deepEqual(members, [
      {
        cluster: { clusterID: 'eu', clusterCIDR: ['10.1.0.0/16'], serviceCIDR: ['100.64.0.0/16'] },
        endpoint: { clusterID: 'eu', backend: 'submariner', addresses: ['10.0.0.1:4501'] },
      },
      {
        cluster: { clusterID: 'us', clusterCIDR: ['10.2.0.0/16'], serviceCIDR: ['100.64.0.0/16'] },
        endpoint: { clusterID: 'us', backend: 'submariner', addresses: ['10.0.0.2:4501'] },
      },
    ]);
  });
  it('does not lead to pods of a cluster with Globalnet, nor says that its cable carries them', () => {
    const facts = read({ clusters: [cluster('eu', '10.1.0.0/16'), cluster('us', '10.2.0.0/16', ['242.0.0.0/16'])] });
    assert.deepEqual([ids(facts), facts.connections], [['eu'], []]);
  });
  it('has the cables that its active gateway tells of, the one that changed last', () => {
    const gateways =
      [gateway('active', [connection('us', 'connected')], 5), gateway('active', [connection('us', 'error')], 6)];
    assert.deepEqual(read({ gateways }).connections, [
      {
        clusterId: 'us', status: 'error', statusMessage: 'said', usingNAT: true, rxBytes: 0, txBytes: 0,
        usingIP: '10.0.0.2', latencyRTT: RTT,
      },
    ]);
  });
  it('has a cable that is in no known state as one that is being made', () => assert.equal(
    read({ gateways: [gateway('active', [connection('us', 'none')])] }).connections[0]?.status, 'connecting',
  ));
  it('whose gateways are all passive points to the same clusters, and says what is wrong', () => {
    const facts = read({ gateways: [gateway('passive', [])] });
    assert.deepEqual([ids(facts), facts.connections, facts.failure], [
      ['eu', 'us'], [], 'no gateway of Submariner is active; see "subctl show gateways"',
    ]);
  });
  it('that has not said which cluster this is leads nowhere', () => assert.deepEqual(
    [read({ gateways: [] }).clusterId, ids(read({ gateways: [] }))], [undefined, []],
  ));
  it('must call this cluster as the clusterset does', () => {
    assert.deepEqual([ids(read({}, 'eu')), ids(read({}, 'europe'))], [['eu', 'us'], []]);
    assert.match(read({}, 'europe').failure ?? '', /calls this cluster "eu", the clusterset calls it "europe"/);
  });
  const odd: readonly [string, object, object][] = [
    ['connections that are no list', {}, {
      gateways: [
        { metadata: {}, status: { haStatus: 'active', localEndpoint: { cluster_id: 'eu' }, connections: 'x' } },
        gateway('active', [connection('us', 'connected')]),
      ],
    }],
    ['a connection that is null', {}, {
      gateways: [gateway('active', [null as never, connection('us', 'connected')])],
    }],
    ['an address that is no text', { endpoints: [...THREE.endpoints] }, {
      endpoints: [{ metadata: {}, spec: { cluster_id: 'asia', private_ip: {} } }, ...THREE.endpoints],
    }],
    ['ranges that are no list', { clusters: [...THREE.clusters] }, {
      clusters: [{ metadata: {}, spec: { cluster_id: 'us', cluster_cidr: 'x' } }, ...THREE.clusters],
    }],
  ];
  for (const [what, plain, with_] of odd) {
    it(`with ${what} says the rest`, () => assert.deepEqual(read(with_).members, read(plain).members));
  }
  it('may say anything: what is no ID is nobody, and nothing throws', () => {
    const odd = fc.oneof(fc.constantFrom('us', 'eu', '', '../x', 'US', 'a.b'), fc.string());
    fc.assert(fc.property(fc.array(odd), fc.array(odd), odd, (clusters, endpoints, own) => {
      const facts = readSubmariner(
        {
          clusters: [...clusters.map((id) => cluster(id, '10.0.0.0/8')), { metadata: {} }],
          endpoints: [...endpoints.map((id) => endpoint(id, '10.0.0.1')), { metadata: {} }],
          gateways: [gateway('active', endpoints.map((id) => connection(id, 'error')), 1, own), { metadata: {} }],
        },
        undefined,
      );
      for (const { cluster: { clusterID } } of facts.members) {
        assert.match(clusterID, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
      }
      assert.equal(new Set(ids(facts)).size, facts.members.length);
    }), { numRuns: 100 });
  });
});

const NONE = { clusters: [], endpoints: [] };
const FROM = { 'isthmus.dev/from-submariner': 'true' };
const told = (plan: Plan) => plan.map((command) => (
  command.kind === 'apply'
    ? `apply ${command.type.kind} ${command.object.metadata.name}`
    : command.kind === 'delete' ? `delete ${command.type.kind} ${command.at.name}` : command.kind
));
/** What is there after the plan was executed on nothing. */
const written = (plan: Plan, kind: string) => plan.flatMap((command) => (
  command.kind === 'apply'
    && command.type.kind === kind ? [{ ...command.object, metadata: { ...command.object.metadata, uid: 'u' } }] : []
));
const after = (plan: Plan) => ({
  clusters: written(plan, 'ClustersetMember') as unknown as readonly ClustersetMember[],
  endpoints: written(plan, 'ClustersetEndpoint') as unknown as readonly ClustersetEndpoint[],
});

describe('objects that say what Submariner says', () => {
  const first = planSubmariner('isthmus-system', read(), NONE);
  it('are a ClustersetMember and a ClustersetEndpoint for each of its clusters', () => assert.deepEqual(
    told(first),
    [
      'apply ClustersetMember eu', 'apply ClustersetMember us', 'apply ClustersetEndpoint eu-submariner',
      'apply ClustersetEndpoint us-submariner',
    ],
  ));
  it('name the ClustersetEndpoint of this cluster as its own', () => assert.deepEqual(
    after(first).endpoints.map(({ metadata }) => metadata.labels),
    [{ ...FROM, 'isthmus.dev/own-endpoint': 'true' }, FROM],
  ));
  it('are written once', () => assert.deepEqual(planSubmariner('isthmus-system', read(), after(first)), []));
  it('are written again when Submariner says something else', () => {
    const moved = read({ endpoints: [endpoint('eu', '10.0.0.1'), endpoint('us', '10.0.0.9')] });
    assert.deepEqual(
      told(planSubmariner('isthmus-system', moved, after(first))), ['apply ClustersetEndpoint us-submariner'],
    );
  });
  it('go with what Submariner forgets', () => {
    assert.deepEqual(
      told(planSubmariner('isthmus-system', read({ endpoints: [endpoint('eu', '10.0.0.1')] }), after(first))),
      ['delete ClustersetMember us', 'delete ClustersetEndpoint us-submariner'],
    );
    assert.equal(planSubmariner('isthmus-system', read({ gateways: [] }), after(first)).length, 4);
  });
  it('leave alone what the broker or somebody else keeps', () => {
    const others: readonly ClustersetMember[] = [
      { metadata: { name: 'us' }, spec: { clusterID: 'us', clusterCIDR: ['10.9.0.0/16'] } },
      { metadata: { name: 'eu', labels: { ...FROM, 'isthmus.dev/from-broker': 'true' } }, spec: { clusterID: 'eu' } },
    ];
    assert.deepEqual(told(planSubmariner('isthmus-system', read(), { clusters: others, endpoints: [] })), [
      'apply ClustersetEndpoint eu-submariner', 'apply ClustersetEndpoint us-submariner',
    ]);
    assert.deepEqual(planSubmariner('isthmus-system', read({ gateways: [] }), { clusters: others, endpoints: [] }), []);
  });
});
