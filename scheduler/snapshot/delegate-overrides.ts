// Applies the overrides of a policy to the delegate for some targets: JSON patches. Fields that make it a delegate
// cannot be changed.
import jsonPatch from 'fast-json-patch';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import type { PodSpec, StringMap } from '../../api/objects/core.ts';
import { ADMIRALTY_PREFIX } from '../../api/objects/keys.ts';
import { withoutNulls } from '../../model/objects/json-values.ts';
import { matchesLabelSelector } from '../../model/objects/label-selector.ts';
import { shapeProblem, type Shape } from '../../model/objects/schema-check.ts';
import { knownShapeErrors } from '../../model/pod/constraint-shapes.ts';
import type { PlacementRules } from './placement-rules.ts';
import { labelsFor, type TargetLabels } from './virtual-node-info.ts';

/** The chaperon for one target, or why the policy's patch does not apply. */
export type OverriddenChaperon = { readonly kind: 'chaperon'; readonly chaperon: PodChaperon }
  | { readonly kind: 'failed'; readonly message: string };

/** The chaperon with all overrides for a target with these labels; the same object when there are none. */
export function overriddenChaperon(
  chaperon: PodChaperon, { overrides }: PlacementRules, target: TargetLabels | undefined,
): OverriddenChaperon {
  const patch = (overrides?.value ?? []).flatMap(
    (override) => (matchesLabelSelector(override.targets, labelsFor(override, target)) ? override.patch : []),
  );
  if (patch.length === 0) return { kind: 'chaperon', chaperon };
  const { labels = {}, annotations = {} } = chaperon.metadata;
  try {
    // The library patches in place, so patch a copy. Maps that a patch adds to exist even when empty.
    const document = structuredClone({ metadata: { labels, annotations }, spec: chaperon.spec });
    const { newDocument } =
      jsonPatch.applyPatch(document, structuredClone(patch) as Parameters<typeof jsonPatch.applyPatch>[1], true);
    const problem = misfitOf(newDocument.spec);
    return problem === undefined
      ? { kind: 'chaperon', chaperon: withOwnKeys(chaperon, newDocument) }
      : failed(overrides, problem);
  } catch (error) {
    const problem = error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'it cannot be applied';
    return failed(overrides, problem);
  }
}

function failed(overrides: PlacementRules['overrides'], problem: string): OverriddenChaperon {
  return {
    kind: 'failed', message: `the patch of ${overrides?.by ?? 'a policy'} does not apply to this pod: ${problem}`,
  };
}

const MAP: Shape = { type: 'object' };
const RESOURCES: Shape = { type: 'object', properties: { requests: MAP, limits: MAP } };
const CONTAINERS: Shape = { type: 'array', items: { type: 'object', properties: { resources: RESOURCES } } };
const SPEC_SHAPE: Shape = {
  type: 'object', required: ['containers'],
  properties: { containers: CONTAINERS, initContainers: CONTAINERS, resources: RESOURCES, overhead: MAP },
};

/** Why a decision cannot read a patched spec. No schema validates the result of a patch. */
function misfitOf(spec: PodSpec): string | undefined {
  const problem = shapeProblem(withoutNulls(spec), SPEC_SHAPE);
  if (problem !== undefined) return `spec${problem}`;
  const [error] = knownShapeErrors(spec);
  return error === undefined ? undefined : `the delegate ${error}`;
}

type Patched = Pick<PodChaperon, 'spec'>
  & { readonly metadata: { readonly labels: StringMap; readonly annotations: StringMap } };

/** Our keys identify the delegate; changes to them are reverted. */
function withOwnKeys(chaperon: PodChaperon, { metadata, spec }: Patched): PodChaperon {
  const kept = (patched: StringMap, original: StringMap = {}): StringMap => ({
    ...Object.fromEntries(
      Object.entries(patched).filter(([key]) => !key.startsWith(ADMIRALTY_PREFIX) || Object.hasOwn(original, key)),
    ),
    ...Object.fromEntries(Object.entries(original).filter(([key]) => key.startsWith(ADMIRALTY_PREFIX))),
  });
  const { labels, annotations } = chaperon.metadata;
  return {
    ...chaperon,
    metadata: {
      ...chaperon.metadata, labels: kept(metadata.labels, labels), annotations: kept(metadata.annotations, annotations),
    },
    spec,
  };
}
