// What other systems' rules of placement become: above all, that nothing is ever selected that they do not select.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { convertObjects, type Converted } from '../../../../cli/convert/convert-objects.ts';
import { readObjects } from '../../../../cli/plan/read-objects.ts';

const NAME = 'multicluster.admiralty.io/cluster-target-name';

function convert(...objects: readonly object[]): Converted {
  const read = readObjects(objects.map((object) => JSON.stringify(object)).join('\n---\n'));
  assert.ok(read.kind === 'objects');
  return convertObjects(read.objects, undefined);
}

/** `spec` of the one object of a kind; undefined where there is none. */
const specOf = ({ objects }: Converted, kind: string) =>
  objects.find((object) => object['kind'] === kind)?.['spec'] as Readonly<Record<string, unknown>> | undefined;
const lostOf = ({ findings }: Converted) =>
  findings.filter(({ kind }) => kind === 'lost').map(({ field, message }) => `${field}: ${message}`);
/** Weights of the one policy's shares. */
const weights = (given: Converted) => {
  const { replicas } = specOf(given, 'PlacementPolicy') ?? {};
  const { shares = [] } = (replicas ?? {}) as { readonly shares?: readonly { readonly weight: number }[] };
  return shares.map(({ weight }) => weight);
};
const onlyIn = (...values: readonly string[]) => (
  values.length === 1 ? { matchLabels: { [NAME]: values[0] } }
    : { matchExpressions: [{ key: NAME, operator: 'In', values }] }
);

const template = {
  replicas: 4, selector: { matchLabels: { app: 'web' } },
  template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'main', image: 'x' }] } },
};
const deployment =
  { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { namespace: 'shop', name: 'web' }, spec: template };

describe('a NamespaceOffloading of Liqo', () => {
  const offloading = (spec: object, metadata: object = { namespace: 'shop', name: 'offloading' }) =>
    convert({ apiVersion: 'offloading.liqo.io/v1beta1', kind: 'NamespaceOffloading', metadata, spec });
  const terms = (...nodeSelectorTerms: readonly object[]) => offloading({ clusterSelector: { nodeSelectorTerms } });
  const remote = (operator: string, ...values: readonly string[]) =>
    ({ matchExpressions: [{ key: 'liqo.io/remote-cluster-id', operator, ...(values.length > 0 && { values }) }] });
  const type = { key: 'liqo.io/type', operator: 'In', values: ['virtual-node'] };

  const selectors: Record<string, readonly [given: Converted, selector: unknown]> = {
    'by the ID of a cluster is one by the name of its ClusterTarget':
      [terms(remote('In', 'eu', 'us')), { matchExpressions: [{ key: NAME, operator: 'In', values: ['eu', 'us'] }] }],
    'that excludes a cluster excludes it': [
      terms(remote('NotIn', 'eu')), { matchExpressions: [{ key: NAME, operator: 'NotIn', values: ['eu'] }] },
    ],
    'for any cluster with an ID keeps that no value is given':
      [terms(remote('Exists')), { matchExpressions: [{ key: NAME, operator: 'Exists' }] }],
    'for its virtual nodes alone is for all targets': [terms({ matchExpressions: [type] }), undefined],
    'for its virtual nodes and a cluster is for that cluster': [
      terms({ matchExpressions: [type, ...remote('In', 'eu').matchExpressions] }),
      { matchExpressions: [{ key: NAME, operator: 'In', values: ['eu'] }] },
    ],
  };
  for (const [what, [given, selector]] of Object.entries(selectors)) {
    it(what, () => assert.deepEqual(specOf(given, 'NamespaceElection')?.['selector'], selector));
  }

  it('with alternatives tries them in order; it then elects without a selector', () => {
    const given = terms(remote('In', 'eu'), remote('In', 'us'));
    assert.equal(specOf(given, 'NamespaceElection')?.['selector'], undefined);
    assert.deepEqual(specOf(given, 'PlacementPolicy')?.['tiers'], ['eu', 'us'].map(
      (name) => ({ targets: { matchExpressions: [{ key: NAME, operator: 'In', values: [name] }] } }),
    ));
  });

  it('with an alternative that takes any cluster takes any', () =>
    assert.equal(specOf(terms({ matchExpressions: [type] }, remote('In', 'eu')), 'PlacementPolicy'), undefined));

  const refused: Record<string, Converted> = {
    'a term without requirements, which selects no cluster': terms({}),
    'such a term beside another one': terms(remote('In', 'eu'), { matchExpressions: [] }),
    'an operator of nodes alone': terms({ matchExpressions: [{ key: 'cores', operator: 'Gt', values: ['4'] }] }),
    'a name that no target can have': terms(remote('In', 'EU!')),
    'fields of nodes': terms({ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['liqo-eu'] }] }),
    'a list that is none': offloading({ clusterSelector: { nodeSelectorTerms: { matchExpressions: [] } } }),
    'an unknown strategy': offloading({ podOffloadingStrategy: 'Everywhere' }),
    'no namespace': offloading({}, { name: 'offloading' }),
  };
  for (const [what, given] of Object.entries(refused)) {
    it(`with ${what} is not converted, and says so`, () => {
      assert.deepEqual(given.objects, []);
      assert.equal(lostOf(given).length, 1, lostOf(given).join('\n'));
    });
  }

  it('for another name in the targets keeps its name, and says what is lost', () => assert.match(
    lostOf(offloading({ namespaceMappingStrategy: 'SelectedName', remoteNamespaceName: 'other' })).join(),
    /remoteNamespaceName: pods have namespace shop in targets/,
  ));
});

