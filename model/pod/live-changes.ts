// Changes of a running pod (Kubernetes "Pod update and replacement"; KEP-1287) that are copied from a proxy to its
// delegate: images, activeDeadlineSeconds, added tolerations, in-place container resources, labels, and the conditions
// of readiness gates that the source owns. Only what the user changed after the binding is copied, and once: changes by
// the target's own admission are not reverted.
import { hash } from 'node:crypto';
import type { Condition, Container, Pod, PodSpec, ResourceRequirements, Toleration } from '../../api/objects/core.ts';
import {
  SENT_CHANGES_ANNOTATION, PROVIDER_KEY, PROXY_CONSTRAINTS_ANNOTATION, SPEC_AT_BIND_ANNOTATION,
} from '../../api/objects/keys.ts';
import { PODS } from '../../api/resource-types.ts';
import { findCondition } from '../objects/conditions.ts';
import type { Plan } from '../objects/plan.ts';
import { parsedRecord } from '../objects/json-values.ts';
import { RESERVED_LABELS } from './pod.ts';

/**
 * Changes to a running pod; missing fields are unchanged. Containers and conditions are identified by name and type.
 */
export interface LiveChanges {
  readonly images?: Readonly<Record<string, string>>;
  readonly resources?: Readonly<Record<string, ResourceRequirements>>;
  /** Of the pod as a whole. */
  readonly podResources?: ResourceRequirements;
  readonly activeDeadlineSeconds?: number;
  /** Added tolerations. */
  readonly tolerations?: readonly Toleration[];
  /** Conditions of readiness gates. */
  readonly gates?: ReadinessConditions;
  /** By key, of the source pod or, once sent, of its delegate; null removes one. */
  readonly labels?: Readonly<Record<string, string | null>>;
}

/** Conditions by type. */
export type ReadinessConditions = Readonly<Record<string, Pick<Condition, 'status' | 'reason' | 'message'>>>;

/** Changes sent to a target; `of` identifies the state of the proxy that they bring the delegate to. */
export interface SentChanges {
  readonly of: string;
  readonly changes: LiveChanges;
}

/** Identifies the state of a proxy as far as it is copied; empty when nothing has changed. */
export function stateOf(changes: LiveChanges): string {
  return Object.keys(changes).length === 0 ? '' : hash('sha1', JSON.stringify(changes), 'base64url').slice(0, 16);
}

/** The conditions of a proxy that its readiness gates name; undefined without any. */
export function readinessConditionsOf({ spec, status }: Pod): ReadinessConditions | undefined {
  if (spec.readinessGates === undefined || spec.readinessGates.length === 0) return undefined;
  return Object.fromEntries(spec.readinessGates.flatMap(({ conditionType: type }) => {
    const condition = findCondition(status?.conditions, type);
    if (condition === undefined) return [];
    const { status: is, reason, message } = condition;
    return [[type, { status: is, ...(reason !== undefined && { reason }), ...(message !== undefined && { message }) }]];
  }));
}

/**
 * The changes together with those that were sent before and have been reverted since: for these, the current values of
 * `proxy`, whose labels have the keys of its delegate. The condition of a readiness gate that is gone becomes False,
 * and stays the source's.
 */
export function withReverted(changes: LiveChanges, before: LiveChanges, { metadata, spec }: Pod): LiveChanges {
  const now = <F extends 'image' | 'resources'>(field: F, names: object = {}) =>
    Object.fromEntries(containersOf(spec).flatMap(
      ({ name, [field]: value }) => (Object.hasOwn(names, name) && value !== undefined ? [[name, value]] : []),
    ));
  const images = { ...now('image', before.images), ...changes.images };
  const resources = { ...now('resources', before.resources), ...changes.resources };
  const closed = Object.keys(before.gates ?? {}).map((type) => [type, { status: 'False' }] as const);
  const gates: ReadinessConditions = { ...Object.fromEntries(closed), ...changes.gates };
  const sent = Object.keys(before.labels ?? {}).map((key) => [key, metadata.labels?.[key] ?? null]);
  const labels = { ...Object.fromEntries(sent), ...changes.labels };
  const all = Object.entries({ images, resources, gates, labels }).filter(([, values]) => !isEmpty(values));
  const podResources = before.podResources && spec.resources;
  return { ...(podResources && { podResources }), ...changes, ...Object.fromEntries(all) };
}

