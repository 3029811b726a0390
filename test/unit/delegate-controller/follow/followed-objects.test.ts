// Followed objects of the source as they are watched: kinds that pods name only where some pod names one, and nothing
// concluded from a list that is not complete.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject, StringMap } from '../../../../api/objects/core.ts';
import { CONFIG_MAPS, INGRESSES, SECRETS, SERVICES } from '../../../../api/resource-types.ts';
import { FOLLOWED_KINDS, type FollowedKind } from '../../../../delegate-controller/copies/followed-kinds.ts';
import { FollowedSources } from '../../../../delegate-controller/follow/followed-objects.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { FakeCluster, startEachTest, watchedPath } from '../../../support/doubles/fake-cluster.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';

const kindOf = (plural: string): FollowedKind =>
  FOLLOWED_KINDS.find(({ type }) => type.plural === plural) ?? assert.fail(plural);
const [MAPS, SERVICE, INGRESS, SECRET] =
  [kindOf('configmaps'), kindOf('services'), kindOf('ingresses'), kindOf('secrets')];
const object = (name: string, more: object = {}, namespace = 'shop'): KubernetesObject =>
  ({ metadata: { namespace, name, uid: `uid-of-${name}` }, ...more });
const service = (name: string, selector?: object): KubernetesObject => object(name, { spec: { selector } });

let cluster: FakeCluster;
let stop: AbortController;
/** What was told, a line each. */
let told: string[] = [];

async function started(): Promise<FollowedSources> {
  const sources = new FollowedSources(
    { source: cluster.client, sourceId: 'c1', logger: SILENT },
    {
      changed: ({ type }, key) => void told.push(`${type.plural} ${key}`),
      listed: ({ type }, namespace) => void told.push(`listed ${type.plural} ${namespace ?? 'everywhere'}`),
    },
    stop.signal,
  );
  sources.start();
  await cluster.settled();
  return sources;
}

const take = (): readonly string[] => told.splice(0).toSorted();
const watches = (): readonly string[] => [...cluster.watched.values()].toSorted();

const withCluster = (): void => startEachTest(() => {
  [cluster, stop, told] = [new FakeCluster(), new AbortController(), []];
  return { cluster, stop };
});

describe('kinds that serve pods', () => {
  withCluster();

  it('are watched everywhere from the start, and no others', async () => {
    await started();
    assert.deepEqual(watches(), [watchedPath(SERVICES), watchedPath(INGRESSES)].toSorted());
    assert.deepEqual(take(), ['listed ingresses everywhere', 'listed services everywhere']);
  });

  const services: Readonly<Record<string, readonly [selector: object | undefined, isKept: boolean]>> = {
    'with a selector is kept': [{ app: 'web' }, true], 'without one never follows': [undefined, false],
    'with an empty one never follows': [{}, false],
  };
  for (const [what, [selector, isKept]] of Object.entries(services)) it(`: a Service ${what}`, async () => {
    cluster.put(SERVICES, service('web', selector));
    const sources = await started();
    assert.equal(sources.in(SERVICE, 'shop').length, isKept ? 1 : 0);
    assert.equal(take().includes('services shop/web'), isKept);
  });

  it('lose a Service that loses its selector', async () => {
    cluster.put(SERVICES, service('web', { app: 'web' }));
    const sources = await started();
    take();
    cluster.put(SERVICES, service('web', {}));
    await cluster.settled();
    assert.deepEqual([take(), sources.get(SERVICE, 'shop', 'web')], [['services shop/web'], undefined]);
  });

  it('keep a Service that loses its selector for as long as it has our annotations', async () => {
    const [followed, released] = [{ 'multicluster.admiralty.io/original-selector': 'app=web' }, {}];
    const annotated = (annotations: StringMap): KubernetesObject =>
      ({ metadata: { namespace: 'shop', name: 'web', annotations }, spec: { selector: {} } }) as KubernetesObject;
    cluster.put(SERVICES, annotated(followed));
    const sources = await started();
    assert.equal(typeof sources.get(SERVICE, 'shop', 'web'), 'object');
    cluster.put(SERVICES, annotated(released));
    await cluster.settled();
    assert.equal(sources.get(SERVICE, 'shop', 'web'), undefined);
  });

  it('are found by namespace, also by one whose name begins like another', async () => {
    for (const namespace of ['shop', 'shop-2', 'sho']) {
      cluster.put(SERVICES, object('web', { spec: { selector: { app: 'web' } } }, namespace));
    }
    const sources = await started();
    assert.deepEqual(sources.in(SERVICE, 'shop').map(({ key }) => key), ['shop/web']);
    assert.deepEqual(sources.in(SERVICE, 'nothing'), []);
  });

  it('are told again once all are known: what was told before had no effect', async () => {
    cluster.put(SERVICES, service('web', { app: 'web' }));
    await started();
    assert.deepEqual(take().filter((line) => line.endsWith('services shop/web')), [
      'services shop/web', 'services shop/web',
    ]);
  });

  it('have Ingresses with the names of their Services, of rules and of the default', async () => {
    const backend = (name: unknown) => ({ service: { name } });
    cluster.put(INGRESSES, object('front', { spec: {
      defaultBackend: backend('fallback'),
      rules: [
        { http: { paths: [{ backend: backend('web') }, { backend: {} }, { backend: backend(7) }] } }, { host: 'x' },
      ],
    } }));
    const found = (await started()).get(INGRESS, 'shop', 'front');
    assert.ok(typeof found === 'object');
    assert.deepEqual(found.refersTo.toSorted(), ['fallback', 'web']);
  });
});

