import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { kustomizeFiles } from '../../../../manifests/kustomize.ts';

interface Workload extends KubernetesObject {
  readonly spec: { readonly template: { readonly spec: { readonly priorityClassName?: string } } };
}
interface Quota extends KubernetesObject {
  readonly spec: { readonly scopeSelector: { readonly matchExpressions: readonly { readonly values: string[] }[] } };
}

const objects = Object.values(kustomizeFiles()).flatMap((file) => ('objects' in file ? file.objects : []));
const isWorkload = (object: KubernetesObject): object is Workload =>
  object.kind === 'Deployment' || object.kind === 'DaemonSet';
const isQuota = (object: KubernetesObject): object is Quota => object.kind === 'ResourceQuota';

describe('the workloads', () => {
  it('have a quota for their priority class in each namespace, without which GKE allows no pods of it there', () => {
    const used = new Set(objects.filter(isWorkload).flatMap(({ metadata, spec }) => {
      const { priorityClassName } = spec.template.spec;
      return priorityClassName === undefined ? [] : [`${metadata.namespace} ${priorityClassName}`];
    }));
    const allowed = objects.filter(isQuota).flatMap(({ metadata, spec }) =>
      spec.scopeSelector.matchExpressions.flatMap(({ values }) => values.map((one) => `${metadata.namespace} ${one}`)));
    assert.ok(used.size > 1);
    assert.deepEqual(allowed.toSorted(), [...used].toSorted());
  });
});
