// What service discovery knows of the members, from objects that come and change.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { EXPORTED_SERVICES, OWN_EXPORT_LABEL } from '../../../api/kinds/service-discovery.ts';
import { CLUSTERSET_GATEWAYS, CLUSTERSET_MEMBERS, NAMESPACES } from '../../../api/resource-types.ts';
import { ClustersetState } from '../../../service-discovery/clusterset-state.ts';
import { FakeCluster } from '../../support/doubles/fake-cluster.ts';
import { SILENT } from '../../support/doubles/scripted-api-server.ts';
import { exportOf } from '../../support/objects/exported-services.ts';
import { gateway, member } from '../pod-plane/nodes/plane-objects.ts';

let cluster: FakeCluster;
let stop: AbortController;

describe('what service discovery knows of the members', () => {
  beforeEach(() => {
    [cluster, stop] = [new FakeCluster(), new AbortController()];
  });
  afterEach(async () => {
    stop.abort();
    await cluster.settled();
  });

  async function known(): Promise<ClustersetState> {
    const state = new ClustersetState({ client: cluster.client, installNamespace: 'isthmus-system', logger: SILENT });
    void state.run(stop.signal);
    await cluster.settled();
    return state;
  }

  it('is worked out when a member changes, and not again for each export: there may be thousands', async () => {
    cluster.put(CLUSTERSET_MEMBERS, member('us', '10.1.0.0/16'));
    cluster.put(EXPORTED_SERVICES, exportOf('us'));
    const own = exportOf('eu');
    cluster.put(EXPORTED_SERVICES, { ...own, metadata: { ...own.metadata, labels: { [OWN_EXPORT_LABEL]: 'true' } } });
    const state = await known();
    const before = state.view('shop/web')?.prefixes;
    assert.deepEqual([...before?.keys() ?? []], ['us']);
    cluster.put(EXPORTED_SERVICES, exportOf('us', { name: 'other' }));
    await cluster.settled();
    assert.equal(state.view('shop/web')?.prefixes, before);
    cluster.put(CLUSTERSET_MEMBERS, member('asia', '10.2.0.0/16'));
    await cluster.settled();
    assert.deepEqual([...state.view('shop/web')?.prefixes.keys() ?? []], ['us', 'asia']);
  });

  it('is which cluster this is: as its own export says until a gateway says it', async () => {
    const own = exportOf('old');
    cluster.put(EXPORTED_SERVICES, { ...own, metadata: { ...own.metadata, labels: { [OWN_EXPORT_LABEL]: 'true' } } });
    const state = await known();
    assert.deepEqual([state.clusterId, state.knowsItself], ['old', true]);
    cluster.put(CLUSTERSET_GATEWAYS, gateway('one', 'new', '2026-01-01T00:00:00Z'));
    await cluster.settled();
    assert.equal(state.clusterId, 'new');
  });

  it('is no namespace that is being deleted: an API server takes no import there', async () => {
    const shop = { metadata: { name: 'shop' } };
    cluster.put(NAMESPACES, shop);
    const state = await known();
    cluster.put(EXPORTED_SERVICES, exportOf('us'));
    await cluster.settled();
    const told: string[] = [];
    state.onChange((key) => told.push(key));
    assert.equal(state.hasNamespace('shop'), true);
    cluster.put(NAMESPACES, { metadata: { ...shop.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
    await cluster.settled();
    assert.equal(state.hasNamespace('shop'), false);
    cluster.remove(NAMESPACES, 'shop');
    cluster.put(NAMESPACES, shop);
    await cluster.settled();
    assert.deepEqual([state.hasNamespace('shop'), told.at(-1)], [true, 'shop/web']);
  });

  it('is whether this cluster is a member: no more once it has left, although its gateway still names it', async () => {
    cluster.put(CLUSTERSET_GATEWAYS, gateway('one', 'eu', '2026-01-01T00:00:00Z'));
    cluster.put(CLUSTERSET_MEMBERS, member('eu', '10.1.0.0/16'));
    const state = await known();
    assert.equal(state.memberId, 'eu');
    cluster.remove(CLUSTERSET_MEMBERS, 'isthmus-system/eu');
    await cluster.settled();
    assert.deepEqual([state.clusterId, state.memberId], ['eu', undefined]);
  });
});
