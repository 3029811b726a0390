// Plans the writes that bring an import's objects up to date. Writes nothing when nothing differs; objects of somebody
// else under one of our names are left alone.
import type { Condition, KubernetesObject, Service } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { SERVICES } from '../../api/resource-types.ts';
import { SERVICE_DISCOVERY_MANAGER, SERVICE_IMPORTS, type ServiceImport } from '../../api/kinds/service-discovery.ts';
import { ENDPOINT_SLICES, type EndpointSlice } from '../../api/objects/endpoint-slice.ts';
import { setCondition } from '../../model/objects/conditions.ts';
import { contentDigest } from '../../model/objects/canonical-json.ts';
import { isSameJson } from '../../model/objects/json-values.ts';
import { deletion, type Command, type Plan } from '../../model/objects/plan.ts';
import { isImported, type ImportObjects } from './import-objects.ts';
import type { MergedExports } from './merge-exports.ts';

/** The existing objects of one import. */
export interface ExistingImport {
  readonly serviceImport: ServiceImport | undefined;
  readonly service: Service | undefined;
  readonly slices: readonly EndpointSlice[];
}

/** Annotation with a digest of what was written, so that removed fields are noticed. */
export const DIGEST_ANNOTATION = 'isthmus.dev/content-digest';

/** Writes for the import; `wanted` is undefined when no cluster exports it any more. */
export function planImport(wanted: ImportObjects | undefined, existing: ExistingImport): Plan {
  const slices = existing.slices.filter(isImported);
  const kept = new Set(wanted?.slices.map(({ metadata }) => metadata.name));
  return [
    ...planObject(SERVICES, wanted?.service, existing.service),
    ...planObject(SERVICE_IMPORTS, wanted?.serviceImport, existing.serviceImport),
    ...(wanted?.slices ?? []).flatMap((slice) => planSlice(
      slice, existing.slices.find(({ metadata }) => metadata.name === slice.metadata.name),
    )),
    ...slices.filter(({ metadata }) => !kept.has(metadata.name))
      .flatMap((slice) => planObject(ENDPOINT_SLICES, undefined, slice)),
  ];
}

/**
 * A slice's address type is immutable. It changes where slices of both families are listed in another order, and with
 * the family of the gateway's address.
 */
function planSlice(wanted: EndpointSlice, existing: EndpointSlice | undefined): readonly Command[] {
  const isReplaced = existing !== undefined && isImported(existing) && existing.addressType !== wanted.addressType;
  return isReplaced
    ? [deletion(ENDPOINT_SLICES, existing.metadata), ...planObject(ENDPOINT_SLICES, wanted, undefined)]
    : planObject(ENDPOINT_SLICES, wanted, existing);
}

/** Writes for one object: none when it is up to date, or not ours. */
function planObject(
  type: ResourceType, wanted: KubernetesObject | undefined, existing: KubernetesObject | undefined,
): readonly Command[] {
  if (existing !== undefined && !isImported(existing)) return [];
  if (wanted === undefined) return existing === undefined ? [] : [deletion(type, existing.metadata)];
  const digest = contentDigest(wanted);
  if (existing?.metadata.annotations?.[DIGEST_ANNOTATION] === digest && includes(existing, wanted)) return [];
  const object = {
    ...wanted,
    metadata: { ...wanted.metadata, annotations: { ...wanted.metadata.annotations, [DIGEST_ANNOTATION]: digest } },
  };
  return [{ kind: 'apply', type, object, fieldManager: SERVICE_DISCOVERY_MANAGER }];
}

/** Whether all desired fields are set; fields added by API servers do not count. */
function includes(there: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) return Array.isArray(there) && there.length === wanted.length && wanted
    .every((one, index) => includes(there[index], one));
  if (typeof wanted !== 'object' || wanted === null) return there === wanted;
  if (typeof there !== 'object' || there === null) return false;
  return Object.entries(wanted)
    .every(([key, value]) => value === undefined || includes((there as Readonly<Record<string, unknown>>)[key], value));
}

/** What has come of the writes: the addresses of the import's Service, and what the API server rejects. */
interface ImportOutcome {
  readonly ips: readonly string[];
  readonly rejected?: string | undefined;
}

/** Longest text of a rejection in a condition: longer conditions are rejected themselves. */
const MAX_REASON = 1_000;

/** The status of a ServiceImport. Returns `before` when nothing changes. `now` is an RFC 3339 time. */
export function importStatus(
  before: ServiceImport['status'], merged: MergedExports, { ips, rejected }: ImportOutcome, now: string,
): NonNullable<ServiceImport['status']> {
  const clusters = merged.contributors.map(({ spec }) => ({ cluster: spec.clusterID }))
    .toSorted((one, other) => (one.cluster < other.cluster ? -1 : 1));
  const isReady = merged.settings.type === 'Headless' || ips.length > 0;
  const ready = isReady
    ? ({ type: 'Ready', status: 'True', reason: 'Ready', message: 'the Service can be used' } as const)
    : ({
      type: 'Ready', status: 'False', reason: 'Pending',
      message: `no address was given yet${rejected === undefined ? '' : `: ${rejected.slice(0, MAX_REASON)}`}`,
    } as const);
  const conditions: readonly Condition[] = setCondition(before?.conditions, ready, now);
  const isSame =
    before !== undefined && conditions === before.conditions && isSameJson(before.clusters, clusters);
  return isSame ? before : { clusters, conditions };
}
