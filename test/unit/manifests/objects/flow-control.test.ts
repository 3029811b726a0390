// Which calls get the priority of Leases: those of components, by name, and SourceLeases.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { installManifests } from '../../../../manifests/install.ts';
import { kustomizeFiles } from '../../../../manifests/kustomize.ts';
import type { RoleObject } from '../../../../model/access/rbac-objects.ts';
import { flowControlManifests, LEASE_FLOW } from '../../../../manifests/objects/flow-control.ts';

const INSTALLED = 'isthmus-system';

interface Subject {
  readonly namespace: string;
  readonly name: string;
}
interface Binding extends KubernetesObject {
  readonly roleRef: { readonly name: string };
  readonly subjects: readonly Subject[];
}
interface FlowSchema extends KubernetesObject {
  readonly spec: {
    readonly priorityLevelConfiguration: { readonly name: string };
    readonly matchingPrecedence: number;
    readonly rules: readonly {
      readonly subjects: readonly { readonly serviceAccount: Subject }[]; readonly resourceRules: readonly object[]
    }[];
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

  it('is given to every account that may hold a Lease', () => {
    const all = Object.values(kustomizeFiles()).flatMap((file) => ('objects' in file ? file.objects : []));
    const roles = all.filter(
      (object): object is RoleObject => object.kind === 'Role' && object.metadata.namespace === INSTALLED,
    );
    const holders = roles.filter(({ rules }) => rules.some(
      ({ resources, verbs }) => resources.includes('leases') && verbs.includes('create'),
    )).map(({ metadata }) => metadata.name);
    const named = (subjects: readonly Subject[]) => subjects.map(({ namespace, name }) => `${namespace}/${name}`);
    const bound = all.filter((object): object is Binding => object.kind === 'RoleBinding')
      .filter(({ metadata, roleRef }) => metadata.namespace === INSTALLED && holders.includes(roleRef.name))
      .flatMap(({ subjects }) => named(subjects));
    const schema = all.find(
      (object): object is FlowSchema => object.kind === 'FlowSchema' && object.metadata.name === LEASE_FLOW,
    );
    const given = named((schema?.spec.rules[0]?.subjects ?? []).map(({ serviceAccount }) => serviceAccount));
    assert.ok(bound.includes(`${INSTALLED}/isthmus-gateway`));
    assert.deepEqual(bound.filter((one) => !given.includes(one)), []);
  });

  it('is installed in each role', () => {
    for (const role of ['source', 'target', 'both'] as const) {
      const names = installManifests({ installNamespace: 'ns', role }).filter(({ kind }) => kind === 'FlowSchema');
      assert.equal(names.length, 2, role);
    }
  });
});
