import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { customResourceDefinitions } from '../../../manifests/objects/crds.ts';
import { installManifests } from '../../../manifests/install.ts';

describe('installManifests', () => {
  const objects = installManifests({ installNamespace: 'ns' });

  it('begins with the namespace and the CRDs and ends with the webhook', () => {
    const kinds = objects.map(({ kind }) => kind);
    assert.deepEqual(kinds.slice(0, 7), ['Namespace', ...Array<string>(6).fill('CustomResourceDefinition')]);
    assert.equal(kinds.at(-1), 'MutatingWebhookConfiguration');
    assert.equal(kinds.filter((kind) => kind === 'MutatingWebhookConfiguration').length, 1);
  });

  it('names each object once', () => {
    const names = objects.map(({ kind, metadata }) => [kind, metadata.namespace, metadata.name].join('/'));
    assert.deepEqual(names, [...new Set(names)]);
  });

  it('keeps the install namespace from ever being opted in', () => {
    assert.equal(objects[0]?.metadata.labels?.['multicluster-scheduler'], 'disabled');
  });

  it('labels everything as ours, so that an uninstall finds it', () => {
    for (const { kind, metadata } of objects) {
      assert.equal(metadata.labels?.['app.kubernetes.io/part-of'], 'isthmus', `${kind} ${metadata.name}`);
    }
  });

  it('puts namespaced objects into no other namespaces than the install namespace, those of keys and targets, that ' +
    'of node leases and, to read whose certificates hold, kube-system', () => {
    const namespaces = new Set(objects.map(({ metadata }) => metadata.namespace));
    assert.deepEqual(
      namespaces, new Set([undefined, 'ns', 'ns-keys', 'ns-targets', 'kube-system', 'kube-node-lease']),
    );
  });
});

describe('customResourceDefinitions', () => {
  // Plural, short name and scope: as docs/admiralty-contract.md promises.
  const expected = [
    ['clustertargets', 'ctg', 'Cluster'],
    ['targets', 'tg', 'Namespaced'],
    ['clustersources', 'csrc', 'Cluster'],
    ['sources', 'src', 'Namespaced'],
    ['podchaperons', 'chap', 'Namespaced'],
    ['clustersummaries', 'mcsum', 'Cluster'],
    ['placementpolicies', 'pp', 'Namespaced'],
    ['clusterplacementpolicies', 'cpp', 'Cluster'],
    ['resourceshares', 'share', 'Cluster'],
    ['sourceleases', 'srcl', 'Namespaced'],
    ['secretcopies', 'scopy', 'Namespaced'],
    ['namespaceelections', 'nselect', 'Namespaced'],
    ['invitations', 'inv', 'Namespaced'],
    ['joinrequests', 'jreq', 'Namespaced'],
    ['clustersetmembers', 'icl', 'Namespaced'],
    ['clustersetendpoints', 'iep', 'Namespaced'],
    ['clustersetgateways', 'igw', 'Namespaced'],
    ['exportedservices', 'iexs', 'Namespaced'],
    ['targetdiscoveries', 'tdisc', 'Cluster'],
    ['clusterdecisions', 'cdec', 'Namespaced'],
  ];
  const own = new Set([
    'placementpolicies', 'clusterplacementpolicies', 'resourceshares', 'sourceleases', 'secretcopies',
    'namespaceelections', 'invitations', 'joinrequests', 'clustersetmembers', 'clustersetendpoints',
    'clustersetgateways', 'exportedservices', 'targetdiscoveries', 'clusterdecisions',
  ]);

  it('are the six kinds with the names and scopes of Admiralty, and our own', () => {
    const found =
      customResourceDefinitions().map(({ spec }) => [spec.names.plural, spec.names.shortNames[0], spec.scope]);
    assert.deepEqual(found, expected);
  });

  // Not those that Admiralty named: their users type them.
  it('collide with no kind of Kubernetes, Gateway API or Cluster API', () => {
    const taken = new Set([
      'clusters', 'clusterclasses', 'machines', 'machinedeployments', 'machinepools', 'gateways', 'gatewayclasses',
      'httproutes', 'endpoints', 'endpointslices', 'services', 'leases', 'nodes', 'secrets', 'policies', 'cl', 'gw',
      'gtw', 'ep', 'svc', 'ma', 'md', 'mp',
    ]);
    const names = customResourceDefinitions()
      .flatMap(({ spec: { names } }) => [names.plural, names.singular, ...names.shortNames]);
    assert.deepEqual(names.filter((name) => taken.has(name ?? '')), []);
  });

  it('serve and store v1alpha1 with a status subresource, in the group that their names end with', () => {
    for (const { metadata, spec } of customResourceDefinitions()) {
      assert.equal(spec.group, own.has(spec.names.plural) ? 'isthmus.dev' : 'multicluster.admiralty.io');
      assert.equal(metadata.name, `${spec.names.plural}.${spec.group}`);
      assert.deepEqual(spec.names.categories, ['isthmus']);
      assert.deepEqual(spec.versions
        .map(({ name, served, storage, subresources }) => ({ name, served, storage, subresources })), [
        { name: 'v1alpha1', served: true, storage: true, subresources: { status: {} } },
      ]);
    }
  });
});
