import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stringify } from 'yaml';
import { CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, SECRETS } from '../../../../api/resource-types.ts';
import {
  KEEP, lacksKeepPolicy, readRelease, RESOURCE_POLICY, writeRelease,
} from '../../../../cli/clusters/helm-release.ts';
import { keepCrds, restoreReleases } from '../../../../cli/migrate/migrate-release.ts';
import { MemoryCluster } from '../../../support/doubles/memory-cluster.ts';
import { admiraltyDeployment, memoryMigration } from '../../../support/doubles/memory-migration.ts';

const CHAPERONS = 'podchaperons.multicluster.admiralty.io';
const definition = (name: string, annotations = {}) => ({ metadata: { name, annotations } });
const releaseOf = (...names: readonly string[]) => writeRelease({
  name: 'mc', hooks: [{ name: 'post-delete' }],
  manifest: names.map((name) => `---\n${stringify({
    apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name },
  })}`).join(''),
});
const ADMIRALTYS = releaseOf(CHAPERONS);
const secret = (name: string, data: Readonly<Record<string, string>>, labels = { owner: 'helm' }) =>
  ({ metadata: { namespace: 'adm', name, labels }, data });

/** A cluster with the definition, two revisions of the release, and what is not Admiralty's. */
function world() {
  return new MemoryCluster(
    [CUSTOM_RESOURCE_DEFINITIONS, definition(CHAPERONS)],
    [CUSTOM_RESOURCE_DEFINITIONS, definition('issuers.cert-manager.io')],
    [SECRETS, secret('mc.v1', { release: ADMIRALTYS })], [SECRETS, secret('mc.v2', { release: ADMIRALTYS })],
    [SECRETS, secret('other.v1', { release: releaseOf('issuers.cert-manager.io') })],
    [SECRETS, secret('empty.v1', {})], [SECRETS, secret('by-hand', { release: ADMIRALTYS }, { owner: 'me' })],
  );
}

const dataOf = (cluster: MemoryCluster, name: string): Readonly<Record<string, string>> =>
  (cluster.find(SECRETS, name, 'adm') as { readonly data?: Record<string, string> } | undefined)?.data ?? {};
const policyOf = (cluster: MemoryCluster, name: string) =>
  cluster.find(CUSTOM_RESOURCE_DEFINITIONS, name)?.metadata.annotations?.[RESOURCE_POLICY];

describe("Admiralty's definitions before an uninstall of it", () => {
  it('are kept, live and in every revision of its release; those of others are not touched', async () => {
    const cluster = world();
    await keepCrds(memoryMigration(cluster));
    assert.deepEqual([policyOf(cluster, CHAPERONS), policyOf(cluster, 'issuers.cert-manager.io')], [KEEP, undefined]);
    for (const name of ['mc.v1', 'mc.v2']) {
      assert.deepEqual(lacksKeepPolicy(readRelease(dataOf(cluster, name)['release'] ?? '')!, []), []);
      assert.equal(dataOf(cluster, name)['release.before-migration'], ADMIRALTYS);
    }
    assert.deepEqual(dataOf(cluster, 'by-hand'), { release: ADMIRALTYS });
    assert.equal(Object.keys(dataOf(cluster, 'other.v1')).length, 1);
  });

  it('are not written a second time', async () => {
    const cluster = world();
    await keepCrds(memoryMigration(cluster));
    const { length } = cluster.writes;
    await keepCrds(memoryMigration(cluster));
    assert.equal(cluster.writes.length, length);
  });

  it('keep the first backup when Helm has upgraded the release meanwhile', async () => {
    const cluster = world();
    await keepCrds(memoryMigration(cluster));
    const upgraded = { ...dataOf(cluster, 'mc.v2'), release: ADMIRALTYS };
    cluster.put(SECRETS, secret('mc.v2', { ...upgraded, 'release.before-migration': 'first' }));
    await keepCrds(memoryMigration(cluster));
    assert.equal(dataOf(cluster, 'mc.v2')['release.before-migration'], 'first');
  });

  it('that Helm writes at the same time fail the step: nothing of its write is lost', async () => {
    const cluster = world();
    cluster.before = ({ method, path }) =>
      void (method === 'PATCH' && path.endsWith('/mc.v1') && cluster.put(SECRETS, secret('mc.v1', { release: 'new' })));
    await assert.rejects(keepCrds(memoryMigration(cluster)), { status: 409 });
    assert.deepEqual(dataOf(cluster, 'mc.v1'), { release: 'new' });
  });

  it('that another tool unmarks again are named, with what would be lost', async () => {
    const cluster = world();
    cluster.before = ({ path, method }) => {
      const isLookedAtAgain = method === 'GET' && path.endsWith('/customresourcedefinitions');
      if (isLookedAtAgain && cluster.writes.length > 0) cluster.put(CUSTOM_RESOURCE_DEFINITIONS, definition(CHAPERONS));
      return undefined;
    };
    await assert.rejects(keepCrds(memoryMigration(cluster)), { code: 'StillInUse', message: new RegExp(CHAPERONS) });
  });
});

