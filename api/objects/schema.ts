// OpenAPI schemas and CustomResourceDefinitions as data. Each kind's file contains its TypeScript type and its schema;
// `manifests/crds/` is generated from here, and a test verifies that it is current.
import { ADMIRALTY_GROUP } from './group-version.ts';

/** A structural schema (Kubernetes "Extend the API: CustomResourceDefinitions", OpenAPI v3 subset). */
export interface Schema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'boolean';
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly enum?: readonly string[];
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly 'x-kubernetes-preserve-unknown-fields'?: true;
  readonly 'x-kubernetes-int-or-string'?: true;
  readonly 'x-kubernetes-list-type'?: 'map' | 'atomic' | 'set';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  /**
   * `atomic` for maps that our controllers publish by server-side apply: one that is merged by key becomes null with
   * its last key removed, which the schema rejects.
   */
  readonly 'x-kubernetes-map-type'?: 'atomic';
  readonly 'x-kubernetes-validations'?: readonly { readonly rule: string; readonly message: string }[];
}

/** A column that `kubectl get` prints; `priority` 1 shows it only with `-o wide`. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date' | 'boolean';
  readonly jsonPath: string;
  readonly description?: string;
  readonly priority?: number;
}

/**
 * One kind of our API: names, scope, columns and the schema of all fields except `apiVersion`, `kind` and `metadata`.
 */
export interface KindDefinition {
  /** API group; Admiralty's when missing. */
  readonly group?: string;
  /** Versions with this one schema, the stored one last; `v1alpha1` when missing. */
  readonly versions?: readonly string[];
  readonly kind: string;
  readonly plural: string;
  readonly shortName: string;
  readonly scope: 'Namespaced' | 'Cluster';
  readonly description: string;
  readonly columns: readonly PrinterColumn[];
  readonly properties: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

type Fields = Readonly<Record<string, Schema>>;

/** Schema of an object with these fields; `more` are its other keywords, as in all of these. */
export function objectOf(
  description: string, properties: Fields, required: readonly string[] = [], more: Schema = {},
): Schema {
  return { type: 'object', description, ...(required.length > 0 && { required }), properties, ...more };
}

/** The same for an entry of a list, which is described by the list. */
export function recordOf(properties: Fields, required: readonly string[] = [], more: Schema = {}): Schema {
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...more };
}

/** Schema of a list that is replaced as a whole, unless `more` says otherwise. */
export function listOf(description: string, items: Schema, more: Schema = {}): Schema {
  return { type: 'array', description, 'x-kubernetes-list-type': 'atomic', ...more, items };
}

/** Schema of a text. */
export function text(description: string, more: Schema = {}): Schema {
  return { type: 'string', description, ...more };
}

/** Schema of a time, RFC 3339. */
export function time(description: string): Schema {
  return { type: 'string', format: 'date-time', description };
}

/** Schema of a number that fits into 32 bits. */
export function int32(description: string, more: Schema = {}): Schema {
  return { type: 'integer', format: 'int32', description, ...more };
}

/** Schema of a larger number. */
export function int64(description: string): Schema {
  return { type: 'integer', format: 'int64', description };
}

/** Schema of what is true or false. */
export function flag(description: string): Schema {
  return { type: 'boolean', description };
}

const AGE: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

/** Schema of a ResourceList: quantities by resource name. */
export const RESOURCE_LIST: Schema = {
  type: 'object',
  description: 'Quantities by resource name.',
  additionalProperties: { 'x-kubernetes-int-or-string': true },
};

/** Schema of a list of taints (`core/v1` Taint). */
export const TAINTS: Schema = listOf('Taints of these nodes.', recordOf({
  key: text('Key of the taint.'),
  value: text('Value of the taint.'),
  effect: text('What happens to pods that do not tolerate it.'),
}, ['key', 'effect']));

/** Maximum number of labels, of requirements, and of entries in other lists of selectors. */
export const MAX_SELECTOR_LIST = 16;

/** Schema of a LabelSelector in a spec of Isthmus' kinds. */
export function labelSelectorSchema(description: string): Schema {
  return objectOf(description, {
    matchLabels: {
      type: 'object',
      description: 'Labels that must have these values.',
      additionalProperties: { type: 'string', maxLength: 63 },
      maxProperties: MAX_SELECTOR_LIST,
    },
    matchExpressions: listOf('Requirements that must all hold.', recordOf(
      {
        key: text('Key of the label.', { minLength: 1, maxLength: 317 }),
        operator: text('In, NotIn, Exists or DoesNotExist.', { enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'] }),
        values:
          listOf('Values for In and NotIn.', { type: 'string', maxLength: 63 }, { maxItems: MAX_SELECTOR_LIST * 4 }),
      },
      ['key', 'operator'],
      {
        'x-kubernetes-validations': [
          {
            rule:
              "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : " +
                "!has(self.values) || size(self.values) == 0",
            message: 'In and NotIn need values; Exists and DoesNotExist take none',
          },
        ],
      },
    ), { maxItems: MAX_SELECTOR_LIST }),
  });
}

/** Schema of `status.conditions` after KEP-1623. */
export const CONDITIONS: Schema = listOf('Current conditions, one entry for each type.', recordOf(
  {
    type: text('Name of the condition in CamelCase.', { maxLength: 316 }),
    status: text('True, False or Unknown.', { enum: ['True', 'False', 'Unknown'] }),
    reason: text('Why the condition has this status, in CamelCase.', { maxLength: 1024 }),
    message: text('Human-readable message, with what to change.', { maxLength: 32768 }),
    lastTransitionTime: time('When the status last changed.'),
    observedGeneration: int64('The metadata.generation that was observed.'),
  },
  ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
), { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] });

/** Schema of `status.observedGeneration`: kstatus, by which GitOps tools wait, reads it before the conditions. */
export const OBSERVED_GENERATION: Schema = int64('The metadata.generation that this status describes.');

/** Column that shows one condition's status. */
export function conditionColumn(name: string, type: string): PrinterColumn {
  return { name, type: 'string', jsonPath: `.status.conditions[?(@.type=="${type}")].status` };
}

/** Category of all our kinds, as in `kubectl get isthmus`; tells our definitions from Admiralty's of the same kinds. */
export const DEFINITION_CATEGORY = 'isthmus';

/** The CustomResourceDefinition (`apiextensions.k8s.io/v1`) of a kind, ready to apply. */
export function toCustomResourceDefinition(definition: KindDefinition) {
  const { group = ADMIRALTY_GROUP, versions = ['v1alpha1'], kind, plural, shortName, scope, columns } = definition;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, labels: { 'app.kubernetes.io/part-of': 'isthmus' } },
    spec: {
      group,
      scope,
      names: {
        kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase(), shortNames: [shortName],
        categories: [DEFINITION_CATEGORY],
      },
      versions: versions.map((name) => ({
        name,
        served: true,
        storage: name === versions.at(-1),
        subresources: { status: {} },
        additionalPrinterColumns: [...columns, AGE],
        schema: { openAPIV3Schema: rootSchema(definition) },
      })),
    },
  } as const;
}

function rootSchema(definition: KindDefinition): Schema {
  return {
    type: 'object',
    description: definition.description,
    ...(definition.required && { required: definition.required }),
    properties: {
      apiVersion: text('Version of the schema.'),
      kind: text('Kind of the object.'),
      metadata: { type: 'object' },
      ...definition.properties,
    },
  };
}
