// The part of a pod's status that a source accepts from a target. It is untrusted data: known fields only.
import { hash } from 'node:crypto';
import type { Condition, ContainerStatus, PodStatus } from '../../api/objects/core.ts';
import { canonicalJson } from '../objects/canonical-json.ts';

const MIRRORED_FIELDS = [
  'phase',
  'conditions',
  'message',
  'reason',
  'observedGeneration',
  'hostIP',
  'hostIPs',
  'podIP',
  'podIPs',
  'startTime',
  'resources',
  'allocatedResources',
  'initContainerStatuses',
  'containerStatuses',
  'ephemeralContainerStatuses',
] as const satisfies readonly (keyof PodStatus)[];

/** Maximum length of a text in a status, in characters: Kubernetes' own limit of a container's termination message. */
const MAX_TEXT = 4_096;
/** Maximum length of a list in a status. */
const MAX_ENTRIES = 256;
/** Maximum nesting depth of a status; Kubernetes' own is 6. */
const MAX_DEPTH = 12;
/** Maximum number of characters in a whole status, so that the object stays well below etcd's limit. */
const MAX_TOTAL = 256 * 1_024;

/**
 * The status fields that are copied, in a fixed order. Nominated nodes and QoS belong to each cluster itself. Values
 * longer or deeper than any status of Kubernetes are truncated.
 */
export function copiedStatus(status: PodStatus): PodStatus {
  const copied: Record<string, unknown> = {};
  const room = { left: MAX_TOTAL };
  for (const field of MIRRORED_FIELDS) {
    if (status[field] !== undefined) copied[field] = capped(status[field], room, MAX_DEPTH);
  }
  return copied;
}

/** The value itself where nothing in it is too long or too deep, as in nearly all. */
function capped(value: unknown, room: { left: number }, depth: number): unknown {
  if (typeof value === 'string') {
    const text = value.slice(0, Math.min(MAX_TEXT, room.left));
    room.left -= text.length;
    return text;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 0) return undefined;
  return Array.isArray(value) ? cappedList(value, room, depth) : cappedFields(value, room, depth);
}

function cappedList(list: readonly unknown[], room: { left: number }, depth: number): readonly unknown[] {
  const length = Math.min(list.length, room.left > 0 ? MAX_ENTRIES : 0);
  let kept = length === list.length ? undefined : list.slice(0, length);
  for (let index = 0; index < length; index += 1) {
    const entry = capped(list[index], room, depth - 1);
    if (entry !== list[index]) (kept ??= [...list])[index] = entry;
  }
  return kept ?? list;
}

function cappedFields(fields: object, room: { left: number }, depth: number): object {
  const values = fields as Readonly<Record<string, unknown>>;
  const names = Object.keys(fields);
  const most = names.slice(0, MAX_ENTRIES);
  let kept = most.length === names.length ? undefined : Object.fromEntries(most.map((name) => [name, values[name]]));
  for (const name of most) {
    const field = capped(values[name], room, depth - 1);
    if (field !== values[name]) (kept ??= { ...values })[name] = field;
  }
  return kept ?? fields;
}

const DEVICES = 'allocatedResourcesStatus';
type Devices = ContainerStatus & { readonly [DEVICES]?: unknown };
const STATUS_LISTS = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const;

/** The status without containers that the pod does not have: the target's own admission added them to the delegate. */
export function statusOfContainers(status: PodStatus, names: readonly string[]): PodStatus {
  const known = new Set(names);
  const lists = STATUS_LISTS.flatMap((list) => {
    const entries = status[list];
    return entries === undefined ? [] : [[list, entries.filter(({ name }) => known.has(name))]];
  });
  return { ...status, ...Object.fromEntries(lists) };
}

/**
 * The status without the health of devices: an API server rejects it where a container's own resources do not name the
 * device, because a policy or the target's admission has changed them. Undefined where there is none.
 */
export function withoutDevices(status: PodStatus): PodStatus | undefined {
  const lists = STATUS_LISTS.filter((list) => status[list]?.some((one) => Object.hasOwn(one, DEVICES)) === true);
  if (lists.length === 0) return undefined;
  const rest = lists.map((list) => [list, status[list]?.map(({ [DEVICES]: _devices, ...one }: Devices) => one)]);
  return { ...status, ...Object.fromEntries(rest) };
}

/**
 * Conditions that kubelets and kube-schedulers write; on a proxy pod they are the target's. All others may be the
 * source's own.
 */
export const TARGET_CONDITIONS: ReadonlySet<string> = new Set([
  'PodScheduled',
  'PodReadyToStartContainers', 'Initialized', 'ContainersReady', 'Ready', 'PodResizePending', 'PodResizeInProgress',
  'AllContainersRestarting',
]);

/** Conditions of a proxy pod from controllers of the source: readiness gates, DisruptionTarget. */
export function sourceConditions(conditions: readonly Condition[] | undefined): readonly Condition[] {
  return conditions?.filter(({ type }) => !TARGET_CONDITIONS.has(type)) ?? [];
}

/**
 * The status with the conditions that it lacks: a list is written as a whole, and must not remove conditions of the
 * source.
 */
export function withSourceConditions(status: PodStatus, kept: readonly Condition[]): PodStatus {
  const types = new Set(status.conditions?.map(({ type }) => type));
  const missing = kept.filter(({ type }) => !types.has(type));
  return missing.length === 0 ? status : { ...status, conditions: [...(status.conditions ?? []), ...missing] };
}

/** The merge patch that sets exactly this copied status: fields that it lacks are removed. */
export function toStatusPatch(copied: PodStatus): Readonly<Record<string, unknown>> {
  return Object.fromEntries(MIRRORED_FIELDS.map((field) => [field, copied[field] ?? null]));
}

/**
 * A short text that is equal for equal statuses. Field order and null fields make no difference: an API server prints a
 * pod's fields in the order of its Go struct, with null for unset times, and a custom resource's sorted, without.
 */
export function digestOf(status: PodStatus): string {
  return hash('sha1', canonicalJson(status), 'base64');
}
