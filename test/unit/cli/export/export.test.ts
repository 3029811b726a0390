// `isthmus export` against a server: objects on standard output, everything else on standard error, and no Secret read.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseAllDocuments } from 'yaml';
import type { ClusterTarget } from '../../../../api/kinds/cluster-target.ts';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import type { TargetDiscovery } from '../../../../api/registry/target-discovery.ts';
import { AnsweringApiServer } from '../../../support/doubles/answering-api-server.ts';
import { isthmusHere } from '../../../support/processes/command-in-process.ts';

let server: AnsweringApiServer;
let older: AnsweringApiServer;
before(async () => {
  const target = (name: string, more: Partial<ClusterTarget['spec']> = {}): ClusterTarget => ({
    metadata: { name }, spec: { kubeconfigSecret: { namespace: 'targets', name }, ...more },
    status: { clusterID: `id-${name}` },
  });
  const argo: TargetDiscovery = {
    metadata: { name: 'argo' }, spec: { from: { argoCD: {} }, namespaces: ['argocd'] },
    status: { clusters: [{ entry: 'Secret argocd/us', name: 'us "1"', state: 'Duplicate', clusterID: 'id-us' }] },
  };
  const leaving = target('old');
  const clustertargets = [
    target('us'), target('eu', { gateway: { cluster: 'eu' } }),
    { ...leaving, metadata: { ...leaving.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } },
  ];
  server = await AnsweringApiServer.start({ clustertargets, targetdiscoveries: [argo], targets: [] });
  older = await AnsweringApiServer.start({ clustertargets: [target('us')], targets: [] });
});
after(async () => {
  await server.stop();
  await older.stop();
});

const run = async (...words: readonly string[]) =>
  isthmusHere('export', ...words, '--kubeconfig', await server.kubeconfig());
const kindsOf = (yaml: string) =>
  parseAllDocuments(yaml).map((document) => (document.toJS() as KubernetesObject))
    .map(({ kind, metadata }) => `${kind}/${metadata.name}`);

describe('isthmus export', () => {
  it('prints YAML for kubectl, and says what it left out', async () => {
    const { stdout, stderr, code } = await run('flux', '--source', 'GitRepository/apps');
    assert.deepEqual([kindsOf(stdout), code], [['Kustomization/isthmus-us'], 0]);
    assert.equal(
      stderr, 'eu is left out: it is reached through the gateway of Isthmus, which Flux does not use.\n',
    );
  });

  it('names clusters as Argo CD does', async () => {
    const { stdout, stderr } = await run('argocd', '--repo', 'https://git.example/apps', '--name', 'web');
    assert.deepEqual(kindsOf(stdout), ['ApplicationSet/web']);
    assert.match(stdout, /cluster: us "1"$/m);
    assert.match(stderr, /^eu is left out: no TargetDiscovery has found its cluster in Argo CD/);
  });

  it('says what is still to do for Kueue', async () => {
    const { stdout, stderr } = await run('kueue', 'us', '-n', 'kueue');
    assert.deepEqual(kindsOf(stdout), ['MultiKueueCluster/us', 'MultiKueueConfig/isthmus']);
    assert.match(stderr, /^Kueue reads the kubeconfig of us in Secret kueue\/us\. Copy it there/);
  });

  it('fails with the reasons when nothing is left, and prints nothing', async () => {
    const { stdout, stderr, code } = await run('kueue', 'eu');
    assert.deepEqual([stdout, code], ['', 1]);
    assert.match(stderr, /error \(NotFound\): There is no target to export\.\neu is left out: it is reached through/);
  });

  it('fails for a name that is not there', async () => {
    assert.match(
      (await run('kueue', 'nope')).stderr, /There is no ClusterTarget nope here\. Targets here: eu, old, us\./,
    );
    assert.match(
      (await run('kueue', 'nope', '-l', 'a=b')).stderr, /There is no ClusterTarget nope with labels a=b here\./,
    );
  });

  it('works with an installation that knows no TargetDiscovery', async () => {
    const { stdout } = await isthmusHere('export', 'kueue', '--kubeconfig', await older.kubeconfig());
    assert.deepEqual(kindsOf(stdout), ['MultiKueueCluster/us', 'MultiKueueConfig/isthmus']);
  });

  it('reads targets and where they came from, and nothing else', () => {
    const read = new Set(server.calls.map((call) => call.replace(/\?.*/, '')));
    const kinds = ['multicluster.admiralty.io/v1alpha1/clustertargets', 'isthmus.dev/v1alpha1/targetdiscoveries'];
    const named = 'GET /apis/multicluster.admiralty.io/v1alpha1/targets'; // the names in the error
    assert.deepEqual([...read].toSorted(), [...kinds.map((kind) => `GET /apis/${kind}`), named].toSorted());
  });
});
