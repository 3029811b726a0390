// Plans the adoption of Admiralty 0.17's pods: its proxy pods and PodChaperons get the labels of Isthmus. No pod is
// created or deleted. Proxy pods without a target run nothing and are left to their users. Pure.
import {
  ADOPTED_DELEGATE_ANNOTATION, CANDIDATE_SCHEDULER, CHAPERON_FINALIZER, DELEGATE_FINALIZER,
  DELEGATE_NAME_ANNOTATION, HAS_FINALIZER_LABEL, TARGET_KEY_ANNOTATION, ADMIRALTY_PREFIX, PARENT_CLUSTER_LABEL,
  PARENT_UID_LABEL, SOURCE_WATCHES_PODS_ANNOTATION, TARGET_ANNOTATION, TRUE,
} from '../../api/objects/keys.ts';
import type { ObjectMeta, Pod } from '../../api/objects/core.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { POD_CHAPERONS, PODS } from '../../api/resource-types.ts';
import type { Command, Plan } from '../../model/objects/plan.ts';
import { isProxyPod, objectKey } from '../../model/pod/pod.ts';

/** State of both clusters, and the target. */
export interface AdoptionState {
  readonly proxies: readonly Pod[];
  readonly chaperons: readonly PodChaperon[];
  /** Pods of the target. */
  readonly delegates: readonly Pod[];
  /** `Kind/name` of the target, and its virtual node. */
  readonly target: { readonly key: string; readonly nodeName: string };
  /** Identity of the source: UID of its kube-system Namespace. */
  readonly sourceId: string;
  /** Admiralty still runs in the target: no controller there would remove our finalizer from a chaperon. */
  readonly isAdmiraltyThere?: boolean;
}

/** The writes for one proxy pod, those in the target first, so that nothing is assumed gone meanwhile. */
export interface Adoption {
  readonly pod: string;
  readonly inTarget: Plan;
  readonly inSource: Plan;
}

/** The writes, and the pods left to the user with the reason. */
export interface AdoptionPlan {
  readonly adoptions: readonly Adoption[];
  readonly left: readonly { readonly pod: string; readonly why: string }[];
}

/** Plans the adoption of all of Admiralty's proxy pods that run in the target. */
export function planAdoption(state: AdoptionState): AdoptionPlan {
  const answers = state.proxies.filter(isOwnedByAdmiralty).flatMap((proxy) => {
    const nodeName = proxy.spec.nodeName ?? '';
    return nodeName === '' || nodeName === state.target.nodeName ? [adoptionOf(proxy, state)] : [];
  });
  return {
    adoptions: answers.flatMap((answer) => ('inSource' in answer ? [answer] : [])),
    left: answers.flatMap((answer) => ('why' in answer ? [answer] : [])),
  };
}

/**
 * Our proxy pods have our finalizer from admission until their delegate is gone; one whose migration was rolled back
 * does not.
 */
function isOwnedByAdmiralty(pod: Pod): boolean {
  return isProxyPod(pod) && pod.metadata.finalizers?.includes(DELEGATE_FINALIZER) !== true;
}

function adoptionOf(
  proxy: Pod, { chaperons, delegates, target, sourceId, isAdmiraltyThere = false }: AdoptionState,
): Adoption | { readonly pod: string; readonly why: string } {
  const pod = objectKey(proxy.metadata);
  if ((proxy.spec.nodeName ?? '') === '') {
    return { pod, why: 'it has no target yet; delete it, so that it is recreated' };
  }
  if (proxy.metadata.deletionTimestamp !== undefined) {
    return { pod, why: "it is being deleted; remove Admiralty's finalizers once its delegate is gone" };
  }
  const own = chaperons.filter(
    ({ metadata }) =>
      metadata.namespace === proxy.metadata.namespace && metadata.labels?.[PARENT_UID_LABEL] === proxy.metadata.uid,
  );
  const [chaperon] =
    own.length > 1 ? own.filter(({ metadata }) => delegateOf(metadata, delegates)?.spec.nodeName) : own;
  if (chaperon === undefined) {
    return { pod, why: 'its PodChaperon is not in the target; delete the pod, so that it is recreated' };
  }
  const delegate = delegateOf(chaperon.metadata, delegates);
  return {
    pod,
    inTarget: [adoptedChaperon(chaperon, { sourceId, targetKey: target.key, needsFinalizer: !isAdmiraltyThere }), ...(
      delegate === undefined ? [] : [relabelled(delegate, sourceId)]
    )],
    inSource: [adopted(proxy, target.key, chaperon.metadata.name ?? '')],
  };
}

function delegateOf({ namespace, name }: ObjectMeta, delegates: readonly Pod[]): Pod | undefined {
  return delegates.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
}

interface AdoptedBy {
  readonly sourceId: string;
  /** Key of its target: another one may point to the same cluster, and would hold it to be bound elsewhere. */
  readonly targetKey: string;
  readonly needsFinalizer: boolean;
}

/** A delegate that is made again must find a scheduler: Admiralty's is gone. */
function adoptedChaperon({ metadata, spec }: PodChaperon, { sourceId, targetKey, needsFinalizer }: AdoptedBy): Command {
  const finalizers = [...new Set([...(metadata.finalizers ?? []), ...(needsFinalizer ? [CHAPERON_FINALIZER] : [])])];
  const changes = {
    labels: { [PARENT_CLUSTER_LABEL]: sourceId },
    annotations: { [SOURCE_WATCHES_PODS_ANNOTATION]: TRUE, [TARGET_KEY_ANNOTATION]: targetKey }, finalizers,
  };
  return labelled(
    POD_CHAPERONS, metadata, changes,
    spec.schedulerName === CANDIDATE_SCHEDULER ? { spec: { schedulerName: null } } : {},
  );
}

/** Without resourceVersion: kubelets write to it all the time. */
function relabelled({ metadata: { namespace, name = '', uid } }: Pod, sourceId: string): Command {
  return {
    kind: 'patch', type: PODS, at: { namespace, name }, patchType: 'merge',
    patch: { metadata: { uid, labels: { [PARENT_CLUSTER_LABEL]: sourceId } } },
  };
}

function adopted({ metadata }: Pod, target: string, delegate: string): Command {
  const others = (metadata.finalizers ?? []).filter((finalizer) => !finalizer.startsWith(ADMIRALTY_PREFIX));
  const annotations =
    { [TARGET_ANNOTATION]: target, [DELEGATE_NAME_ANNOTATION]: delegate, [ADOPTED_DELEGATE_ANNOTATION]: delegate };
  return labelled(PODS, metadata, {
    labels: { [HAS_FINALIZER_LABEL]: TRUE }, annotations, finalizers: [...others, DELEGATE_FINALIZER],
  });
}

function labelled(
  type: ResourceType, { namespace, name = '', resourceVersion }: ObjectMeta, changes: object, more: object = {},
): Command {
  return {
    kind: 'patch', type, at: { namespace, name }, patchType: 'merge',
    patch: { metadata: { resourceVersion, ...changes }, ...more },
  };
}
