// What a pod's page and the table of pods show of a pod, from the pod alone and, where Headlamp can read it, from its
// delegate. Its annotations are texts of anyone who can change the pod.
import type { Pod } from '../../api/objects/core.ts';
import {
  DELEGATE_NAME_ANNOTATION, PARENT_NAME_ANNOTATION, PARENT_NAMESPACE_ANNOTATION, PARENT_UID_LABEL,
  PLACEMENT_ANNOTATION, TARGET_ANNOTATION,
} from '../../api/objects/keys.ts';
import { shortTargetName } from '../../model/naming/target-ref.ts';
import { isElected, isProxyPod } from '../../model/pod/pod.ts';
import { recordedDecision } from '../pod/recorded-decision.ts';
import { stagesOf, type TargetSide } from '../pod/stages.ts';
import { waitReasonOf } from '../pod/wait-reason.ts';
import type { RecordedDecision } from '../wire/placement-rows.ts';
import type { Stage, StageState } from '../wire/screens.ts';

/** How far a stage is, in words. */
export const STATE_TEXTS: Readonly<Record<StageState, string>> = {
  done: 'done', now: 'in progress', failed: 'stuck', unknown: 'not visible from here', later: 'not yet',
};

/** What a pod is to Isthmus. */
export type PodFacts =
  | { readonly kind: 'other' }
  /** The user elected it, and it runs here all the same. */
  | { readonly kind: 'missed' }
  /** It was sent here by a source; `source` is the `namespace/name` of the proxy pod there. */
  | { readonly kind: 'delegate'; readonly source: string }
  | ProxyFacts;

/** What is known of a proxy pod. */
interface ProxyFacts {
  readonly kind: 'proxy';
  /** Undefined until the scheduler has chosen one. */
  readonly target: string | undefined;
  /** Its virtual node. */
  readonly node: string | undefined;
  /** Name of the pod in the target; its namespace is the same. */
  readonly delegate: string | undefined;
  /** Why it waits, in a sentence. */
  readonly waits: string | undefined;
  readonly decision: RecordedDecision | undefined;
  /** The scheduler's record is there and cannot be read. */
  readonly isRecordBroken: boolean;
  readonly stages: readonly Stage[];
}

/** The facts of a pod; `delegate` is that of a proxy pod, where Headlamp has it. */
export function podFacts(pod: Pod, delegate?: Pod): PodFacts {
  const { annotations = {}, labels = {} } = pod.metadata;
  if (isProxyPod(pod)) return proxyFacts(pod, delegate);
  const parent = annotations[PARENT_NAME_ANNOTATION];
  if (labels[PARENT_UID_LABEL] !== undefined && parent !== undefined) {
    return { kind: 'delegate', source: `${annotations[PARENT_NAMESPACE_ANNOTATION] ?? ''}/${parent}` };
  }
  return { kind: isElected(pod) ? 'missed' : 'other' };
}

function proxyFacts(pod: Pod, delegate: Pod | undefined): ProxyFacts {
  const { annotations = {} } = pod.metadata;
  const [decision, waits] = [recordedDecision(pod), waitReasonOf(pod)];
  return {
    kind: 'proxy', target: targetOfPod(pod), node: pod.spec.nodeName, delegate: annotations[DELEGATE_NAME_ANNOTATION],
    waits: waits && `${waits.reason}: ${waits.message}`, decision,
    isRecordBroken: decision === undefined && annotations[PLACEMENT_ANNOTATION] !== undefined,
    stages: stagesOf(pod, targetSide(annotations[TARGET_ANNOTATION], delegate)),
  };
}

/** Without the delegate, what happens in the target is known as far as the proxy pod says it. */
function targetSide(target: string | undefined, delegate: Pod | undefined): TargetSide {
  if (target !== undefined && delegate !== undefined) return { kind: 'found', target, delegate };
  return {
    kind: 'unknown',
    unreadable: { what: 'the pod in its target', why: 'the cluster is not selected', advice: 'Select it in Headlamp.' },
  };
}

/** The target of a proxy pod: `NAME`, or `NAMESPACE/NAME` of a Target. */
export function targetOfPod(pod: Pod): string | undefined {
  const key = isProxyPod(pod) ? pod.metadata.annotations?.[TARGET_ANNOTATION] : undefined;
  return key === undefined ? undefined : shortTargetName(key);
}

/**
 * Whether a pod, of any cluster, has all that is recorded of the delegate of this proxy pod. Without its name, which
 * the Binding records, none has: anyone who may create pods can give one the label.
 */
export function isDelegateOf({ metadata: { labels, name, namespace } }: Pod, { metadata }: Pod): boolean {
  const known = metadata.annotations?.[DELEGATE_NAME_ANNOTATION];
  return known !== undefined && known === name && namespace === metadata.namespace
    && metadata.uid !== undefined && labels?.[PARENT_UID_LABEL] === metadata.uid;
}
