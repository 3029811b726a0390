// SecretCopy: a target's report to a source about a copied Secret. A source has no permission to read Secrets in a
// target (ADR 0024), so it learns here that its copy exists, from which version it was made, and whether it was
// changed since. It never contains the Secret's data.
import type { KubernetesObject } from '../objects/core.ts';
import { ISTHMUS_GROUP } from '../objects/group-version.ts';
import { flag, objectOf, type KindDefinition } from '../objects/schema.ts';

/** The observed state of the Secret of this name. */
export interface SecretCopySpec {
  /** `metadata.uid` of the Secret. */
  readonly secretUID: string;
  /** `metadata.resourceVersion` of the Secret at the time of this report. */
  readonly secretVersion: string;
  /** `metadata.uid` of the source's Secret. */
  readonly parentUID: string;
  /** `metadata.resourceVersion` of the source's Secret that was copied; empty when the copy has none. */
  readonly parentVersion: string;
  /** Whether the Secret is as the source wrote it. */
  readonly intact: boolean;
}

/** The report on one Secret, with its name and namespace. */
export interface SecretCopy extends KubernetesObject {
  readonly spec: SecretCopySpec;
}

const ID = { type: 'string', maxLength: 253 } as const;

/** CRD of SecretCopy. */
export const SECRET_COPY_KIND: KindDefinition = {
  group: ISTHMUS_GROUP,
  kind: 'SecretCopy',
  plural: 'secretcopies',
  shortName: 'scopy',
  scope: 'Namespaced',
  description:
    'State of a copied Secret that this target reports to its source: that it exists and is unchanged, not its ' +
      'contents.',
  columns: [
    { name: 'Intact', type: 'boolean', jsonPath: '.spec.intact' },
    {
      name: 'Source', type: 'string', jsonPath: '.metadata.labels.multicluster\\.admiralty\\.io/parent-cluster-name',
      priority: 1,
    },
  ],
  required: ['spec'],
  properties: {
    spec: objectOf("Written by the target's delegate controller.", {
      secretUID: { ...ID, description: 'metadata.uid of the Secret.' },
      secretVersion: { ...ID, description: 'metadata.resourceVersion of the Secret when this was written.' },
      parentUID: { ...ID, description: "metadata.uid of the source's Secret." },
      parentVersion: { ...ID, description: "metadata.resourceVersion of the source's Secret that was copied." },
      intact: flag('Whether the Secret is as the source wrote it.'),
    }, ['secretUID', 'secretVersion', 'parentUID', 'parentVersion', 'intact']),
  },
};
