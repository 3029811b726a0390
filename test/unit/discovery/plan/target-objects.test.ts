import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { digestOf, toClusterTarget, toKubeconfigSecret } from '../../../../discovery/plan/target-objects.ts';

const plan = {
  name: 'eu', clusterId: '1', discovery: 'argo', namespace: 'targets',
  cluster: {
    entry: 'Secret argocd/c', name: 'EU',
    labels: { env: 'prod', 'argocd.argoproj.io/secret-type': 'cluster', 'isthmus.dev/x': 'y', odd: 'not a value!' },
  },
};

describe('the ClusterTarget of a registered cluster', () => {
  it('has the fields of the template, and says whence it came', () => {
    const { metadata, spec } = toClusterTarget({
      ...plan, template: {
        labels: { tier: 'gold' }, copyLabels: ['env'], prices: { cpu: '1' }, delegation: 'Pod', removalPolicy: 'Drain',
        throughGateway: true, excludedLabelsRegexp: 'x',
      },
    });
    assert.deepEqual(metadata.labels, { env: 'prod', tier: 'gold', 'isthmus.dev/discovered-by': 'argo' });
    assert.equal(metadata.annotations?.['isthmus.dev/registry-entry'], 'Secret argocd/c');
    assert.equal(metadata.annotations?.['isthmus.dev/registered-name'], 'EU');
    assert.deepEqual(spec, {
      kubeconfigSecret: { namespace: 'targets', name: 'eu', key: 'config' }, prices: { cpu: '1' }, delegation: 'Pod',
      excludedLabelsRegexp: 'x', removalPolicy: 'Drain', gateway: { cluster: 'eu' },
    });
  });

  it('copies no label that is ours, says what a Secret is for, or cannot be one', () => {
    const copyLabels = Object.keys(plan.cluster.labels);
    assert.deepEqual(
      toClusterTarget({ ...plan, template: { copyLabels } }).metadata.labels,
      { env: 'prod', 'isthmus.dev/discovered-by': 'argo' },
    );
  });

  it('has a digest that differs when anything that is asked for does', () => {
    const digests = [{}, { prices: { cpu: '1' } }, { labels: { a: 'b' } }, { delegation: 'Pod' } as const]
      .map((template) => digestOf(toClusterTarget({ ...plan, template })));
    assert.equal(new Set(digests).size, digests.length);
  });
});

describe('the Secret of a target', () => {
  it('is owned by it, so that it stays as long as the target drains', () => {
    const { metadata, data } = toKubeconfigSecret({ name: 'eu', uid: 'u' }, 'K', plan);
    const owners = metadata.ownerReferences?.map(({ kind, name, uid }) => [kind, name, uid]);
    assert.deepEqual(owners, [['ClusterTarget', 'eu', 'u']]);
    assert.equal(Buffer.from(data?.['config'] ?? '', 'base64').toString(), 'K');
  });
});
