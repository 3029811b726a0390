// Why an election has no effect, in the words of kubectl's warnings and of `isthmus lint`. Arguments may be expressions
// of an admission policy that are spliced into a text.
import {
  ELECT_ANNOTATION, NAMESPACE_ELECT_LABEL, NAMESPACE_ELECT_VALUE, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE,
} from './objects/keys.ts';

/** A label of a Namespace about elections. */
export interface ElectionLabel {
  readonly key: string;
  /** The value that says yes. */
  readonly value: string;
  /** Values that say no, and are no mistake. */
  readonly refusals: readonly string[];
}

/** Labels of Namespaces whose other values mean nothing. */
export const ELECTION_LABELS: readonly ElectionLabel[] = [
  { key: NAMESPACE_OPT_IN_LABEL, value: NAMESPACE_OPT_IN_VALUE, refusals: ['disabled', 'false'] },
  { key: NAMESPACE_ELECT_LABEL, value: NAMESPACE_ELECT_VALUE, refusals: ['none', 'false'] },
];

/** The label ELECT_ANNOTATION on pods. */
export const LABEL_ELECTS_NOTHING = `label ${ELECT_ANNOTATION} elects nothing: it has to be an annotation of the pods`;

/** The annotation on a workload of a kind. */
export function misplacedElection(kind: string): string {
  return `annotation ${ELECT_ANNOTATION} of a ${kind} elects nothing: it belongs in the annotations of the pod ` +
    'template';
}

/** An election in a namespace of Kubernetes or Isthmus. */
export function neverElected(namespace: string): string {
  return `pods of namespace ${namespace} are never elected, so they run in this cluster`;
}

/** An election in a namespace without label. */
export function notOptedIn(namespace: string): string {
  return `the pods ask to be elected, but namespace ${namespace} has not opted in, so they run in this cluster: ` +
    `kubectl label namespace ${namespace} ${NAMESPACE_OPT_IN_LABEL}=${NAMESPACE_OPT_IN_VALUE} --overwrite, then ` +
    'create them again';
}

/** A label of a Namespace with a meaningless value. */
export function meaninglessLabel({ key, value }: ElectionLabel, given: string): string {
  return `label ${key}=${given} has no effect: the value has to be ${value}`;
}