describe('a ResourceOffer of Liqo', () => {
  const offer = (spec: object) =>
    convert({ apiVersion: 'sharing.liqo.io/v1alpha1', kind: 'ResourceOffer', metadata: { name: 'eu' }, spec });
  const limits = (given: Converted) => specOf(given, 'ResourceShare')?.['limits'];

  it('limits what it names, in either form, the newer over the older', () => {
    assert.deepEqual(limits(offer({ clusterId: 'x', resourceQuota: { hard: { cpu: '2' } } })), { cpu: '2' });
    assert.deepEqual(limits(offer({ clusterId: 'x', resourceQuota: { cpu: 2 }, resources: { limits: { cpu: 3 } } })), {
      cpu: 3,
    });
  });
  for (const [what, resources] of Object.entries({
    'no limit': {}, 'a limit that is no quantity': { cpu: 'lots' }, 'a limit that is an object': { cpu: { value: 2 } },
  })) {
    it(`with ${what} is not converted: it would be a share without limits`, () => {
      const given = offer({ clusterId: 'x', resources });
      assert.deepEqual([limits(given), lostOf(given).length], [undefined, 2]);
    });
  }
});

describe('a Federated workload of KubeFed', () => {
  const federated = (placement: object | undefined, more: object = {}, kind = 'Deployment') => ({
    apiVersion: 'types.kubefed.io/v1beta1', kind: `Federated${kind}`, metadata: { namespace: 'shop', name: 'web' },
    spec: { template: { spec: template }, ...(placement && { placement }), ...more },
  });
  const clusters = (...names: readonly string[]) => ({ clusters: names.map((name) => ({ name })) });
  const replicasIn = (value: unknown, more: object = {}) =>
    ({ overrides: [{ clusterName: 'a', clusterOverrides: [{ path: '/spec/replicas', value, ...more }] }] });
  const namespaceIn = (...names: readonly string[]) => ({
    apiVersion: 'types.kubefed.io/v1beta1', kind: 'FederatedNamespace', metadata: { namespace: 'shop', name: 'shop' },
    spec: { placement: clusters(...names) },
  });
  const totalOf = (given: Converted) => specOf(given, 'Deployment')?.['replicas'];

  it('with replicas of its own for a cluster has those of all together, in the least numbers', () => {
    const given = convert(federated(clusters('a', 'b'), replicasIn(2)));
    assert.deepEqual([totalOf(given), weights(given)], [6, [1, 2]]);
  });
  it('with no replicas in one cluster is in the others alone', () => {
    const given = convert(federated(clusters('a', 'b'), replicasIn(0)));
    assert.deepEqual([totalOf(given), specOf(given, 'PlacementPolicy')?.['require']], [4, onlyIn('b')]);
  });
  for (const value of [-1, 1.5, 2 ** 53]) {
    it(`with ${value} replicas in a cluster is not converted`, () => {
      const given = convert(federated(clusters('a', 'b'), replicasIn(value)));
      assert.equal(specOf(given, 'Deployment'), undefined);
      assert.deepEqual(lostOf(given), ['spec.overrides[0].clusterOverrides[0].value: it is not an integer, 0 or more']);
    });
  }
  it('with replicas that are text says that the override is lost', () =>
    assert.equal(lostOf(convert(federated(clusters('a'), replicasIn('2')))).length, 1));
  it('is only where its namespace is', () => {
    const given = convert(namespaceIn('b', 'c'), federated(clusters('a', 'b')));
    const policies = given.objects.filter(({ kind }) => kind === 'PlacementPolicy');
    assert.ok(policies.some(({ spec }) => JSON.stringify(spec).includes(JSON.stringify(onlyIn('b')))));
    assert.doesNotMatch(JSON.stringify(policies), /"a"/);
  });
  it('that shares no cluster with its namespace is nowhere', () =>
    assert.equal(specOf(convert(namespaceIn('c'), federated(clusters('a'))), 'Deployment'), undefined));
  it('with an empty list of clusters is nowhere, whatever a selector says', () =>
    assert.deepEqual(convert(federated({ clusters: [], clusterSelector: {} })).objects, []));
  it('with both a list and a selector follows the list', () => {
    const given = convert(federated({ ...clusters('a'), clusterSelector: { matchLabels: { gpu: 'yes' } } }));
    assert.deepEqual(specOf(given, 'PlacementPolicy')?.['require'], onlyIn('a'));
  });
  it('without a placement is nowhere', () => assert.deepEqual(convert(federated(undefined)).objects, []));
  it('with a misspelt selector is not converted: it would be everywhere', () =>
    assert.deepEqual(convert(federated({ clusterSelector: { matchLabel: { gpu: 'yes' } } })).objects, []));
  it('of a StatefulSet in two clusters says that there will be one', () =>
    assert.match(lostOf(convert(federated(clusters('a', 'b'), {}, 'StatefulSet'))).join(), /has a StatefulSet/));
  it('of a DaemonSet is not converted', () =>
    assert.match(lostOf(convert(federated(clusters('a'), {}, 'DaemonSet'))).join(), /create it in each target/));
});