describe('kinds that pods name', () => {
  withCluster();

  it('are watched in the namespaces where one is named, once each', async () => {
    const sources = await started();
    sources.want(MAPS, 'shop', true);
    sources.want(MAPS, 'shop', true);
    sources.want(SECRET, 'shop', true);
    sources.want(MAPS, 'bank', false);
    await cluster.settled();
    assert.deepEqual(watches().filter((path) => path.includes('/namespaces/')), [
      watchedPath(CONFIG_MAPS, 'shop'), watchedPath(SECRETS, 'shop'),
    ]);
  });

  it('are not in memory any more when none is', async () => {
    cluster.put(CONFIG_MAPS, object('settings'));
    const sources = await started();
    sources.want(MAPS, 'shop', true);
    await cluster.settled();
    assert.equal(typeof sources.get(MAPS, 'shop', 'settings'), 'object');
    sources.want(MAPS, 'shop', false);
    await cluster.settled();
    assert.deepEqual([sources.get(MAPS, 'shop', 'settings'), sources.in(MAPS, 'shop')], ['unknown', []]);
    assert.ok(!watches().includes(watchedPath(CONFIG_MAPS, 'shop')));
    take();
    cluster.put(CONFIG_MAPS, object('settings', { data: { a: 'b' } }));
    await cluster.settled();
    assert.deepEqual(take(), []);
  });

  it('are watched anew when one is named again', async () => {
    const sources = await started();
    for (const wanted of [true, false, true]) sources.want(MAPS, 'shop', wanted);
    cluster.put(CONFIG_MAPS, object('settings'));
    await cluster.settled();
    assert.equal(typeof sources.get(MAPS, 'shop', 'settings'), 'object');
    assert.equal(watches().filter((path) => path === watchedPath(CONFIG_MAPS, 'shop')).length, 1);
  });

  it('are unknown while they cannot be read, and none is said to be missing', async () => {
    cluster.refused.set('configmaps', new ApiError(403, 'Forbidden', 'configmaps is forbidden'));
    const sources = await started();
    take();
    sources.want(MAPS, 'shop', true);
    await cluster.settled();
    assert.deepEqual([sources.get(MAPS, 'shop', 'settings'), take()], ['unknown', []]);
  });

  it('are known to be missing once the namespace was listed, and only in that', async () => {
    const sources = await started();
    sources.want(MAPS, 'shop', true);
    await cluster.settled();
    assert.deepEqual([sources.get(MAPS, 'shop', 'no'), sources.get(MAPS, 'bank', 'no')], [undefined, 'unknown']);
    assert.ok(take().includes('listed configmaps shop'));
  });

  it('have a digest that their metadata of this cluster does not change', async () => {
    cluster.put(CONFIG_MAPS, object('settings', { data: { a: '1' } }));
    const sources = await started();
    sources.want(MAPS, 'shop', true);
    const digest = async (more: object, metadata: object = {}) => {
      const next = object('settings', more);
      cluster.put(CONFIG_MAPS, { ...next, metadata: { ...next.metadata, ...metadata } });
      await cluster.settled();
      const found = sources.get(MAPS, 'shop', 'settings');
      return typeof found === 'object' ? found.digest : undefined;
    };
    const first = await digest({ data: { a: '1' } });
    assert.equal(await digest({ data: { a: '1' } }, { generation: 7, finalizers: ['x/y'] }), first);
    assert.notEqual(await digest({ data: { a: '2' } }), first);
    assert.notEqual(await digest({ data: { a: '1' }, immutable: true }), first);
  });

  it('end with everything else', async () => {
    const sources = await started();
    sources.want(MAPS, 'shop', true);
    await cluster.settled();
    stop.abort();
    await cluster.settled();
    assert.deepEqual(watches(), []);
  });
});
