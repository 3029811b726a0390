// SecretCopy: what a target tells a source of a Secret that it keeps for it. A source has no right to read Secrets in a target (ADR 0024), so it
// learns here that its copy is there, which state of the original it was made of, and whether somebody has changed it. Never what is in it.
import type { KubernetesObject } from '../objects/core.ts';
import { ISTHMUS_GROUP } from '../objects/group-version.ts';
import type { KindDefinition } from '../objects/schema.ts';

/** What the target has seen of the Secret of this name. */
export interface SecretCopySpec {
  /** `metadata.uid` of the Secret. */
  readonly secretUID: string;
  /** `metadata.resourceVersion` of the Secret, as it was when this was written. */
  readonly secretVersion: string;
  /** `metadata.uid` of the source's Secret. */
  readonly parentUID: string;
  /** `metadata.resourceVersion` of the source's Secret that was copied; empty when the copy does not say. */
  readonly parentVersion: string;
  /** Whether the Secret says what the source wrote. */
  readonly intact: boolean;
}

/** The report on one Secret, by its name, beside it. */
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
  description: 'What this target tells a source of a Secret that follows its pods: that it is there and unchanged, not what is in it.',
  columns: [
    { name: 'Intact', type: 'boolean', jsonPath: '.spec.intact' },
    { name: 'Source', type: 'string', jsonPath: '.metadata.labels.multicluster\\.admiralty\\.io/parent-cluster-name', priority: 1 },
  ],
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      description: "Written by the target's delegate controller.",
      required: ['secretUID', 'secretVersion', 'parentUID', 'parentVersion', 'intact'],
      properties: {
        secretUID: { ...ID, description: 'metadata.uid of the Secret.' },
        secretVersion: { ...ID, description: 'metadata.resourceVersion of the Secret when this was written.' },
        parentUID: { ...ID, description: "metadata.uid of the source's Secret." },
        parentVersion: { ...ID, description: "metadata.resourceVersion of the source's Secret that was copied." },
        intact: { type: 'boolean', description: 'Whether the Secret says what the source wrote.' },
      },
    },
  },
};
