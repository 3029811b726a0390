// Which calls get the priority of Leases: those of components, by name, and SourceLeases.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { installManifests } from '../../../../manifests/install.ts';
import { flowControlManifests, LEASE_FLOW } from '../../../../manifests/objects/flow-control.ts';

interface FlowSchema extends KubernetesObject {
  readonly spec: {
    readonly priorityLevelConfiguration: { readonly name: string };
    readonly matchingPrecedence: number;
    readonly rules: readonly { readonly subjects: readonly object[]; readonly resourceRules: readonly object[] }[];
  };
}

const objects = flowControlManifests('ns', [{ namespace: 'ns', name: 'isthmus-scheduler' }]);
const schemas = objects.filter((object): object is FlowSchema => object.kind === 'FlowSchema');

describe('the priority of Leases', () => {
  it('has a level of its own, before the FlowSchemas that refer to it', () => {
    assert.deepEqual(objects.map(({ kind }) => kind), ['PriorityLevelConfiguration', 'FlowSchema', 'FlowSchema']);
    for (const { spec } of schemas) assert.equal(spec.priorityLevelConfiguration.name, LEASE_FLOW);
  });

  it('comes after nodes and the control plane, and before service accounts (Kubernetes: 500, 800, 9000)', () => {
    for (const { spec } of schemas) assert.ok(spec.matchingPrecedence > 800 && spec.matchingPrecedence < 9_000);
  });

  it('is given to components by name, for Leases of two namespaces alone', () => {
    const [{ subjects, resourceRules }] = schemas[0]!.spec.rules as [FlowSchema['spec']['rules'][0]];
    assert.deepEqual(
      subjects, [{ kind: 'ServiceAccount', serviceAccount: { namespace: 'ns', name: 'isthmus-scheduler' } }],
    );
    assert.deepEqual(resourceRules, [{
      apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update', 'patch'],
      namespaces: ['ns', 'kube-node-lease'],
    }]);
  });

  it('is installed in each role', () => {
    for (const role of ['source', 'target', 'both'] as const) {
      const names = installManifests({ installNamespace: 'ns', role }).filter(({ kind }) => kind === 'FlowSchema');
      assert.equal(names.length, 2, role);
    }
  });
});
