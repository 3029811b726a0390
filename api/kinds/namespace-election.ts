// NamespaceElection: how pods of a namespace without an annotation of their own are elected. Written by the namespace's
// owner, read by the webhook. Whether they are elected at all is a label of the Namespace, which webhook configurations
// select by.
import { ISTHMUS_GROUP } from '../objects/group-version.ts';
import type { KubernetesObject, StringMap } from '../objects/core.ts';
import { objectOf, recordOf, text, type KindDefinition } from '../objects/schema.ts';

/** Where pods may run: here, in targets, or in targets which may include this cluster (`spec.self`). */
export type ElectionStrategy = 'Local' | 'Remote' | 'LocalAndRemote';

/** A `meta/v1` LabelSelector over virtual nodes. */
export interface TargetSelector {
  readonly matchLabels?: StringMap;
  readonly matchExpressions?: readonly {
    readonly key: string; readonly operator: string; readonly values?: readonly string[]
  }[];
}

/** Spec of an election. */
export interface NamespaceElectionSpec {
  /** `Remote` when missing. */
  readonly strategy?: ElectionStrategy;
  /** Targets by the labels of their virtual nodes; all when missing. Pods with constraints of their own keep those. */
  readonly selector?: TargetSelector;
  /** The namespace of pods in a target: the one of the same name. */
  readonly mapping?: 'EnforceSameName';
}

/** How the pods of its namespace are elected. */
export interface NamespaceElection extends KubernetesObject {
  readonly spec: NamespaceElectionSpec;
}

/** The only valid name, in each namespace. */
export const NAMESPACE_ELECTION_NAME = 'election';

/** CRD of NamespaceElection. */
export const NAMESPACE_ELECTION_KIND: KindDefinition = {
  group: ISTHMUS_GROUP,
  kind: 'NamespaceElection',
  plural: 'namespaceelections',
  shortName: 'nselect',
  scope: 'Namespaced',
  description:
    'How pods without annotation are elected in a Namespace with label isthmus.dev/elect=all. Its name is election.',
  columns: [
    { name: 'Strategy', type: 'string', jsonPath: '.spec.strategy' },
    { name: 'Mapping', type: 'string', jsonPath: '.spec.mapping', priority: 1 },
  ],
  required: ['spec'],
  properties: {
    spec: objectOf('Where the pods may run.', {
      strategy: text(
        'Local keeps pods in this cluster; Remote (the default) sends them to targets; LocalAndRemote also to ' +
          'a target that ' +
          'is this cluster (spec.self).',
        { enum: ['Local', 'Remote', 'LocalAndRemote'] },
      ),
      selector: objectOf('Labels of the virtual nodes of targets that may be chosen; default: all targets.', {
        matchLabels: {
          type: 'object',
          description: 'Labels with these values.',
          additionalProperties: { type: 'string' },
          maxProperties: 32,
        },
        matchExpressions: {
          type: 'array',
          description: 'Requirements, all of which must hold.',
          maxItems: 32,
          items: recordOf({
            key: text('Key of the label.'),
            operator: text('How the label is compared with the values.', {
              enum: ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'],
            }),
            values: {
              type: 'array',
              description: 'Values; none for Exists and DoesNotExist.',
              items: { type: 'string' },
              maxItems: 64,
            },
          }, ['key', 'operator']),
        },
      }),
      mapping: text(
        'EnforceSameName: pods run in the namespace of the same name in targets, which must exist ' +
          'there.',
        { enum: ['EnforceSameName'] },
      ),
    }),
  },
};
