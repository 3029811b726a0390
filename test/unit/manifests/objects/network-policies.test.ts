// Each port that a workload of the Kustomize files declares is let in by one of their policies, and nothing that none
// declares.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { kustomizeFiles } from '../../../../manifests/kustomize.ts';

type Labels = Readonly<Record<string, string>>;
type Policy = KubernetesObject & {
  readonly spec: {
    readonly podSelector: { readonly matchLabels: Labels };
    readonly ingress: readonly { readonly ports: readonly { readonly port: string }[] }[]
  }
};
type Deployment = KubernetesObject & {
  readonly spec: {
    readonly template: {
      readonly metadata: { readonly labels: Labels };
      readonly spec: { readonly containers: readonly { readonly ports: readonly { readonly name: string }[] }[] }
    }
  }
};

const objects = Object.entries(kustomizeFiles()).flatMap(([path, file]) => (
  'objects' in file && /^(?:common|components\/(?:source|gateway|service-discovery|ui))\//.test(path)
    ? file.objects : []
));
const ofKind = (kind: string): unknown => objects.filter((object) => object.kind === kind);
const policies = ofKind('NetworkPolicy') as readonly Policy[];

describe('network policies', () => {
  const deployments = ofKind('Deployment') as readonly Deployment[];

  it('are there for everything that runs', () => assert.ok(
    deployments.length >= 8 && policies.length === 6, `${deployments.length} ${policies.length}`,
  ));

  for (const { metadata: { name }, spec: { template: { metadata: { labels }, spec } } } of deployments) {
    it(`let in what ${name} serves, and nothing else`, () => {
      const selected = policies.filter(
        ({ spec: { podSelector: { matchLabels } } }) => Object.entries(matchLabels)
          .every(([key, value]) => labels[key] === value),
      );
      const open =
        selected.flatMap(({ spec: { ingress } }) => ingress.flatMap(({ ports }) => ports.map(({ port }) => port)));
      assert.deepEqual(
        open.toSorted(), spec.containers.flatMap(({ ports }) => ports.map((port) => port.name)).toSorted(),
      );
    });
  }
});
