import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { serviceDiscoveryCrds } from '../../../../manifests/objects/crds.ts';
import { serviceDiscoveryManifests } from '../../../../manifests/objects/service-discovery.ts';
import type { RoleObject } from '../../../../model/access/rbac-objects.ts';

const objects = serviceDiscoveryManifests({ namespace: 'isthmus-system', image: 'x' });
const rulesOf = (kind: string) => objects.filter((object) => object.kind === kind)
  .flatMap((object) => (object as RoleObject).rules);
const specOf = (kind: string) => (objects.find((object) => object.kind === kind) as KubernetesObject & {
  readonly spec: Record<string, unknown>
}).spec;

describe('the manifests of service discovery', () => {
  it('give no right to Secrets, pods or nodes, and none by wildcard', () => {
    const rules = [...rulesOf('Role'), ...rulesOf('ClusterRole')];
    assert.ok(rules.length > 5);
    for (const { apiGroups, resources, verbs } of rules) {
      assert.ok(![...apiGroups, ...resources, ...verbs].includes('*'));
      assert.ok(!resources.some((resource) => ['secrets', 'pods', 'nodes', 'configmaps'].includes(resource)));
    }
  });

  it('let exports be read, made and taken back, and their conditions written, but not changed', () => {
    const verbs = rulesOf('ClusterRole').filter(({ resources }) => resources.includes('serviceexports'))
      .flatMap((rule) => rule.verbs);
    assert.deepEqual(verbs, ['get', 'list', 'watch', 'create', 'delete']);
  });

  it('serve DNS over UDP and TCP on the port that resolvers know', () => {
    const { ports } = specOf('Service') as {
      readonly ports: readonly { readonly protocol: string; readonly port: number; readonly targetPort: string }[]
    };
    assert.deepEqual(ports.map(({ protocol, port, targetPort }) => [protocol, port, targetPort]), [
      ['UDP', 53, 'dns'], ['TCP', 53, 'dns-tcp'],
    ]);
  });

  it('run twice', () => assert.equal(specOf('Deployment')['replicas'], 2));

  it('come with the kinds of the Multi-Cluster Services API in both versions', () => {
    const definitions = serviceDiscoveryCrds();
    assert.deepEqual(definitions
      .map(({ metadata, spec }) => [metadata.name, spec.versions.map(({ name }) => name).join()]), [
      ['serviceexports.multicluster.x-k8s.io', 'v1alpha1,v1beta1'],
      ['serviceimports.multicluster.x-k8s.io', 'v1alpha1,v1beta1'],
    ]);
  });
});
