// Decides what to write of a decision as PlacementDecisions (KEP-5313): the same clusters in parts of a hundred, by the
// names of their ClusterProfiles. Objects that others created are left alone.
import { ISTHMUS_GROUP } from '../../api/objects/group-version.ts';
import type { ClusterDecision } from '../../api/placement/cluster-decision.ts';
import {
  CLUSTER_MANAGER, DECISION_INDEX_LABEL, DECISION_KEY_LABEL, MAX_DECISIONS, type PlacementDecision,
} from '../../api/placement/cluster-inventory.ts';
import { PLACEMENT_DECISIONS } from '../../api/resource-types.ts';
import { canonicalJson } from '../../model/objects/canonical-json.ts';
import { joinName, MAX_NAME_LENGTH, toLabelValue } from '../../model/naming/names.ts';
import { deletion, NOTHING, type Command, type Plan } from '../../model/objects/plan.ts';
import type { ClusterChoice } from './choose-clusters.ts';

/** Names of the targets that were published last, in no particular order. */
export function publishedTargets(
  decision: ClusterDecision, existing: readonly PlacementDecision[],
): readonly string[] {
  return existing.filter((slice) => isSliceOf(decision, slice))
    .flatMap(({ decisions }) => decisions.map(({ clusterProfileRef }) => clusterProfileRef.name));
}

/** Publishes a choice; `existing` are all PlacementDecisions of the namespace. Empty when nothing differs. */
export function planSlices(
  decision: ClusterDecision, choice: ClusterChoice, existing: readonly PlacementDecision[],
): Plan {
  if (choice.kind === 'unchanged') return NOTHING;
  const names = choice.kind === 'chosen' ? choice.decisions.map(({ target }) => target) : [];
  const wanted = inSlices(names).map((part, index) => toSlice(decision, part, index));
  const byName = new Map(existing.map((slice) => [slice.metadata.name ?? '', slice]));
  const kept = new Set(wanted.map(({ metadata }) => metadata.name));
  return [
    ...wanted.flatMap((slice) => write(decision, slice, byName.get(slice.metadata.name ?? ''))),
    ...existing.filter((slice) => isSliceOf(decision, slice) && !kept.has(slice.metadata.name))
      .map(({ metadata }) => deletion(PLACEMENT_DECISIONS, metadata)),
  ];
}

/** At least one slice: an empty decision is published too. */
function inSlices(names: readonly string[]): readonly (readonly string[])[] {
  const count = Math.max(1, Math.ceil(names.length / MAX_DECISIONS));
  return Array.from({ length: count }, (_, index) => names.slice(index * MAX_DECISIONS, (index + 1) * MAX_DECISIONS));
}

function toSlice(
  { metadata: { namespace = '', name = '', uid = '' } }: ClusterDecision, names: readonly string[], index: number,
): PlacementDecision {
  return {
    metadata: {
      namespace, name: joinName([name, { constant: String(index) }], MAX_NAME_LENGTH),
      labels: { [DECISION_KEY_LABEL]: toLabelValue(name), [DECISION_INDEX_LABEL]: String(index) },
      ownerReferences: [{ apiVersion: `${ISTHMUS_GROUP}/v1alpha1`, kind: 'ClusterDecision', name, uid }],
    },
    decisions: names.map((profile) => ({ clusterProfileRef: { name: profile } })),
    schedulerName: CLUSTER_MANAGER,
  };
}

function isSliceOf({ metadata: { uid } }: ClusterDecision, slice: PlacementDecision): boolean {
  const [owner, ...more] = slice.metadata.ownerReferences ?? [];
  return slice.schedulerName === CLUSTER_MANAGER && more.length === 0 && owner?.kind === 'ClusterDecision'
    && owner.uid === uid && slice.metadata.deletionTimestamp === undefined;
}

function write(
  decision: ClusterDecision, wanted: PlacementDecision, existing: PlacementDecision | undefined,
): readonly Command[] {
  if (existing === undefined) return [{ kind: 'create', type: PLACEMENT_DECISIONS, object: wanted }];
  if (!isSliceOf(decision, existing)) return [];
  const { metadata: { labels }, decisions } = wanted;
  const isSame = canonicalJson(decisions) === canonicalJson(existing.decisions)
    && Object.entries(labels ?? {}).every(([key, value]) => existing.metadata.labels?.[key] === value);
  if (isSame) return [];
  const { namespace, name = '', uid } = existing.metadata;
  return [{
    kind: 'patch', type: PLACEMENT_DECISIONS, at: { namespace, name }, patchType: 'merge',
    patch: { metadata: { uid, labels }, decisions },
  }];
}