type Labels = NonNullable<Pod['metadata']['labels']>;

/**
 * Digests of the mutable parts of a pod: image and resources of each container by name, resources of the pod as a
 * whole, each toleration, and each label by its key. Older versions have written none of labels.
 */
interface SpecDigests {
  readonly containers: Readonly<Record<string, readonly [image: string, resources: string]>>;
  readonly resources?: string;
  readonly activeDeadlineSeconds?: number;
  readonly tolerations: readonly string[];
  readonly labels?: Labels;
}

/** {@link SpecDigests} as text: stored with the Binding to detect later changes. */
export function specDigests(spec: PodSpec, labels?: Labels): string {
  const { activeDeadlineSeconds, resources, tolerations = [] } = spec;
  const digests: SpecDigests = {
    containers: Object.fromEntries(
      containersOf(spec).map(({ name, image, resources }) => [name, [digestOf(image), digestOf(resources)]]),
    ),
    ...(resources !== undefined && { resources: digestOf(resources) }),
    ...(activeDeadlineSeconds !== undefined && { activeDeadlineSeconds }),
    tolerations: tolerations.map((toleration) => digestOf(textOf(toleration))),
    ...(labels && { labels: Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, digestOf(value)])) }),
  };
  return JSON.stringify(digests);
}

/** Digests of texts that were met before: pods of one template have the same, and each event of a pod asks for them. */
const known = new Map<string, string>();
/** Longer texts are not remembered. In characters. */
const MAX_KNOWN_LENGTH = 256;
const MAX_KNOWN = 1_024;

/** 48 bits distinguish the values of one pod. */
function digestOf(value: unknown): string {
  const text = JSON.stringify(value ?? null);
  const before = known.get(text);
  if (before !== undefined) return before;
  const digest = hash('sha1', text, 'base64url').slice(0, 8);
  if (text.length > MAX_KNOWN_LENGTH) return digest;
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(text, digest);
  return digest;
}

function readDigests(text: string | undefined): SpecDigests | undefined {
  // none, or one digest of everything, as older versions wrote it
  const { containers, tolerations, ...rest } = parsedRecord(text ?? '') as Partial<SpecDigests>;
  if (typeof containers !== 'object' || containers === null || !Array.isArray(tolerations)) return undefined;
  return { containers, tolerations, ...rest };
}

/** What separates keys of taints in JSON and in YAML. */
const NOT_IN_KEYS = /[^\w./-]+/;

/** Changes of a bound proxy pod and its labels since its binding, without gates; undefined for most pods. */
export function specChangesOf({ metadata: { annotations = {} }, spec }: Pod, labels: Labels): LiveChanges | undefined {
  const before = readDigests(annotations[SPEC_AT_BIND_ANNOTATION]);
  if (before === undefined || annotations[SPEC_AT_BIND_ANNOTATION] === specDigests(spec, labels)) return undefined;
  // A toleration by which the cluster was chosen may be for virtual nodes only: the annotation names its key.
  const named = (annotations[PROXY_CONSTRAINTS_ANNOTATION] ?? '').split(NOT_IN_KEYS);
  const tolerations = addedTolerations(before, spec).filter(({ key = '' }) => key === '' || !named.includes(key));
  const changes = {
    ...containerChanges(before, spec), ...(tolerations.length > 0 && { tolerations }), ...labelChanges(before, labels),
  };
  return isEmpty(changes) ? undefined : changes;
}

