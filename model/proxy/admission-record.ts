// The record of the fields that admission replaced in an elected pod, stored on the proxy pod. The source pod is the
// stored proxy with these few fields restored. There is no second copy of the pod, so what the source's quotas,
// policies and other webhooks have admitted is what runs in the target. The record need not be trusted: it can only
// change how the delegate is scheduled within the target and which sidecars it gets.
import type { ObjectMeta, Pod, PodSpec, StringMap } from '../../api/objects/core.ts';
import {
  ADMISSION_RECORD_ANNOTATION,
  CANDIDATE_SCHEDULER, DELEGATE_FINALIZER, ADMIRALTY_PREFIX, PROXY_SCHEDULER, SOURCE_MANIFEST_ANNOTATION,
} from '../../api/objects/keys.ts';
import { knownShapeErrors } from '../pod/constraint-shapes.ts';
import { copiedAnnotationKeys } from './copied-annotations.ts';
import { userAnnotations } from '../pod/pod-annotations.ts';
import { isRecord, parsedJson } from '../objects/json-values.ts';
import { withOwnAtOptOuts, ownAtOptOuts } from './sidecar-opt-outs.ts';
import { restoreManifest } from './source-manifest.ts';

/** The spec fields that admission replaces, with the user's values; a missing one was not set. */
export type ReplacedFields = Pick<
  PodSpec, 'schedulerName' | 'nodeSelector' | 'tolerations' | 'affinity' | 'topologySpreadConstraints'
    | 'terminationGracePeriodSeconds'
>;

/** The record. Labels and annotations: the user's values at the opt-out keys of sidecar injectors. */
export interface AdmissionRecord {
  readonly spec: ReplacedFields;
  readonly labels?: StringMap | undefined;
  readonly annotations?: StringMap | undefined;
}

/** A source pod, or why the proxy's record is invalid. */
export type RestoredPod =
  | { readonly kind: 'restored'; readonly pod: Pod }
  | { readonly kind: 'invalid'; readonly message: string };

type ReadRecord =
  | { readonly kind: 'record'; readonly record: AdmissionRecord }
  | { readonly kind: 'invalid'; readonly message: string };

/** Names of the replaced fields, in the order of the record's text. */
const REPLACED_FIELDS = [
  'schedulerName',
  'nodeSelector', 'tolerations', 'affinity', 'topologySpreadConstraints', 'terminationGracePeriodSeconds',
] as const satisfies readonly (keyof ReplacedFields)[];
/** Spec fields that belong to the proxy: those, its node, and debug containers. */
const FIELDS_OF_THE_PROXY: ReadonlySet<string> = new Set([...REPLACED_FIELDS, 'nodeName', 'ephemeralContainers']);
/** Labels that a pod gets from its node when it is bound (KEP-4742). */
export const LABELS_OF_NODES = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region'];
/** Maximum length of a record in characters: the limit of all annotations of an object. */
const MAX_LENGTH = 256 * 1024;
/** Names of schedulers that only Isthmus gives to pods. */
export const RESERVED_SCHEDULERS: ReadonlySet<unknown> = new Set([PROXY_SCHEDULER, CANDIDATE_SCHEDULER]);

/** Whether a pod has a record. */
export function hasAdmissionRecord({ annotations = {} }: ObjectMeta): boolean {
  return Object.hasOwn(annotations, ADMISSION_RECORD_ANNOTATION);
}

/** The text of the record for a source pod; equal for equal recorded fields. */
export function writeAdmissionRecord({ metadata, spec }: Pod): string {
  const record: AdmissionRecord = {
    spec:
      Object.fromEntries(REPLACED_FIELDS.flatMap((field) => (spec[field] === undefined ? [] : [[field, spec[field]]]))),
    labels: ownAtOptOuts('labels', metadata.labels ?? {}),
    annotations: ownAtOptOuts('annotations', metadata.annotations ?? {}),
  };
  return JSON.stringify(record);
}

/**
 * The source pod of a stored proxy: the proxy, except for recorded fields and what Isthmus added. A proxy of an older
 * version, or of Admiralty, has a copy of the pod instead of a record; only the fields of a record are taken from it.
 */