describe("a release of Admiralty's in a ConfigMap, as HELM_DRIVER=configmap stores it", () => {
  it('is kept, and is given back byte for byte', async () => {
    const release = writeRelease(readRelease(ADMIRALTYS)!, CONFIG_MAPS);
    const cluster = new MemoryCluster([CUSTOM_RESOURCE_DEFINITIONS, definition(CHAPERONS)]);
    cluster.put(CONFIG_MAPS, secret('mc.v1', { release }));
    const stored = () => cluster.find(CONFIG_MAPS, 'mc.v1', 'adm')?.['data'] as Readonly<Record<string, string>>;
    await keepCrds(memoryMigration(cluster));
    assert.deepEqual(lacksKeepPolicy(readRelease(stored()['release'] ?? '', CONFIG_MAPS)!, []), []);
    await restoreReleases(memoryMigration(cluster));
    assert.deepEqual(stored(), { release });
  });
});

it('a release that Helm stores elsewhere is told of: its uninstall would delete the definitions', async () => {
  const deployment = admiraltyDeployment('restarter', 1, { 'meta.helm.sh/release-name': 'mc' });
  const warned = async (release: string) => {
    const labels = { owner: 'helm', name: release };
    const cluster = new MemoryCluster(
      [CUSTOM_RESOURCE_DEFINITIONS, definition(CHAPERONS)], [SECRETS, secret('v1', { release: ADMIRALTYS }, labels)],
    );
    const migration = memoryMigration(cluster, {}, [deployment]);
    await keepCrds(migration);
    return migration.told.some((line) => /warning: release mc .*"helm uninstall" would delete/.test(line));
  };
  assert.deepEqual([await warned('mc'), await warned('isthmus')], [false, true]);
});

describe('a release of somebody else that nobody can read', () => {
  const broken = {
    'is no base64': '!', 'is no gzip': Buffer.from('bm90IGd6aXA=').toString('base64'),
    'has no manifest': writeRelease({ name: 'other' }),
    'has the same key twice': writeRelease({ manifest: '---\nkind: ClusterRole\nkind: ClusterRole\n' }),
  };
  for (const [what, release] of Object.entries(broken)) {
    it(`does not stop a migration where it ${what}`, async () => {
      const cluster = world();
      cluster.put(SECRETS, secret('broken.v1', { release }));
      await keepCrds(memoryMigration(cluster));
      assert.deepEqual(lacksKeepPolicy(readRelease(dataOf(cluster, 'mc.v1')['release'] ?? '')!, []), []);
      assert.deepEqual(dataOf(cluster, 'broken.v1'), { release });
    });
  }
});

describe("a release of Admiralty's that is given back", () => {
  it('is byte for byte what Helm wrote, without a backup, hooks included', async () => {
    const cluster = world();
    await keepCrds(memoryMigration(cluster));
    await restoreReleases(memoryMigration(cluster));
    assert.deepEqual(dataOf(cluster, 'mc.v1'), { release: ADMIRALTYS });
    assert.equal(policyOf(cluster, CHAPERONS), KEEP);
  });

  it('is left alone where it was never changed', async () => {
    const cluster = world();
    await restoreReleases(memoryMigration(cluster));
    assert.deepEqual(cluster.writes, []);
  });
});
