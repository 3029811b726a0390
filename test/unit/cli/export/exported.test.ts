// What each tool gets of a target, and what it does not.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterTarget, TargetSpec } from '../../../../api/kinds/cluster-target.ts';
import type { KubernetesObject, StringMap } from '../../../../api/objects/core.ts';
import type { RegistryChoice } from '../../../../api/registry/registry-choice.ts';
import type { DiscoveredCluster, TargetDiscovery } from '../../../../api/registry/target-discovery.ts';
import { toApplicationSet } from '../../../../cli/export/application-set.ts';
import type { ExportedTargets } from '../../../../cli/export/exported.ts';
import { toKustomizations } from '../../../../cli/export/kustomizations.ts';
import { toMultiKueue } from '../../../../cli/export/multi-kueue.ts';

const OWN_SECRET = { namespace: 'isthmus-system-targets', name: 'eu', key: 'config' };

function aClusterTarget(name: string, spec: TargetSpec, entry?: string, more: StringMap = {}): ClusterTarget {
  return {
    metadata: {
      name, ...(entry !== undefined && {
        labels: { 'isthmus.dev/discovered-by': 'found' }, annotations: { 'isthmus.dev/registry-entry': entry, ...more },
      }),
    },
    spec,
  };
}

function found(from: RegistryChoice, clusters: readonly DiscoveredCluster[] = []): TargetDiscovery {
  return { metadata: { name: 'found' }, spec: { from, namespaces: ['x'] }, status: { clusters } };
}

function exported(targets: readonly ClusterTarget[], ...discoveries: readonly TargetDiscovery[]): ExportedTargets {
  return { targets, discoveries, installNamespace: 'isthmus-system' };
}

const specOf = (object: KubernetesObject | undefined) => (object as { readonly spec?: unknown } | undefined)?.spec;
const secretAt = (object: KubernetesObject | undefined) => [
  object?.metadata.namespace,
  (specOf(object) as { readonly kubeConfig?: { readonly secretRef: object } } | undefined)?.kubeConfig?.secretRef,
];

/** Why a tool that uses kubeconfigs cannot use a target. */
const UNUSABLE: readonly (readonly [TargetSpec, RegExp, StringMap?])[] = [
  [{ kubeconfigSecret: OWN_SECRET, gateway: { cluster: 'eu' } }, /through the gateway of Isthmus/],
  [{ kubeconfigSecret: { ...OWN_SECRET, context: 'a "b"' } }, /uses context "a \\"b\\"" of its kubeconfig/],
  [{ kubeconfigSecret: { ...OWN_SECRET, key: "x'; rm -rf ~; '" } }, /is no key of a Secret/],
  [{ kubeconfigSecret: { ...OWN_SECRET, name: 'eu; rm -rf ~' } }, /"eu; rm -rf ~" is no name of an object/],
  [{ kubeconfigSecret: { ...OWN_SECRET, namespace: '$(id)' } }, /"\$\(id\)" is no name of an object/],
  [{ kubeconfigSecret: OWN_SECRET }, /left its registry/, { 'isthmus.dev/left-registry': '2026-01-01T00:00:00Z' }],
  [{}, /has no kubeconfig/],
];

describe('export argocd', () => {
  const request = {
    name: 'web', namespace: 'argocd', project: 'default', repo: 'https://git.example/apps', path: 'web',
    revision: 'HEAD',
  };

  it('delivers to the clusters by the names that Argo CD has for them, and says which it does not know', () => {
    const targets = [aClusterTarget('eu', { kubeconfigSecret: OWN_SECRET }), aClusterTarget('us', {})];
    const argo = found({ argoCD: {} }, [{ entry: 'Secret a/b', name: 'EU West', state: 'Target', target: 'eu' }]);
    const { objects: [set, ...others], leftOut } = toApplicationSet(exported(targets, argo), request);
    assert.deepEqual(others, []);
    assert.deepEqual(set, {
      apiVersion: 'argoproj.io/v1alpha1', kind: 'ApplicationSet', metadata: { name: 'web', namespace: 'argocd' },
      spec: {
        goTemplate: true, goTemplateOptions: ['missingkey=error'],
        generators: [{ list: { elements: [{ target: 'eu', cluster: 'EU West' }] } }],
        template: {
          metadata: { name: 'web-{{.target}}' },
          spec: {
            project: 'default',
            source: { repoURL: 'https://git.example/apps', path: 'web', targetRevision: 'HEAD' },
            destination: { name: '{{.cluster}}' },
          },
        },
      },
    });
    assert.deepEqual(leftOut.map(({ target }) => target), ['us']);
    assert.match(leftOut[0]?.why ?? '', /argocd cluster add/);
  });

  it('leaves out a target whose cluster has left the registry', () => {
    const left = aClusterTarget('eu', {}, 'Secret a/b', { 'isthmus.dev/left-registry': '2026-01-01T00:00:00Z' });
    const argo = found({ argoCD: {} }, [{ entry: 'Secret a/b', name: 'EU', state: 'Left', target: 'eu' }]);
    const { objects, leftOut } = toApplicationSet(exported([left], argo), request);
    assert.deepEqual(objects, []);
    assert.match(leftOut[0]?.why ?? '', /left its registry/);
  });

  it('makes no ApplicationSet that would remove all Applications', () => {
    assert.deepEqual(toApplicationSet(exported([aClusterTarget('us', {})]), request).objects, []);
  });

  it('names a namespace for objects without one', () => {
    const set = toApplicationSet(exported([aClusterTarget('me', { self: true })]), { ...request, toNamespace: 'shop' });
    assert.match(JSON.stringify(set.objects), /"destination":\{"name":"\{\{\.cluster\}\}","namespace":"shop"\}/);
  });
});