describe('a PropagationPolicy of Karmada', () => {
  const policy = (placement: object, more: object = {}) => convert(deployment, {
    apiVersion: 'policy.karmada.io/v1alpha1', kind: 'PropagationPolicy', metadata: { namespace: 'shop', name: 'web' },
    spec: { resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }], placement, ...more },
  });
  const affinity = (clusterAffinity: object) => policy({ clusterAffinity, replicaScheduling: {
    replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Aggregated',
  } });
  const required = (given: Converted) => specOf(given, 'PlacementPolicy')?.['require'];
  const divided = (staticWeightList: readonly object[]) => policy({
    clusterAffinity: { clusterNames: ['a', 'b'] },
    replicaScheduling: {
      replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Weighted', weightPreference: { staticWeightList },
    },
  });
  const weight = (clusterNames: readonly string[], value: unknown) => (
    { targetCluster: { clusterNames }, weight: value }
  );

  const rows: Record<string, readonly [given: Converted, require: unknown]> = {
    'names clusters but those that it excludes':
      [affinity({ clusterNames: ['a', 'b', 'c'], exclude: ['b'] }), onlyIn('a', 'c')],
    'excludes clusters of all':
      [affinity({ exclude: ['b'] }), { matchExpressions: [{ key: NAME, operator: 'NotIn', values: ['b'] }] }],
    'excludes a region also where a target has no region': [
      affinity({ fieldSelector: { matchExpressions: [{ key: 'region', operator: 'NotIn', values: ['eu'] }] } }),
      {
        matchExpressions: [
          { key: 'topology.kubernetes.io/region', operator: 'Exists' },
          { key: 'topology.kubernetes.io/region', operator: 'NotIn', values: ['eu'] },
        ],
      },
    ],
    'requires labels and names together':
      [
        affinity({ labelSelector: { matchLabels: { gpu: 'yes' } }, clusterNames: ['a'] }),
        { matchLabels: { gpu: 'yes', [NAME]: 'a' } },
      ],
  };
  for (const [what, [given, require]] of Object.entries(rows)) {
    it(what, () => assert.deepEqual(required(given), require));
  }

  const refused: Record<string, Converted> = {
    'allows no cluster': affinity({ clusterNames: ['a'], exclude: ['a'] }),
    'names a cluster that no target can be': affinity({ clusterNames: ['A_1'] }),
    'has a field of a cluster that is not known':
      affinity({ fieldSelector: { matchExpressions: [{ key: 'colour', operator: 'In', values: ['red'] }] } }),
    'has the field of a prototype':
      affinity({ fieldSelector: { matchExpressions: [{ key: 'constructor', operator: 'In', values: ['x'] }] } }),
    'requires that a field exists':
      affinity({ fieldSelector: { matchExpressions: [{ key: 'region', operator: 'Exists', values: [] }] } }),
    'gives no cluster a part': divided([weight(['c'], 1)]),
    'weighs clusters that it does not name':
      divided([{ targetCluster: { labelSelector: { matchLabels: { gpu: 'yes' } } }, weight: 2 }]),
    'has a weight that is no number': divided([weight(['a'], '2')]),
    'has an unknown way of division': policy({ replicaScheduling: { replicaSchedulingType: 'Random' } }),
    'spreads over a field that is not known': policy({
      clusterAffinity: { labelSelector: { matchLabels: { gpu: 'yes' } } },
      spreadConstraints: [{ spreadByField: 'rack' }],
    }),
  };
  for (const [what, given] of Object.entries(refused)) {
    it(`that ${what} is not converted`, () => {
      assert.equal(specOf(given, 'PlacementPolicy'), undefined);
      assert.notDeepEqual(lostOf(given), []);
    });
  }

  it('that weighs a cluster twice counts the greatest weight', () =>
    assert.deepEqual(weights(divided([weight(['a'], 1), weight(['a', 'b'], 3)])), [1, 1]));
  it('that weighs a cluster outside its affinity leaves that one out', () =>
    assert.deepEqual(weights(divided([weight(['a'], 2), weight(['b'], 4), weight(['c'], 9)])), [1, 2]));
  it('that copies a Deployment into two clusters has the replicas of both together', () =>
    assert.equal(specOf(policy({ clusterAffinity: { clusterNames: ['a', 'b'] } }), 'Deployment')?.['replicas'], 8));
  it('that fails over applications says what pods do here', () => assert.match(
    lostOf(policy({}, { failover: { application: { decisionConditions: {} } } })).join(), /restarted/,
  ));
  it('that selects a workload of another namespace does not elect this one', () => {
    const given = policy({}, {
      resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', namespace: 'other' }],
    });
    assert.match(lostOf(given).join(), /no Deployment web is in the input/);
  });
  it('that selects a workload of another group does not elect this one', () => {
    const given = policy({}, { resourceSelectors: [{ apiVersion: 'v1', kind: 'Deployment', name: 'web' }] });
    assert.match(lostOf(given).join(), /does not follow pods/);
  });
});
