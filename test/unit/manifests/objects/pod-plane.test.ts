import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { POD_PLANE, podPlaneManifests } from '../../../../manifests/objects/pod-plane.ts';
import type { RoleObject } from '../../../../model/access/rbac-objects.ts';

const objects = podPlaneManifests({ installNamespace: 'isthmus-system', image: 'x' });
const rulesOf = (kind: string) => objects.filter((object) => object.kind === kind)
  .flatMap((object) => (object as RoleObject).rules);

describe('the manifests of the pod plane', () => {
  it('run what is privileged in a namespace of its own, and nothing of ours in another one', () => {
    const running = objects.filter(({ kind }) => kind === 'DaemonSet' || kind === 'Deployment');
    assert.deepEqual(running.map(({ kind, metadata }) => [kind, metadata.namespace]), [['DaemonSet', POD_PLANE]]);
    const labels = objects.find(({ kind }) => kind === 'Namespace')?.metadata.labels ?? {};
    assert.deepEqual(
      [labels['pod-security.kubernetes.io/enforce'], labels['multicluster-scheduler']], ['privileged', 'disabled'],
    );
  });

  it('read nodes everywhere, and one Secret in the install namespace; no pod, no other Secret', () => {
    assert.deepEqual(
      rulesOf('ClusterRole').map(({ resources, verbs }) => [resources, verbs]), [[['nodes'], ['list', 'watch']]],
    );
    for (const { resources, verbs, resourceNames } of rulesOf('Role')) {
      assert.ok(!resources.some((resource) => ['pods', 'configmaps', '*'].includes(resource)) && !verbs.includes('*'));
      if (resources.includes('secrets') && verbs.join() !== 'create') assert.deepEqual(resourceNames, [POD_PLANE]);
    }
  });

  it('run on every node but those that stand for other clusters', () => {
    const { spec } = objects.find(({ kind }) => kind === 'DaemonSet') as KubernetesObject & {
      readonly spec: {
        readonly template: {
          readonly spec: { readonly affinity: object; readonly tolerations: object; readonly hostNetwork: boolean }
        }
      }
    };
    const pod = spec.template.spec;
    assert.deepEqual([pod.hostNetwork, pod.tolerations], [true, [{ operator: 'Exists' }]]);
    assert.match(JSON.stringify(pod.affinity), /"key":"virtual-kubelet.io\/provider","operator":"DoesNotExist"/);
  });
});
