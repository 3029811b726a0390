import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { brokerManifests, gatewayManifests } from '../../../../manifests/objects/gateway.ts';
import type { RoleObject } from '../../../../model/access/rbac-objects.ts';

interface PodSpec {
  readonly securityContext: {
    readonly runAsNonRoot?: boolean; readonly runAsUser?: number; readonly seccompProfile?: { readonly type: string }
  };
  readonly hostNetwork?: boolean;
  readonly volumes?: unknown;
  readonly serviceAccountName: string;
  readonly containers: readonly {
    readonly args: readonly string[]; readonly ports: readonly { readonly hostPort?: number }[];
    readonly securityContext: {
      readonly allowPrivilegeEscalation: boolean; readonly readOnlyRootFilesystem: boolean;
      readonly privileged?: boolean; readonly capabilities: { readonly drop: readonly string[]; readonly add?: unknown }
    }
  }[];
}
type DeploymentObject = KubernetesObject
  & { readonly spec: { readonly replicas: number; readonly template: { readonly spec: PodSpec } } };

const SETS = {
  gateway: gatewayManifests({ namespace: 'isthmus-system', image: 'x' }),
  broker: brokerManifests({ namespace: 'isthmus-broker', image: 'x' }),
};

for (const [name, objects] of Object.entries(SETS)) {
  describe(`the manifests of the ${name}`, () => {
    const deployment = objects.find(({ kind }) => kind === 'Deployment') as DeploymentObject;
    const { spec } = deployment.spec.template;

    it('hold to the Pod Security Standard restricted, and a root file system that cannot be written', () => {
      assert.deepEqual(spec.securityContext, {
        runAsNonRoot: true, runAsUser: 65_532, runAsGroup: 65_532, seccompProfile: { type: 'RuntimeDefault' },
      });
      assert.equal(spec.hostNetwork ?? spec.volumes, undefined);
      for (const { securityContext, ports } of spec.containers) {
        assert.deepEqual(securityContext, {
          allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] },
        });
        assert.ok(ports.every(({ hostPort }) => hostPort === undefined));
      }
    });

    it('give permissions in their own namespace only, without wildcards, and Secrets by name', () => {
      assert.deepEqual(objects.filter(({ kind }) => kind?.startsWith('Cluster') === true), []);
      const rules = objects.filter(({ kind }) => kind === 'Role').flatMap((role) => (role as RoleObject).rules);
      assert.ok(rules.length > 0 && rules.every(
        ({ apiGroups, resources, verbs }) => ![...apiGroups, ...resources, ...verbs].includes('*'),
      ));
      for (const rule of rules) if (rule.resources.includes('secrets') && !rule.verbs.includes('create')) assert.ok(
        (rule.resourceNames ?? []).length > 0,
      );
    });

    it('run as an account of their own', () => {
      assert.ok(
        objects.some(({ kind, metadata }) => kind === 'ServiceAccount' && metadata.name === spec.serviceAccountName),
      );
    });

    it('lie in one namespace', () => {
      assert.equal(
        new Set(objects.map(({ metadata, kind }) => (kind === 'Namespace' ? metadata.name : metadata.namespace))).size,
        1,
      );
    });
  });
}

it('two gateways run, one of them active', () => assert.equal(
  (SETS.gateway.find(({ kind }) => kind === 'Deployment') as DeploymentObject).spec.replicas, 2,
));
