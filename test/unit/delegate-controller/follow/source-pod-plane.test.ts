// What a source knows of the pod plane, and when it knows that there is none.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { ClustersetMember, ClustersetEndpoint } from '../../../../api/kinds/gateway.ts';
import { OWN_ENDPOINT_LABEL } from '../../../../api/objects/keys.ts';
import { SourcePodPlane } from '../../../../delegate-controller/follow/source-pod-plane.ts';
import { aDelegateRecord, withStatus } from '../../../support/objects/builders.ts';
import { ScriptedApiServer, SILENT, type Exchange } from '../../../support/doubles/scripted-api-server.ts';

const cluster = (clusterID: string, global: string): ClustersetMember => ({
  metadata: { namespace: 'isthmus-system', name: clusterID, resourceVersion: '1' },
  spec: { clusterID, clusterCIDR: ['10.1.0.0/16'], globalCIDR: [global] },
});
const endpoint = (clusterID: string, labels = {}): ClustersetEndpoint => ({
  metadata: { namespace: 'isthmus-system', name: `${clusterID}-wireguard`, resourceVersion: '1', labels },
  spec: { clusterID, backend: 'wireguard', addresses: [], publicKeys: ['k'] },
});
const CLUSTERS = [cluster('eu', '242.0.0.0/16'), cluster('us', '242.1.0.0/16')];
const ENDPOINTS = [endpoint('eu', { [OWN_ENDPOINT_LABEL]: 'true' }), endpoint('us')];
const seen = (plane: SourcePodPlane) => plane.seenFromHere(
  { chaperon: undefined, delegate: aDelegateRecord(withStatus({ phase: 'Running', podIP: '10.1.0.5' })) },
  { podPlane: { cluster: 'us' } },
).delegate?.status.podIP;

/** A plane, and its first two requests by what they ask for. */
async function started(t: TestContext): Promise<
  {
    readonly plane: SourcePodPlane; readonly server: ScriptedApiServer; readonly clusters: Exchange;
    readonly endpoints: Exchange; readonly told: boolean[]
  }
> {
  const server = await ScriptedApiServer.start();
  const stopped = new AbortController();
  const plane = new SourcePodPlane({ source: server.client, installNamespace: 'isthmus-system', logger: SILENT });
  const told: boolean[] = [];
  plane.onChange(() => told.push(plane.isThere));
  const running = plane.run(stopped.signal);
  t.after(async () => {
    stopped.abort();
    await server.stop();
    await running;
  });
  const first = [await server.next(), await server.next()].toSorted((one, other) => (one.path < other.path ? -1 : 1));
  assert.deepEqual(first.map(({ path }) => path), ['clustersetendpoints', 'clustersetmembers'].map(
    (plural) => `/apis/isthmus.dev/v1alpha1/namespaces/isthmus-system/${plural}`,
  ));
  return { plane, server, clusters: first[1]!, endpoints: first[0]!, told };
}

describe('the pod plane of a source', { timeout: 30_000 }, () => {
  it('is known once both kinds are, not by halves', async (t) => {
    const { plane, server, clusters, endpoints, told } = await started(t);
    endpoints.answerPage('1', '', ...ENDPOINTS);
    (await server.next()).open(); // the watch: the list was read
    assert.deepEqual([plane.isThere, seen(plane)], [false, '10.1.0.5']);
    clusters.answerPage('1', '', ...CLUSTERS);
    await plane.known;
    assert.deepEqual([plane.isThere, seen(plane), told], [true, '242.1.0.5', [true]]);
  });

  for (const status of [403, 404]) {
    it(`is known to be none where the API server answers ${status}`, async (t) => {
      const { plane, clusters, endpoints, told } = await started(t);
      for (const exchange of [clusters, endpoints]) exchange.answer(status, { kind: 'Status', code: status });
      await plane.known;
      assert.deepEqual([plane.isThere, seen(plane), told], [false, '10.1.0.5', []]);
    });
  }

  it('is not known while the API server does not say', async (t) => {
    const { plane, server, clusters, endpoints } = await started(t);
    let isKnown = false;
    void plane.known.then(() => (isKnown = true));
    endpoints.answerPage('1', '');
    clusters.answer(500, { kind: 'Status', code: 500 });
    const asked = [await server.next(), await server.next()]; // the watch of the one, and the other list again
    assert.ok(asked.some(({ path, query }) => path.endsWith('clustersetmembers') && query.get('watch') === null));
    assert.equal(isKnown, false);
  });

  it('is told of when it comes and when it goes', async (t) => {
    const { plane, server, clusters, endpoints, told } = await started(t);
    clusters.answerPage('1', '', ...CLUSTERS);
    endpoints.answerPage('1', '');
    await plane.known;
    const watches = [await server.next(), await server.next()];
    const watch = watches.find(({ path }) => path.endsWith('clustersetendpoints'))!;
    for (const each of watches) each.open();
    const gone = new Promise<void>((resolve) => plane.onChange(() => told.length === 3 && resolve()));
    const [own, other] =
      ENDPOINTS.map((one, index) => ({ ...one, metadata: { ...one.metadata, resourceVersion: String(2 + index) } }));
    watch.send('ADDED', own, other);
    watch.send('DELETED', { ...own, metadata: { ...own?.metadata, resourceVersion: '4' } });
    await gone;
    assert.deepEqual([told, plane.isThere], [[true, true, false], false]);
  });
});
