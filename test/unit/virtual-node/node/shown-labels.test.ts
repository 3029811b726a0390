import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { StringMap } from '../../../../api/objects/core.ts';
import { shownLabels } from '../../../../virtual-node/node/shown-labels.ts';
import { compileLabelPattern } from '../../../../model/objects/label-pattern.ts';

const CLUSTERS = { kind: 'ClusterTarget', name: 'c' } as const;
const TENANTS = { kind: 'Target', namespace: 'team-a', name: 't' } as const;

describe('a ClusterTarget shows', () => {
  const shown: StringMap = {
    pool: 'gpu', 'example.com/tier': 'gold', 'nvidia.com/gpu.product': 'A100',
    'eks.amazonaws.com/nodegroup': 'ng', 'feature.node.kubernetes.io/cpu-model.vendor_id': 'Intel',
    'kubernetes.io/arch': 'arm64', 'topology.kubernetes.io/region': 'eu',
    'topology.ebs.csi.aws.com/zone': 'eu-1', 'beta.kubernetes.io/os': 'linux', empty: '',
  };
  for (const [key, value] of Object.entries(shown)) {
    it(`${key}=${value}`, () => assert.deepEqual(shownLabels(CLUSTERS, { [key]: value }, {}), { [key]: value }));
  }

  const hidden: StringMap = {
    // names one machine
    'kubernetes.io/hostname': 'node-1', 'k3s.io/hostname': 'node-1', 'alpha.eksctl.io/instance-id': 'i-1',
    'node-role.kubernetes.io/control-plane': '', 'node-restriction.kubernetes.io/secret': 'y',
    'kubernetes.io/role': 'master', 'node.kubernetes.io/exclude-disruption': 'x', 'x.k8s.io/y': 'z', type: 'node',
    'multicluster.admiralty.io/cluster-target-name': 'other',
    'isthmus.dev/own': 'x', 'virtual-kubelet.io/provider': 'other',
    'not a key': 'x', '/x': 'y', 'a/b/c': 'd',
    'A.io/x': 'y', x: 'not a value', 'long': 'x'.repeat(64), ['x'.repeat(64)]: 'y', __proto__x: 'fine'.repeat(40),
  };
  for (const [key, value] of Object.entries(hidden)) {
    it(`not ${key}=${value}`, () => assert.deepEqual(shownLabels(CLUSTERS, { [key]: value }, {}), {}));
  }

  it("the administrator's value of a label that the target has, too", () => {
    assert.deepEqual(
      shownLabels(CLUSTERS, { region: 'us', pool: 'gpu' }, { labels: { region: 'eu', app: 'argocd' } }),
      { region: 'eu', pool: 'gpu' },
    );
  });
  it('as many as nodes have, and no more', () => {
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`label-${index}`, 'x']));
    assert.equal(Object.keys(shownLabels(CLUSTERS, many, {})).length, 128);
  });
});

describe('a Target of a tenant shows', () => {
  it('only what everybody knows of nodes, as the target says it', () => {
    const said = {
      pool: 'gpu', 'feature.node.kubernetes.io/x': 'y', 'kubernetes.io/os': 'linux',
      'topology.kubernetes.io/region': 'eu',
    };
    assert.deepEqual(shownLabels(TENANTS, said, { labels: { 'topology.kubernetes.io/region': 'us' } }), {
      'kubernetes.io/os': 'linux', 'topology.kubernetes.io/region': 'eu',
    });
  });
});

describe('laws of shown labels', () => {
  const key = fc.oneof(fc.string(), fc.constantFrom(
    'a', 'a.io/b', 'kubernetes.io/os', 'node-role.kubernetes.io/x', 'isthmus.dev/y', '__proto__', 'constructor',
  ));
  const labels = fc.dictionary(key, fc.oneof(fc.string(), fc.constantFrom('', 'x', 'y-1')));
  it('all that is shown is a label that an API server takes, of no reserved domain, and not excluded', () => {
    fc.assert(fc.property(labels, fc.constantFrom(undefined, 'x', '^a'), (said, excluded) => {
      const pattern = compileLabelPattern(excluded ?? '^$never');
      for (const [name, value] of Object.entries(shownLabels(CLUSTERS, said, { excluded }))) {
        assert.equal(said[name], value);
        assert.match(name, /^([a-z0-9.-]{1,253}\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/);
        assert.match(value, /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/);
        assert.ok(!/^(node-role\.kubernetes\.io|isthmus\.dev)\//.test(name));
        assert.ok(pattern.kind === 'pattern' && !pattern.matches(name, value));
      }
    }), { numRuns: 500 });
  });
});
