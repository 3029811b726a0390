// ResourceShare: a quota of this cluster for a source. Cluster-scoped, written by the target's administrator, enforced
// when a delegate pod is created, and shown to the source as the allocatable of its virtual node.
import { ISTHMUS_GROUP } from '../objects/group-version.ts';
import type { Condition, KubernetesObject, ResourceList } from '../objects/core.ts';
import {
  conditionColumn, CONDITIONS, flag, int32, objectOf, OBSERVED_GENERATION, RESOURCE_LIST, text, type KindDefinition,
} from '../objects/schema.ts';

/** What is limited: nothing, the requests of delegates, or their limits, which every container must then have. */
export type ShareEnforcement = 'None' | 'Soft' | 'Hard';

/** Spec of a ResourceShare. */
export interface ResourceShareSpec {
  /** UID of the source's kube-system Namespace, or {@link ANY_SOURCE}. */
  readonly source: string;
  /** Limits over all delegates of the source; `pods` counts them. */
  readonly limits?: ResourceList;
  /** Limit of every other resource, in percent of the cluster's allocatable. */
  readonly percentage?: number;
  /** `Soft` when missing. */
  readonly enforcement?: ShareEnforcement;
  /** No new delegates; running ones stay. */
  readonly cordoned?: boolean;
}

/** A quota of this cluster for a source. */
export interface ResourceShare extends KubernetesObject {
  readonly spec: ResourceShareSpec;
  readonly status?: ResourceShareStatus;
}

/** The last observed state of a ResourceShare. */
export interface ResourceShareStatus {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  /** Effective limits. */
  readonly limits?: ResourceList;
  /** Usage by the delegates of its source. */
  readonly used?: ResourceList;
}

/** Source of the ResourceShare that applies to every source without its own. */
export const ANY_SOURCE = '*';

/** CRD of ResourceShare. */
export const RESOURCE_SHARE_KIND: KindDefinition = {
  group: ISTHMUS_GROUP,
  kind: 'ResourceShare',
  plural: 'resourceshares',
  shortName: 'share',
  scope: 'Cluster',
  description: 'How much of this cluster the pods of a source may use.',
  columns: [
    { name: 'Source', type: 'string', jsonPath: '.spec.source' },
    conditionColumn('Ready', 'Ready'),
    { name: 'CPU', type: 'string', jsonPath: '.status.limits.cpu' },
    { name: 'Used CPU', type: 'string', jsonPath: '.status.used.cpu' },
    { name: 'Mem', type: 'string', jsonPath: '.status.limits.memory' },
    { name: 'Used Mem', type: 'string', jsonPath: '.status.used.memory' },
    { name: 'Pods', type: 'string', jsonPath: '.status.used.pods' },
    { name: 'Enforcement', type: 'string', jsonPath: '.spec.enforcement', priority: 1 },
    { name: 'Cordoned', type: 'boolean', jsonPath: '.spec.cordoned' },
  ],
  required: ['spec'],
  properties: {
    spec: objectOf(
      'The source, and its limits.',
      {
        source: text("UID of the source's kube-system Namespace, or * for each source without its own ResourceShare.", {
          minLength: 1, maxLength: 63,
        }),
        limits: {
          ...RESOURCE_LIST,
          description: "Maximum for all delegate pods of the source together; pods limits their number.",
          maxProperties: 64,
        },
        percentage: int32(
          "Maximum of every resource that limits does not name, in percent of the cluster's allocatable.",
          { minimum: 0, maximum: 100 },
        ),
        enforcement: text(
          'None only displays usage, Soft (the default) counts requests, Hard counts limits, which every ' +
            'container must have.',
          { enum: ['None', 'Soft', 'Hard'] },
        ),
        cordoned: flag('No new delegate pods; running pods are not affected.'),
      },
      ['source'],
      {
        'x-kubernetes-validations': [
          {
            rule: 'has(self.limits) || has(self.percentage) || has(self.cordoned)',
            message: 'a ResourceShare without limits and percentage limits nothing; set one of them, or cordoned',
          },
        ],
      },
    ),
    status: objectOf('What was last observed.', {
      observedGeneration: OBSERVED_GENERATION,
      conditions: CONDITIONS,
      limits: { ...RESOURCE_LIST, description: 'The effective limits.' },
      used: { ...RESOURCE_LIST, description: 'Current usage by delegate pods of the source.' },
    }),
  },
};
