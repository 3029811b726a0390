// Why an elected pod is denied: it could never run, or it sets what only Isthmus may write.
import {
  ELECT_ANNOTATION, HAS_FINALIZER_LABEL, NO_PREFIX_LABEL_REGEXP_ANNOTATION, ADMIRALTY_PREFIX, PARENT_CLUSTER_LABEL,
  PARENT_UID_LABEL, PROXY_CONSTRAINTS_ANNOTATION, SOURCE_MANIFEST_ANNOTATION, USE_SPEC_CONSTRAINTS_ANNOTATION,
} from '../../api/objects/keys.ts';
import type { Pod } from '../../api/objects/core.ts';
import { compileLabelPattern } from '../../model/objects/label-pattern.ts';
import { USER_POD_ANNOTATIONS } from '../../model/pod/pod-annotations.ts';
import { readPodGroup } from '../../model/pod/pod-group.ts';
import { controllerOf } from '../../model/pod/pod.ts';
import { hasAdmissionRecord, RESERVED_SCHEDULERS } from '../../model/proxy/admission-record.ts';
import { deny, type Denial } from '../review/admission-answer.ts';

type Check = (pod: Pod) => Denial | undefined;

/** Annotations under our prefix that a new pod may have: those of users, and that of `--write-source-manifest`. */
const ADMITTED_ANNOTATIONS: ReadonlySet<string> = new Set([...USER_POD_ANNOTATIONS, SOURCE_MANIFEST_ANNOTATION]);
const DELEGATE_LABELS = [PARENT_UID_LABEL, PARENT_CLUSTER_LABEL];

/** Checks of every elected pod; the first failure wins. */
const CHECKS: readonly Check[] = [
  denyDelegate, // a delegate is never delegated again: no loops
  denyReservedKeys, // annotations that Isthmus trusts must have been written by it
  denyNodeName, // a pod with a node is already scheduled
  denyDaemonSetPod, // a DaemonSet pod is bound to its node, and recreated until it runs there
  denyBothConstraintAnnotations, // ambiguous: which of them chooses the cluster?
  denyBadLabelPattern,
  denyBadGroup,
];

/** Why this pod is denied; undefined when it is admitted. */
export function checkElection(pod: Pod): Denial | undefined {
  for (const check of CHECKS) {
    const denial = check(pod);
    if (denial !== undefined) return denial;
  }
  return undefined;
}

/** Why a pod without an admission record is denied for having fields of a proxy pod. */
export function checkFirstAdmission({ metadata, spec }: Pod): Denial | undefined {
  if (Object.hasOwn(metadata.annotations ?? {}, SOURCE_MANIFEST_ANNOTATION)) {
    return deny(
      'ForeignManifest',
      `annotation ${SOURCE_MANIFEST_ANNOTATION} was written by the webhook of Admiralty, or copied from a proxy pod; ` +
        'create the pod from its own manifest, and remove the webhook of Admiralty if it is still installed ' +
        '("isthmus doctor" shows it)',
    );
  }
  if (spec.schedulerName === undefined || !RESERVED_SCHEDULERS.has(spec.schedulerName)) return undefined;
  return deny(
    'ReservedScheduler',
    `schedulerName ${spec.schedulerName} is set by Isthmus; remove it, or name the scheduler that the target cluster ` +
      'should use',
  );
}

function denyDelegate({ metadata }: Pod): Denial | undefined {
  const label = DELEGATE_LABELS.find((key) => Object.hasOwn(metadata.labels ?? {}, key));
  if (label === undefined) return undefined;
  return deny(
    'AlreadyDelegate',
    `label ${label} marks a delegate pod, which cannot be elected again; remove the label or the annotation ` +
      ELECT_ANNOTATION,
  );
}

/**
 * A copy of a proxy pod, for example from a backup, without the annotations that Isthmus wrote at the binding and
 * later: they do not describe the copy. The same object if the pod has none.
 */
export function withoutBindingAnnotations(pod: Pod): Pod {
  const { annotations = {} } = pod.metadata;
  if (!hasAdmissionRecord(pod.metadata) || !Object.keys(annotations).some(isReserved)) return pod;
  const kept = Object.entries(annotations).filter(([key]) => !isReserved(key));
  return { ...pod, metadata: { ...pod.metadata, annotations: Object.fromEntries(kept) } };
}

function isReserved(annotation: string): boolean {
  return isOurs(annotation) && !ADMITTED_ANNOTATIONS.has(annotation);
}

function denyReservedKeys({ metadata }: Pod): Denial | undefined {
  const annotation = Object.keys(metadata.annotations ?? {}).find(isReserved);
  if (annotation !== undefined) {
    return deny(
      'ReservedKey',
      `annotation ${annotation} is not for users; remove it. Users may set: ${[...USER_POD_ANNOTATIONS].join(', ')}`,
    );
  }
  const label = Object.keys(metadata.labels ?? {}).find((key) => isOurs(key) && key !== HAS_FINALIZER_LABEL);
  if (label === undefined) return undefined;
  return deny(
    'ReservedKey',
    `label ${label} is not for users, Isthmus writes the labels of prefix ${ADMIRALTY_PREFIX}; remove it`,
  );
}

function isOurs(key: string): boolean {
  return key.startsWith(ADMIRALTY_PREFIX);
}

function denyNodeName({ spec }: Pod): Denial | undefined {
  if (spec.nodeName === undefined || spec.nodeName === '') return undefined;
  return deny(
    'NodeNameSet',
    'spec.nodeName is set, so the pod would never reach a target cluster; remove spec.nodeName or the annotation ' +
      ELECT_ANNOTATION,
  );
}

function denyDaemonSetPod({ metadata }: Pod): Denial | undefined {
  const controller = controllerOf(metadata);
  if (controller?.kind !== 'DaemonSet') return undefined;
  return deny(
    'DaemonSetPod',
    `a pod of DaemonSet ${controller.name} belongs to one node of this cluster; remove the annotation ` +
      `${ELECT_ANNOTATION} from the DaemonSet's template`,
  );
}

function denyBothConstraintAnnotations({ metadata: { annotations = {} } }: Pod): Denial | undefined {
  const both = [PROXY_CONSTRAINTS_ANNOTATION, USE_SPEC_CONSTRAINTS_ANNOTATION];
  if (!both.every((key) => Object.hasOwn(annotations, key))) return undefined;
  return deny(
    'TwoConstraints',
    `${PROXY_CONSTRAINTS_ANNOTATION} and ${USE_SPEC_CONSTRAINTS_ANNOTATION} both say how to choose a cluster; remove ` +
      'one of them',
  );
}

function denyBadLabelPattern({ metadata: { annotations = {} } }: Pod): Denial | undefined {
  const expression = annotations[NO_PREFIX_LABEL_REGEXP_ANNOTATION];
  if (expression === undefined) return undefined;
  const pattern = compileLabelPattern(expression);
  return pattern.kind === 'pattern' ? undefined : deny(
    'BadLabelPattern', `annotation ${NO_PREFIX_LABEL_REGEXP_ANNOTATION} ${pattern.message}; correct or remove it`,
  );
}

function denyBadGroup({ metadata }: Pod): Denial | undefined {
  const reading = readPodGroup(metadata);
  return reading.kind === 'invalid' ? deny('BadPodGroup', `${reading.message}; correct or remove it`) : undefined;
}
