// The manifests as files of the checkout, for people and tools that do not run `isthmus install`.
import { stringify } from 'yaml';
import type { KubernetesObject } from '../api/core.ts';
import { DEFAULT_INSTALL_NAMESPACE } from '../api/keys.ts';
import { customResourceDefinitions } from './crds.ts';
import { brokerManifests, DEFAULT_BROKER_NAMESPACE, DEFAULT_IMAGE, gatewayManifests } from './gateway.ts';
import { installNamespaceManifest } from './install.ts';
import { rbacManifests } from './rbac.ts';
import { validatingWebhookConfiguration, webhookConfiguration } from './webhook-configuration.ts';

/** A generated file; `path` is relative to the folder `manifests`. */
export interface ManifestFile {
  readonly path: string;
  readonly text: string;
}

const HEADER = '# Printed by `npm run manifests`; change the TypeScript files in manifests/ and api/ instead.\n';

/** Objects as one YAML stream. */
export function toYaml(objects: readonly KubernetesObject[]): string {
  return objects.map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n');
}

/** All generated files: one for each CRD, the namespace with the RBAC, gateway, broker, the webhook configuration, with the default install namespace. */
export function manifestFiles(): readonly ManifestFile[] {
  const installNamespace = DEFAULT_INSTALL_NAMESPACE;
  return [
    ...customResourceDefinitions().map((crd) => toFile(`crds/${crd.spec.names.plural}.yaml`, [crd])),
    toFile('rbac.yaml', [installNamespaceManifest(installNamespace), ...rbacManifests(installNamespace)]),
    toFile('gateway.yaml', gatewayManifests({ namespace: installNamespace, image: DEFAULT_IMAGE })),
    toFile('broker.yaml', brokerManifests({ namespace: DEFAULT_BROKER_NAMESPACE, image: DEFAULT_IMAGE })),
    toFile('webhook-configuration.yaml', [validatingWebhookConfiguration({ installNamespace }), webhookConfiguration({ installNamespace })]),
  ];
}

function toFile(path: string, objects: readonly KubernetesObject[]): ManifestFile {
  return { path, text: HEADER + toYaml(objects) };
}
