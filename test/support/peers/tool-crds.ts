// Definitions of the kinds that `isthmus export` prints for Argo CD and Kueue, written by hand from these projects'
// documentation of their fields: what is not named here is dropped by the API server. Flux's own definition comes out
// of its module (foreign-definitions.ts).
import type { KubernetesObject } from '../../../api/objects/core.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import { CUSTOM_RESOURCE_DEFINITIONS } from '../../../api/resource-types.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { simpleDefinition } from './registry-crds.ts';

export const APPLICATION_SETS: ResourceType = {
  group: 'argoproj.io', version: 'v1alpha1', plural: 'applicationsets', kind: 'ApplicationSet', namespaced: true,
};
export const MULTI_KUEUE_CLUSTERS: ResourceType = {
  group: 'kueue.x-k8s.io', version: 'v1beta2', plural: 'multikueueclusters', kind: 'MultiKueueCluster',
  namespaced: false,
};
export const MULTI_KUEUE_CONFIGS: ResourceType = {
  group: 'kueue.x-k8s.io', version: 'v1beta2', plural: 'multikueueconfigs', kind: 'MultiKueueConfig', namespaced: false,
};

const TEXT = { type: 'string' };
const TEXTS = { type: 'array', items: TEXT };

function fields(properties: Readonly<Record<string, object>>, required: readonly string[] = []): object {
  return { type: 'object', properties, ...(required.length > 0 && { required }) };
}

const APPLICATION_SET = fields({
  goTemplate: { type: 'boolean' }, goTemplateOptions: TEXTS,
  generators: {
    type: 'array',
    items: fields({
      list: fields({
        elements: { type: 'array', items: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      }),
      clusterDecisionResource: fields(
        { configMapRef: TEXT, name: TEXT, requeueAfterSeconds: { type: 'integer' } }, ['configMapRef'],
      ),
    }),
  },
  template: fields({
    metadata: fields({ name: TEXT }),
    spec: fields({
      project: TEXT, source: fields({ repoURL: TEXT, path: TEXT, targetRevision: TEXT }, ['repoURL']),
      destination: fields({ name: TEXT, namespace: TEXT, server: TEXT }),
    }, ['destination', 'project']),
  }, ['metadata', 'spec']),
}, ['generators', 'template']);

const NAME = { type: 'string', minLength: 1, maxLength: 256 };
const MULTI_KUEUE_CLUSTER = fields({
  clusterSource: {
    ...fields({
      kubeConfig: fields({ location: NAME, locationType: { type: 'string', enum: ['Secret', 'Path'] } }, ['location']),
      clusterProfileRef: fields({ name: NAME }, ['name']),
    }),
    minProperties: 1, maxProperties: 1,
  },
}, ['clusterSource']);
const MULTI_KUEUE_CONFIG = fields({
  clusters: {
    type: 'array', items: { type: 'string', maxLength: 256 }, minItems: 1, maxItems: 20,
    'x-kubernetes-list-type': 'set',
  },
}, ['clusters']);

const DEFINED: readonly (readonly [ResourceType, object])[] = [
  [APPLICATION_SETS, APPLICATION_SET], [MULTI_KUEUE_CLUSTERS, MULTI_KUEUE_CLUSTER],
  [MULTI_KUEUE_CONFIGS, MULTI_KUEUE_CONFIG],
];

/** The definitions, ready to apply. */
export const TOOL_DEFINITIONS: readonly KubernetesObject[] = DEFINED.map(
  ([type, spec]) => simpleDefinition(type, { type: 'object', properties: { spec }, required: ['spec'] }),
);

/** Installs them. */
export async function installToolDefinitions(client: ClusterClient): Promise<void> {
  await Promise.all(TOOL_DEFINITIONS.map((object) => client.create(CUSTOM_RESOURCE_DEFINITIONS, object)));
}
