// The scheduling constraints that choose the cluster: from an annotation, or the pod's own where an annotation says so,
// or none.
import { parse } from 'yaml';
import { PROXY_CONSTRAINTS_ANNOTATION, USE_SPEC_CONSTRAINTS_ANNOTATION } from '../../api/objects/keys.ts';
import type { Pod, PodSpec, Toleration } from '../../api/objects/core.ts';
import { deny, type Denial } from '../review/admission-answer.ts';
import { AS_KUBECTL_READS } from '../../model/objects/yaml-limits.ts';
import {
  CONSTRAINT_FIELDS, isOtherPodSpecField, shapeErrors, withTexts,
} from '../../model/pod/constraint-shapes.ts';
import { clusterConstraintsOf, type ClusterConstraints } from '../../model/proxy/proxy-pod.ts';

/** The constraints of a source pod, with warnings for its user. */
export interface ConstraintsOfPod {
  readonly kind: 'constraints';
  readonly constraints: ClusterConstraints;
  readonly warnings: readonly string[];
}

/** Longest annotation in characters: far more than any constraints need, far less than would keep the parser busy. */
const MAX_LENGTH = 32_768;
const NONE: ConstraintsOfPod = { kind: 'constraints', constraints: {}, warnings: [] };
/**
 * Tolerations that the API server adds by default (apiserver `defaulttolerationseconds`); the user did not ask for
 * them.
 */
const DEFAULT_SECONDS = 300;

/** The constraints, or why they are invalid. */
export function constraintsOf(sourcePod: Pod): ConstraintsOfPod | Denial {
  const { annotations = {} } = sourcePod.metadata;
  const text = annotations[PROXY_CONSTRAINTS_ANNOTATION];
  if (text !== undefined) return parseConstraints(text);
  return Object.hasOwn(annotations, USE_SPEC_CONSTRAINTS_ANNOTATION)
    ? { ...NONE, constraints: ownConstraints(sourcePod.spec) }
    : NONE;
}

function ownConstraints(spec: PodSpec): ClusterConstraints {
  const { tolerations, ...others } = clusterConstraintsOf(spec);
  return {
    ...others, ...(tolerations && { tolerations: tolerations.filter((toleration) => !isDefaulted(toleration)) }),
  };
}

function isDefaulted({ key, operator, effect, tolerationSeconds }: Toleration): boolean {
  const isNodeCondition = key === 'node.kubernetes.io/not-ready' || key === 'node.kubernetes.io/unreachable';
  return isNodeCondition && operator === 'Exists' && effect === 'NoExecute' && tolerationSeconds === DEFAULT_SECONDS;
}

function parseConstraints(text: string): ConstraintsOfPod | Denial {
  if (text.length > MAX_LENGTH) return bad(`has ${text.length} characters; at most ${MAX_LENGTH} are allowed`);
  let value: unknown;
  try {
    value = withTexts(parse(text, { ...AS_KUBECTL_READS, maxAliasCount: 10, logLevel: 'error' }) ?? {});
  } catch (error) {
    const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'it cannot be read';
    return bad(`is not valid YAML: ${why}`);
  }
  const [problem] = shapeErrors(value, isOtherPodSpecField);
  if (problem !== undefined) return bad(problem);
  const entries = Object.entries(value as object);
  const ignored = entries.map(([field]) => field).filter(isOtherPodSpecField);
  const warnings = ignored.map(
    (field) => `annotation ${PROXY_CONSTRAINTS_ANNOTATION}: field ${field} does not affect the choice of a cluster ` +
      'and is ignored',
  );
  return {
    kind: 'constraints',
    constraints: Object.fromEntries(entries.filter(([field, set]) => CONSTRAINT_FIELDS.has(field) && set !== null)),
    warnings,
  };
}

function bad(problem: string): Denial {
  return deny(
    'BadConstraints',
    `annotation ${PROXY_CONSTRAINTS_ANNOTATION} ${problem}; it takes nodeSelector, tolerations, affinity and ` +
      `topologySpreadConstraints as in a pod's spec`,
  );
}