function containerChanges(before: SpecDigests, now: PodSpec): LiveChanges {
  const { activeDeadlineSeconds, resources: podResources } = now;
  const [images, resources] = [changedOf(before, now, 'image'), changedOf(before, now, 'resources')];
  const hasNewDeadline = activeDeadlineSeconds !== undefined && activeDeadlineSeconds !== before.activeDeadlineSeconds;
  return {
    ...(Object.keys(images).length > 0 && { images }),
    ...(Object.keys(resources).length > 0 && { resources }),
    ...(isPodResized(before, now) && { podResources }),
    ...(hasNewDeadline && { activeDeadlineSeconds }),
  };
}

function labelChanges({ labels: before }: SpecDigests, now: Labels): Pick<LiveChanges, 'labels'> {
  if (before === undefined) return {};
  const removed = Object.keys(before).filter((key) => !Object.hasOwn(now, key)).map((key) => [key, null] as const);
  const labels = [...removed, ...Object.entries(now).filter(([key, value]) => before[key] !== digestOf(value))];
  return labels.length === 0 ? {} : { labels: Object.fromEntries(labels) };
}

function isPodResized({ resources: before }: SpecDigests, { resources }: PodSpec): boolean {
  return before !== undefined && resources !== undefined && before !== digestOf(resources);
}

function changedOf<F extends 'image' | 'resources'>(
  before: SpecDigests, now: PodSpec, field: F,
): Record<string, NonNullable<Container[F]>> {
  return Object.fromEntries(containersOf(now).flatMap(({ name, [field]: value }) => {
    const known =
      Object.hasOwn(before.containers, name) ? before.containers[name]?.[field === 'image' ? 0 : 1] : undefined;
    return known !== undefined && value !== undefined && known !== digestOf(value) ? [[name, value]] : [];
  }));
}

function containersOf({ containers, initContainers = [] }: PodSpec): readonly Container[] {
  return [...containers, ...initContainers];
}

/**
 * Tolerations that admission adds to proxies, or to every pod (plugin DefaultTolerationSeconds), are not the user's.
 */
const NOT_THE_USERS: ReadonlySet<string> = new Set([
  PROVIDER_KEY,
  'node.kubernetes.io/network-unavailable', 'node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable',
]);

function addedTolerations({ tolerations: before }: SpecDigests, { tolerations = [] }: PodSpec): readonly Toleration[] {
  return tolerations.filter(
    (toleration) => !before.includes(digestOf(textOf(toleration))) && !NOT_THE_USERS.has(toleration.key ?? ''),
  );
}

function textOf({ key = '', operator = 'Equal', value = '', effect = '', tolerationSeconds }: Toleration): string {
  return JSON.stringify([key, operator, value, effect, tolerationSeconds]);
}

/** The text of the annotation with the changes. */
export function writeSentChanges(sent: SentChanges): string {
  return JSON.stringify(sent);
}

/** Parses {@link writeSentChanges}; undefined for any other text. */
export function readSentChanges(text: string | undefined): SentChanges | undefined {
  const { of, changes } = parsedRecord(text ?? '') as Partial<SentChanges>;
  return typeof of === 'string' && typeof changes === 'object' && changes !== null ? { of, changes } : undefined;
}

/**
 * Applies changes to the current delegate. The annotation that records them is written last, so that an interrupted
 * plan is repeated. It is written together with the conditions of readiness gates: a delegate never shows such a
 * condition without a record that it is the source's. A delegate with the annotation is not changed.
 */
