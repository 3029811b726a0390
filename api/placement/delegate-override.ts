// How a placement policy changes delegates in some targets: JSON patches, and the paths that each kind may patch.
import { labelSelectorSchema, listOf, MAX_SELECTOR_LIST, recordOf, text, type Schema } from '../objects/schema.ts';
import type { LabelSelector } from '../objects/selectors.ts';

/** One operation of a JSON patch (RFC 6902). */
export interface PatchOperation {
  readonly op: 'add' | 'replace' | 'remove' | 'test';
  readonly path: string;
  readonly value?: unknown;
}

/** Changes of the delegate in some targets. */
export interface PolicyOverride {
  readonly targets: LabelSelector;
  readonly patch: readonly PatchOperation[];
}

/** The paths that a patch may change: a CEL rule, and its message. */
export type PatchablePaths = NonNullable<Schema['x-kubernetes-validations']>[number];
/**
 * What a namespaced policy may patch: it must not give delegates fields that the source's policies have not admitted.
 */
export const SCHEDULING_PATH =
  /^\/spec\/(nodeSelector|tolerations|affinity|topologySpreadConstraints|terminationGracePeriodSeconds)(\/|$)/;
/** The same as a CEL rule. */
export const SCHEDULING_PATHS: PatchablePaths = {
  rule: `self.path.matches('${SCHEDULING_PATH.source.replaceAll('\\/', '/')}')`,
  message:
    'a PlacementPolicy may patch nodeSelector, tolerations, affinity, topologySpreadConstraints and ' +
      'terminationGracePeriodSeconds under /spec/; anything else takes a ClusterPlacementPolicy',
};
/** What a cluster policy may patch. */
export const ALL_PATHS: PatchablePaths = {
  rule:
    "self.path.startsWith('/spec/') || self.path.startsWith('/metadata/labels/') || " +
      "self.path.startsWith('/metadata/annotations/')",
  message: 'path must begin with /spec/, /metadata/labels/ or /metadata/annotations/',
};

/** Schema of a list of {@link PolicyOverride} with patches of these paths. */
export const overridesSchema = (paths: PatchablePaths): Schema => (listOf(
  'How the delegate pod differs in some targets.',
  recordOf({
    targets: labelSelectorSchema('Targets in which the delegate is changed.'),
    patch: listOf(
      'JSON patch (RFC 6902) on the delegate pod. A PlacementPolicy may change how it is scheduled within its ' +
        'target, a ClusterPlacementPolicy its labels, annotations and spec.',
      recordOf({
        op: text('add, replace, remove or test.', { enum: ['add', 'replace', 'remove', 'test'] }),
        path: text('JSON pointer, for example /spec/nodeSelector/disk.', { maxLength: 512 }),
        value: { description: 'Value for add, replace and test.', 'x-kubernetes-preserve-unknown-fields': true },
      }, ['op', 'path'], { 'x-kubernetes-validations': [paths] }),
      { minItems: 1, maxItems: 64 },
    ),
  }, ['targets', 'patch']),
  { maxItems: MAX_SELECTOR_LIST },
));