describe('export flux', () => {
  const source = { kind: 'GitRepository', name: 'apps', namespace: 'flux-system' };
  const request = { name: 'web', source, path: './web' };
  const one = (spec: TargetSpec, from?: RegistryChoice, entry?: string) => toKustomizations(
    exported([aClusterTarget('eu', spec, entry)], ...(from === undefined ? [] : [found(from)])), request,
  ).objects[0];

  it('makes a Kustomization where the Secret of the target is', () => {
    const [object] = toKustomizations(
      exported([aClusterTarget('eu', { kubeconfigSecret: OWN_SECRET })]), { ...request, toNamespace: 'shop' },
    ).objects;
    assert.deepEqual(object, {
      apiVersion: 'kustomize.toolkit.fluxcd.io/v1', kind: 'Kustomization',
      metadata: { name: 'web-eu', namespace: 'isthmus-system-targets' },
      spec: {
        interval: '10m', path: './web', prune: true, sourceRef: source,
        kubeConfig: { secretRef: { name: 'eu', key: 'config' } }, targetNamespace: 'shop',
      },
    });
  });

  it('uses the Secret that Flux has for the cluster', () => {
    const spec = { kubeconfigSecret: OWN_SECRET };
    assert.deepEqual(
      secretAt(one(spec, { flux: {} }, 'Secret flux-system/eu-kubeconfig')), ['flux-system', { name: 'eu-kubeconfig' }],
    );
    assert.deepEqual(
      secretAt(one(spec, { flux: {} }, 'Secret flux-system/eu key a.b')), ['flux-system', { name: 'eu', key: 'a.b' }],
    );
  });

  it('uses the Secret of the target where another registry, or none that is known, has the cluster', () => {
    const own = [OWN_SECRET.namespace, { name: 'eu', key: 'config' }];
    const spec = { kubeconfigSecret: OWN_SECRET };
    assert.deepEqual(secretAt(one(spec, { argoCD: {} }, 'Secret argocd/eu')), own);
    assert.deepEqual(secretAt(one(spec, undefined, 'Secret flux-system/eu')), own);
    assert.deepEqual(secretAt(one(spec, { flux: {} }, 'ConfigMap flux-system/eu')), own);
  });

  it('looks for Secrets without a namespace or key where components do', () => {
    assert.deepEqual(
      secretAt(one({ kubeconfigSecret: { name: 'eu' } })), ['isthmus-system', { name: 'eu', key: 'config' }],
    );
  });

  it('names the namespace of the source only where it is another one', () => {
    const spec = { kubeconfigSecret: { ...OWN_SECRET, namespace: 'flux-system' } };
    const { sourceRef } = specOf(one(spec)) as { readonly sourceRef: object };
    assert.deepEqual(sourceRef, { kind: source.kind, name: 'apps' });
  });

  it('delivers to the cluster itself without a kubeconfig', () => {
    assert.deepEqual(secretAt(one({ self: true })), ['flux-system', undefined]);
  });

  it('makes names that Flux can have as label values', () => {
    const targets = ['', '1'].map((end) => aClusterTarget(`${'e'.repeat(60)}${end}`, { self: true }));
    const names = toKustomizations(exported(targets), request).objects.map(({ metadata }) => metadata.name ?? '');
    assert.deepEqual(names.map((name) => name.length), [63, 63]);
    assert.equal(new Set(names).size, 2);
  });

  for (const [spec, why, more] of UNUSABLE) {
    it(`leaves out a target: ${why.source}`, () => {
      const { objects, leftOut } =
        toKustomizations(exported([aClusterTarget('eu', spec, 'Secret a/b', more)]), request);
      assert.deepEqual(objects, []);
      assert.match(leftOut[0]?.why ?? '', why);
    });
  }
});

