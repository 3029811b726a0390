// Plans `isthmus move`: a temporary PlacementPolicy requires the new target for pods like this one, and the pod is
// evicted; its controller recreates it there.
import type { Node, Pod } from '../../api/objects/core.ts';
import {
  EXPIRES_AFTER_ANNOTATION, MOVE_LABEL, PROXY_SCHEDULER, TARGET_READY_CONDITION, TRUE,
} from '../../api/objects/keys.ts';
import type { PlacementPolicy } from '../../api/kinds/placement-policy.ts';
import { restoreSourcePod, type RestoredPod } from '../../model/proxy/admission-record.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import { virtualNodeName } from '../../model/naming/names.ts';
import { isTerminal, isTerminating, labelsAlike } from '../../model/pod/pod.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import { HOST_NAME_LABEL } from '../../scheduler/snapshot/virtual-node-info.ts';
import { targetText } from '../clusters/cluster-flags.ts';
import { notElected } from '../output/not-elected.ts';

/** `isthmus move`: a pod, and the target that its replacement is to run in. */
export interface Move {
  readonly pod: Pod;
  readonly target: TargetRef;
  /** The target's virtual node, if there is one. */
  readonly node: Node | undefined;
  /** Recreate a pod that no controller would recreate. */
  readonly recreates: boolean;
  /** The policy is deleted by the scheduler after this, if the command cannot. In seconds. */
  readonly expiresAfter: number;
}

/** The plan. */
export type MovePlan =
  /** It already runs there. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'refuse'; readonly message: string }
  /** Its controller, by UID, recreates it. */
  | { readonly kind: 'evict'; readonly controller: string; readonly policy: PlacementPolicy }
  /** The command recreates it from its original manifest. */
  | { readonly kind: 'recreate'; readonly pod: Pod; readonly policy: PlacementPolicy };

/** Plans the move. `suffix` makes the policy's name unique. */
export function planMove(move: Move, suffix: string): MovePlan {
  const { pod, target, recreates } = move;
  const refusal = refusalOf(move);
  if (refusal !== undefined) return { kind: 'refuse', message: refusal };
  if (pod.spec.nodeName === virtualNodeName(target)) return { kind: 'nothing' };
  const restored = restoreSourcePod(pod);
  const policy = movePolicy(move, restored, suffix);
  const controller = pod.metadata.ownerReferences?.find((owner) => owner.controller === true)?.uid;
  if (controller !== undefined) return { kind: 'evict', controller, policy };
  if (!recreates) return {
    kind: 'refuse',
    message:
      `No controller would make pod ${nameOf(pod)} again. With --recreate it is deleted and recreated, which loses ` +
        'its local data.',
  };
  return restored.kind === 'restored'
    ? { kind: 'recreate', pod: anew(pod, restored.pod), policy }
    : { kind: 'refuse', message: `Pod ${nameOf(pod)} cannot be recreated: ${restored.message}` };
}

function refusalOf({ pod, target, node }: Move): string | undefined {
  if (pod.spec.schedulerName !== PROXY_SCHEDULER) {
    return notElected(nameOf(pod));
  }
  if (isTerminal(pod.status?.phase)) return `Pod ${nameOf(pod)} has ended.`;
  if (isTerminating(pod)) return `Pod ${nameOf(pod)} is being deleted.`;
  return refusalOfTarget(pod, target, node);
}

function refusalOfTarget(pod: Pod, target: TargetRef, node: Node | undefined): string | undefined {
  const to = targetText(target);
  if (target.kind === 'Target' && target.namespace !== pod.metadata.namespace) {
    return `Target ${to} is for pods of namespace ${target.namespace}, not of ${pod.metadata.namespace}.`;
  }
  return refusalOfNode(target, node);
}

/** Why no pod can go to a target now, by its virtual node; undefined when pods can. */
export function refusalOfNode(target: TargetRef, node: Node | undefined): string | undefined {
  const to = targetText(target);
  if (node === undefined) {
    return `Target ${to} has no virtual node: it does not exist, or has never been Ready. See "isthmus get targets".`;
  }
  if (node.spec?.unschedulable === true) return `Target ${to} is cordoned: run "isthmus uncordon ${to}" first.`;
  // Ready stays True while the target is lost
  const isTrue = (type: string): boolean => findCondition(node.status?.conditions, type)?.status === 'True';
  if (!isTrue('Ready') || !isTrue(TARGET_READY_CONDITION)) {
    return `Target ${to} is not Ready: see "isthmus get targets -o wide".`;
  }
  return undefined;
}

function movePolicy(
  { pod: { metadata }, target, node, expiresAfter }: Move, restored: RestoredPod, suffix: string,
): PlacementPolicy {
  const hostName = node?.metadata.labels?.[HOST_NAME_LABEL] ?? virtualNodeName(target);
  // Labels as created: a bound pod also has labels of its node, which the replacement gets only when bound (KEP-4742).
  const matchLabels = labelsAlike((restored.kind === 'restored' ? restored.pod : { metadata }).metadata.labels ?? {});
  return {
    metadata: {
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }), name: `isthmus-move-${suffix}`,
      labels: { [MOVE_LABEL]: TRUE }, annotations: { [EXPIRES_AFTER_ANNOTATION]: String(expiresAfter) },
    },
    spec: { podSelector: { matchLabels }, require: { matchLabels: { [HOST_NAME_LABEL]: hostName } } },
  };
}

/** The user's manifest, under the generated name. */
function anew({ metadata }: Pod, source: Pod): Pod {
  const { labels, annotations, finalizers } = source.metadata;
  const { namespace, name } = metadata;
  return {
    apiVersion: 'v1', kind: 'Pod',
    metadata: {
      ...(namespace !== undefined && { namespace }), ...(name !== undefined && { name }), ...(labels && { labels }),
      ...(annotations && { annotations }), ...(finalizers && { finalizers }),
    },
    spec: source.spec,
  };
}

function nameOf({ metadata }: Pod): string {
  return `${metadata.namespace}/${metadata.name}`;
}