export function planLiveChanges(pod: Pod, text: string): Plan {
  const { namespace, name = '', uid, annotations } = pod.metadata;
  if (annotations?.[SENT_CHANGES_ANNOTATION] === text) return [];
  const changes = changesIn(text);
  const before = changesIn(annotations?.[SENT_CHANGES_ANNOTATION]);
  const patch = (object: object, subresource?: 'resize' | 'status'): Plan[number] => ({
    kind: 'patch',
    type: PODS, at: { namespace, name, ...(subresource && { subresource }) }, patchType: 'strategic', patch: object,
  });
  const resources = {
    ...containerPatch(pod, since(before.resources, changes.resources), 'resources'),
    ...since({ resources: before.podResources }, { resources: changes.podResources }),
  };
  const specs = changedSpecs(pod, before, changes);
  const conditions = changedConditions(pod, changes.gates);
  const metadata = { uid, annotations: { [SENT_CHANGES_ANNOTATION]: text } };
  const resized = isEmpty(resources) ? [] : [patch({ metadata: { uid }, spec: resources }, 'resize')];
  const labels = Object.entries(since(before.labels, changes.labels)).filter(([key]) => !RESERVED_LABELS.has(key));
  const labelled = labels.length === 0 ? [] : [patch({ metadata: { uid, labels: Object.fromEntries(labels) } })];
  const last = conditions.length === 0 ? (specs.pop() ?? {}) : undefined;
  const changed = specs.map((spec) => patch({ metadata: { uid }, spec }));
  const record =
    last === undefined ? patch({ metadata, status: { conditions } }, 'status') : patch({ metadata, spec: last });
  return [...resized, ...labelled, ...changed, record];
}

function changesIn(text: string | undefined): LiveChanges {
  return readSentChanges(text)?.changes ?? {};
}

/** Each field by itself: what the target rejects must keep back nothing else. */
function changedSpecs(pod: Pod, before: LiveChanges, changes: LiveChanges): Partial<PodSpec>[] {
  const images = containerPatch(pod, since(before.images, changes.images), 'image');
  const others = Object.entries(otherFields(pod, before, changes)).map(([field, value]) => ({ [field]: value }));
  return [images as Partial<PodSpec>, ...others].filter((spec) => !isEmpty(spec));
}

/** Only values that differ from those already sent: whatever the target did with these is kept. */
function since(
  before: Readonly<Record<string, unknown>> = {}, values: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(values).filter(([name, value]) => JSON.stringify(before[name]) !== JSON.stringify(value)),
  );
}

function isEmpty(fields: object): boolean {
  return Object.keys(fields).length === 0;
}

/** The conditions of declared readiness gates whose status is not yet the wanted one. */
function changedConditions({ spec, status }: Pod, gates: ReadinessConditions = {}): readonly Partial<Condition>[] {
  const declared = (spec.readinessGates ?? []).map(({ conditionType }) => conditionType);
  return Object.entries(gates).flatMap(([type, wanted]) => {
    const isShown = findCondition(status?.conditions, type)?.status === wanted.status;
    return declared.includes(type) && !isShown ? [{ ...wanted, type }] : [];
  });
}

function otherFields(
  { spec }: Pod, before: LiveChanges, { activeDeadlineSeconds, tolerations = [] }: LiveChanges,
): Partial<PodSpec> {
  const known = new Set([...(spec.tolerations ?? []), ...(before.tolerations ?? [])].map(textOf));
  const added = tolerations.filter((toleration) => !known.has(textOf(toleration)));
  const hasNewDeadline = activeDeadlineSeconds !== undefined && activeDeadlineSeconds !== before.activeDeadlineSeconds;
  return {
    ...(hasNewDeadline && { activeDeadlineSeconds }),
    ...(added.length > 0 && { tolerations: [...(spec.tolerations ?? []), ...added] }),
  };
}

/** Lists of containers with the one field; strategic merge finds containers by name. */
function containerPatch(
  { spec }: Pod, values: Readonly<Record<string, unknown>> = {}, field: 'image' | 'resources',
): Partial<Record<'containers' | 'initContainers', readonly object[]>> {
  const of = (containers: readonly Container[] = []) =>
    containers.flatMap(({ name }) => (Object.hasOwn(values, name) ? [{ name, [field]: values[name] }] : []));
  const [containers, initContainers] = [of(spec.containers), of(spec.initContainers)];
  return { ...(containers.length > 0 && { containers }), ...(initContainers.length > 0 && { initContainers }) };
}
