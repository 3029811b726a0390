// The manifests as files of the checkout, for people and tools that do not run `isthmus install`.
import { stringify } from 'yaml';
import type { KubernetesObject } from '../api/objects/core.ts';
import { FOR_KUBECTL } from '../model/objects/yaml-limits.ts';
import { chartTemplates } from './chart.ts';
import { customResourceDefinitions, type CustomResourceDefinition } from './objects/crds.ts';
import { kustomizeFiles } from './kustomize.ts';

/** A generated file; `path` is relative to the folder `manifests`. */
export interface ManifestFile {
  readonly path: string;
  readonly text: string;
}

/** Folders that hold generated files only. */
export const GENERATED_FOLDERS = ['crds', 'kustomize', 'helm/isthmus/templates/crds'] as const;

const HEADER = '# Printed by `npm run manifests`; change the TypeScript files in manifests/ and api/ instead.\n';

/** Objects as one YAML stream. */
export function toYaml(objects: readonly KubernetesObject[]): string {
  return objects.map((object) => stringify(object, FOR_KUBECTL)).join('---\n');
}

function fileOf({ spec }: CustomResourceDefinition): string {
  return `${spec.names.plural}.yaml`;
}

/**
 * All generated files: one per CRD, which the Kustomize base uses, the Kustomize files with the default install
 * namespace, and the generated chart templates.
 */
export function manifestFiles(): readonly ManifestFile[] {
  const kustomize = Object.entries(kustomizeFiles()).map(([path, file]) => ({
    path: `kustomize/${path}`,
    text: HEADER + ('objects' in file ? toYaml(file.objects) : stringify(file.kustomization, { lineWidth: 0 })),
  }));
  const definitions = customResourceDefinitions();
  return [
    ...definitions.map((crd) => ({ path: `crds/${fileOf(crd)}`, text: HEADER + toYaml([crd]) })),
    {
      path: 'crds/kustomization.yaml',
      text: HEADER + stringify({
        apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization',
        resources: definitions.map(fileOf).toSorted(),
      }),
    },
    ...kustomize,
    ...chartTemplates().map(({ path, text }) => ({ path: `helm/isthmus/${path}`, text })),
  ];
}