export function restoreSourcePod({ metadata, spec, ...rest }: Pod): RestoredPod {
  const read = readRecordOf(metadata.annotations ?? {});
  if (read.kind === 'invalid') return read;
  const { record } = read;
  const { labels = {}, annotations, finalizers, ...others } = metadata;
  const ofSpec = Object.fromEntries(Object.entries(spec).filter(([field]) => !FIELDS_OF_THE_PROXY.has(field)));
  const ofOthers = finalizers?.filter((finalizer) => finalizer !== DELEGATE_FINALIZER) ?? [];
  // Before the binding nothing came from a node or a delegate, whatever a user writes: no annotation that a policy
  // requires may be dropped.
  const [ofNode, ofDelegate] =
    spec.nodeName === undefined ? [[], []] : [LABELS_OF_NODES, copiedAnnotationKeys(metadata) ?? []];
  const own = without(userAnnotations(annotations), ofDelegate);
  return {
    kind: 'restored',
    pod: {
      ...rest,
      metadata: {
        ...others,
        labels: withOwnAtOptOuts('labels', without(userLabels({ labels }), ofNode), record.labels),
        annotations: withOwnAtOptOuts('annotations', own, record.annotations),
        ...(ofOthers.length > 0 && { finalizers: ofOthers }),
      },
      spec: { ...ofSpec, ...record.spec } as PodSpec,
    },
  };
}

/** The labels of a proxy pod that are its user's, never those under our prefix: admission rejects them. */
export function userLabels({ labels = {} }: ObjectMeta): StringMap {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => !key.startsWith(ADMIRALTY_PREFIX)));
}

function without(map: StringMap, keys: readonly string[]): StringMap {
  return keys.length === 0 ? map : Object.fromEntries(Object.entries(map).filter(([key]) => !keys.includes(key)));
}

function readRecordOf(annotations: StringMap): ReadRecord {
  const text = annotations[ADMISSION_RECORD_ANNOTATION];
  if (text !== undefined) return readRecord(text);
  const manifest = annotations[SOURCE_MANIFEST_ANNOTATION];
  if (manifest === undefined) return invalid('is missing, so the pod did not pass the webhook');
  const restored = restoreManifest(manifest);
  return restored === undefined
    ? invalid('is missing, and the manifest next to it cannot be read')
    : readRecord(writeAdmissionRecord(restored));
}

function readRecord(text: string): ReadRecord {
  const value = text.length > MAX_LENGTH ? undefined : parsedJson(text);
  if (!isRecord(value) || !isRecord(value['spec'])) return invalid('is not what the webhook wrote');
  const spec = Object.fromEntries(REPLACED_FIELDS.flatMap(
    (field) => (isSet(value['spec'], field) ? [[field, (value['spec'] as Fields)[field]]] : []),
  ));
  const problem = problemOf(spec);
  if (problem !== undefined) return invalid(problem);
  const maps = { labels: textsOf(value['labels']), annotations: textsOf(value['annotations']) };
  return { kind: 'record', record: { spec, ...maps } };
}

type Fields = Readonly<Record<string, unknown>>;

function isSet(spec: unknown, field: string): boolean {
  return isRecord(spec) && Object.hasOwn(spec, field) && spec[field] !== null;
}

function problemOf(spec: Fields): string | undefined {
  const { schedulerName, terminationGracePeriodSeconds: seconds } = spec;
  if (schedulerName !== undefined && typeof schedulerName !== 'string') return 'must have a string in schedulerName';
  if (RESERVED_SCHEDULERS.has(schedulerName)) {
    return `names scheduler ${String(schedulerName)}, which only Isthmus uses`;
  }
  if (seconds !== undefined && !Number.isSafeInteger(seconds)) {
    return 'must have an integer in terminationGracePeriodSeconds';
  }
  return knownShapeErrors(spec)[0];
}

function textsOf(value: unknown): StringMap | undefined {
  if (!isRecord(value)) return undefined;
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

function invalid(what: string): { readonly kind: 'invalid'; readonly message: string } {
  return {
    kind: 'invalid',
    message:
      `annotation ${ADMISSION_RECORD_ANNOTATION} ${what}; delete the pod, and create it again from its own manifest`,
  };
}
