// The cached form of a (Cluster)Target object.
import type { TargetSpec, TargetStatus } from '../api/kinds/cluster-target.ts';
import type { Problem } from './availability.ts';
import type { KubernetesObject, StringMap } from '../api/objects/core.ts';
import { LEFT_REGISTRY_ANNOTATION } from '../api/objects/keys.ts';
import { MAX_LABEL_LENGTH } from '../model/naming/names.ts';
import { targetRefOf, type TargetRef } from '../model/naming/target-ref.ts';
import { isSameJson } from '../model/objects/json-values.ts';

/** A cached target object. */
export interface TargetObject {
  readonly ref: TargetRef;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly finalizers: readonly string[];
  /** It is being deleted. */
  readonly terminating: boolean;
  /** In ms since the epoch. */
  readonly createdAt: number;
  readonly generation: number;
  readonly labels: StringMap;
  /** Its cluster is gone from the registry that it was discovered in. */
  readonly hasLeft: boolean;
  readonly spec: TargetSpec;
  readonly status: TargetStatus;
}

/** A ClusterTarget or a Target. */
export type TargetLike = KubernetesObject & { readonly spec: TargetSpec; readonly status?: TargetStatus };

/** Projects an object to its cached form. */
export function toTargetObject(object: TargetLike): TargetObject {
  const {
    uid = '', resourceVersion = '', finalizers = [], generation = 0, labels = {}, creationTimestamp = '',
    deletionTimestamp, annotations = {},
  } = object.metadata;
  return {
    ref: targetRefOf(object.metadata), uid, resourceVersion, finalizers,
    terminating: deletionTimestamp !== undefined,
    createdAt: Date.parse(creationTimestamp),
    generation, labels,
    hasLeft: annotations[LEFT_REGISTRY_ANNOTATION] !== undefined,
    spec: object.spec,
    status: object.status ?? {},
  };
}

/** Whether two states differ at most in measurements (free capacity, round trip), on which no listener acts. */
export function isSameButForMeasurements(one: TargetObject, other: TargetObject): boolean {
  return isSameJson(withoutMeasurements(one), withoutMeasurements(other));
}

function withoutMeasurements({ resourceVersion: _version, status, ...object }: TargetObject): object {
  const { free: _free, rtt: _rtt, ...rest } = status;
  return { ...object, status: rest };
}

/** Why a target that answers gets no new pods; undefined when it does. */
export function whyUnschedulable(
  { ref, terminating, hasLeft }: Pick<TargetObject, 'ref' | 'terminating' | 'hasLeft'>,
): Problem | undefined {
  if (terminating) return {
    reason: 'Removing', message: 'it is being removed; its pods are evicted first (spec.removalPolicy: Drain)',
  };
  if (ref.name.length > MAX_LABEL_LENGTH) return {
    reason: 'NameTooLong',
    message:
      `its name has more than ${MAX_LABEL_LENGTH} characters, which no label of its virtual node can have; create it ` +
        'again under a shorter one',
  };
  return hasLeft
    ? { reason: 'LeftRegistry', message: 'its cluster is gone from the registry that it was discovered in' }
    : undefined;
}

/** Whether two specs address the same cluster over the same connection and delegate alike; prices may differ. */
export function isSameConnection(one: TargetSpec, other: TargetSpec): boolean {
  const connectionOf = ({ self, kubeconfigSecret, gateway, delegation }: TargetSpec) =>
    JSON.stringify([delegation, self === true, kubeconfigSecret, gateway?.cluster]);
  return connectionOf(one) === connectionOf(other);
}
