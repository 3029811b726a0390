// A source's cached ClusterSummary of a target. A target renews its summary every minute; with a thousand targets most
// that arrive say nothing new.
import type { ClusterSummary } from '../../api/kinds/cluster-summary.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { isRecord, isSameJson } from '../objects/json-values.ts';
import { expectShape } from '../objects/schema-check.ts';
import { SUMMARY_SHAPE } from './target-answer-shapes.ts';

type SummaryField = Exclude<keyof ClusterSummary, keyof KubernetesObject | 'observed'>;

/**
 * The fields that {@link isRenewal} compares. A record, so that the compiler rejects a forgotten one: its changes would
 * pass as renewals.
 */
const SUMMARY_FIELDS: Readonly<Record<SummaryField, true>> = {
  capacity: true, allocatable: true, free: true, largestFree: true, gpus: true, commonLabels: true, nodeGroups: true,
  reduced: true, shares: true,
};
const FIELDS = Object.keys(SUMMARY_FIELDS) as readonly SummaryField[];
const METADATA = ['labels', 'annotations'] as const;

/**
 * A summary as a target sent it, in which the parts that equal those of `before` are the same objects. Only the other
 * parts are validated. This makes {@link isRenewal} cheap, and the new copy of equal parts is garbage at once.
 * @throws TypeError when it does not have the shape of a summary.
 */
export function toKnownSummary(before: ClusterSummary | undefined, sent: ClusterSummary): ClusterSummary {
  if (before === undefined || !isRecord(sent) || !isRecord(sent.metadata)) return expectShape(sent, SUMMARY_SHAPE);
  const [fields, metadata] = [knownOf(before, sent, FIELDS), knownOf(before.metadata, sent.metadata, METADATA)];
  expectShape({ ...without(sent, fields), metadata: without(sent.metadata, metadata) }, SUMMARY_SHAPE);
  return { ...sent, ...fields, metadata: { ...sent.metadata, ...metadata } };
}

function knownOf<T extends object, K extends keyof T>(before: T, sent: T, names: readonly K[]): Partial<Pick<T, K>> {
  const known: Partial<Pick<T, K>> = {};
  for (const name of names) {
    const value = before[name];
    if (value !== undefined && isSameJson(value, sent[name])) known[name] = value;
  }
  return known;
}

function without(object: object, known: object): object {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !Object.hasOwn(known, name)));
}

/**
 * Whether a summary only renews another one: the same capacity, labels and annotations, which {@link toKnownSummary}
 * has made the same objects. Times and versions may differ.
 */
export function isRenewal(before: ClusterSummary | undefined, after: ClusterSummary | undefined): boolean {
  return before !== undefined && after !== undefined && FIELDS.every((name) => before[name] === after[name])
    && METADATA.every((name) => before.metadata[name] === after.metadata[name]);
}