describe('export kueue', () => {
  const request = { name: 'workers', namespace: 'kueue-system' };
  const one = (spec: TargetSpec, from: RegistryChoice = {}, entry?: string) => {
    const { objects: [cluster], notes } =
      toMultiKueue(exported([aClusterTarget('eu', spec, entry)], found(from)), request);
    const { clusterSource } = specOf(cluster) as {
      readonly clusterSource: { readonly kubeConfig: { readonly location: string } }
    };
    return { location: clusterSource.kubeConfig.location, notes };
  };

  it('makes a worker of each target, and a list of them in their order', () => {
    const targets =
      ['us', 'eu'].map((name) => aClusterTarget(name, { kubeconfigSecret: { ...OWN_SECRET, name } }));
    const { objects } = toMultiKueue(exported(targets), request);
    assert.deepEqual(objects[0], {
      apiVersion: 'kueue.x-k8s.io/v1beta2', kind: 'MultiKueueCluster', metadata: { name: 'us' },
      spec: { clusterSource: { kubeConfig: { locationType: 'Secret', location: 'us' } } },
    });
    assert.deepEqual(objects[2], {
      apiVersion: 'kueue.x-k8s.io/v1beta2', kind: 'MultiKueueConfig', metadata: { name: 'workers' },
      spec: { clusters: ['us', 'eu'] },
    });
  });

  it('says how to copy a Secret that Kueue cannot read', () => {
    const { location, notes } = one({ kubeconfigSecret: { ...OWN_SECRET, name: 'access', key: 'value.yaml' } });
    assert.equal(location, 'eu');
    assert.match(notes[0] ?? '', /get secret access -n isthmus-system-targets -o jsonpath='\{\.data\.value\\\.yaml\}'/);
    assert.match(notes[0] ?? '', /create secret generic eu -n kueue-system --from-file=kubeconfig=\/dev\/stdin/);
  });

  const inKueue = { ...OWN_SECRET, namespace: 'kueue-system', name: 'worker' };
  const readable: readonly (readonly [string, TargetSpec, RegistryChoice, string?])[] = [
    ['the target', { kubeconfigSecret: { ...inKueue, key: 'kubeconfig' } }, {}],
    ['the registry', { kubeconfigSecret: OWN_SECRET }, { kubeconfigSecrets: {} }, 'Secret kueue-system/worker'],
  ];
  for (const [whose, spec, from, entry] of readable) {
    it(`uses the Secret of ${whose} as it is`, () =>
      assert.deepEqual(one(spec, from, entry), { location: 'worker', notes: [] }));
  }

  const unreadable: readonly (readonly [string, TargetSpec, RegistryChoice, string?])[] = [
    ['another key', { kubeconfigSecret: inKueue }, {}],
    ['another key in the registry', { kubeconfigSecret: OWN_SECRET }, { kubeconfigSecrets: { key: 'config' } },
      'Secret kueue-system/worker'],
    ['another namespace', { kubeconfigSecret: OWN_SECRET }, { kubeconfigSecrets: {} }, 'Secret fleet/worker'],
    ['another registry', { kubeconfigSecret: OWN_SECRET }, { argoCD: {} }, 'Secret kueue-system/worker'],
  ];
  for (const [what, spec, from, entry] of unreadable) {
    it(`has a Secret with ${what} copied`, () => {
      const { location, notes } = one(spec, from, entry);
      assert.deepEqual([location, notes.length], ['eu', 1]);
    });
  }

  for (const [spec, why, more] of [...UNUSABLE, [{ self: true }, /no worker of itself/] as const]) {
    it(`leaves out a target: ${why.source}`, () => {
      const { objects, leftOut } = toMultiKueue(exported([aClusterTarget('eu', spec, 'Secret a/b', more)]), request);
      assert.deepEqual(objects, []);
      assert.match(leftOut[0]?.why ?? '', why);
    });
  }

  it('refuses more clusters than a MultiKueueConfig can have', () => {
    const targets = Array.from({ length: 21 }, (_, n) => aClusterTarget(`t${n}`, { kubeconfigSecret: OWN_SECRET }));
    const { objects, problem = '' } = toMultiKueue(exported(targets), request);
    assert.deepEqual(objects, []);
    assert.match(problem, /at most 20 clusters, not 21/);
    assert.equal(toMultiKueue(exported(targets.slice(1)), request).objects.length, 21);
  });
});
