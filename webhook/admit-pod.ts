// Step 1 of a pod's way: is this pod elected, and may it be?
import { DELEGATE_FINALIZER, ELECT_ANNOTATION, OWN_PREFIX, PARENT_UID_LABEL, PROXY_SCHEDULER, SOURCE_MANIFEST_ANNOTATION } from '../api/keys.ts';
import type { Pod } from '../api/core.ts';
import { isElected } from '../model/pod.ts';
import { toProxyPod } from './proxy-pod.ts';

/** What admission does with a pod: leave it alone, replace it by its proxy, or refuse it with a reason. */
export type Admission =
  | { readonly kind: 'pass' }
  | { readonly kind: 'mutate'; readonly pod: Pod }
  | { readonly kind: 'deny'; readonly reason: string; readonly message: string };

type Denial = Extract<Admission, { kind: 'deny' }>;
type Check = (pod: Pod) => Denial | undefined;

/** Why an elected pod is refused, first match wins. */
const CHECKS: readonly Check[] = [
  isAlreadyDelegate, // a delegate never travels on: no loops
  carriesForgedManifest, // only the webhook may say what the user's manifest was
  hasNodeAlready, // a pod with a node is past scheduling
];

/** Decides about a pod as the API server sent it. */
export function admitPod(pod: Pod): Admission {
  if (!isElected(pod)) return { kind: 'pass' };
  for (const check of CHECKS) {
    const denial = check(pod);
    if (denial !== undefined) return denial;
  }
  return { kind: 'mutate', pod: toProxyPod(pod) };
}

function isAlreadyDelegate(pod: Pod): Denial | undefined {
  if (pod.metadata.labels?.[PARENT_UID_LABEL] === undefined) return undefined;
  return deny('AlreadyDelegate', `label ${PARENT_UID_LABEL} marks a delegate pod, which cannot be elected again; remove the label or the annotation ${ELECT_ANNOTATION}`);
}

function carriesForgedManifest(pod: Pod): Denial | undefined {
  const { annotations, finalizers } = pod.metadata;
  if (annotations?.[SOURCE_MANIFEST_ANNOTATION] !== undefined || finalizers?.includes(DELEGATE_FINALIZER)) {
    return deny('ReservedKey', `${SOURCE_MANIFEST_ANNOTATION} and finalizer ${DELEGATE_FINALIZER} are written by Isthmus; remove keys with prefix ${OWN_PREFIX} other than those documented for users`);
  }
  if (pod.spec.schedulerName === PROXY_SCHEDULER) {
    return deny('ReservedScheduler', `schedulerName ${PROXY_SCHEDULER} is set by Isthmus; remove it, or name the scheduler that the target cluster is to use`);
  }
  return undefined;
}

function hasNodeAlready(pod: Pod): Denial | undefined {
  if (pod.spec.nodeName === undefined || pod.spec.nodeName === '') return undefined;
  return deny('NodeNameSet', `spec.nodeName is set, so the pod would never reach a target cluster; remove spec.nodeName or the annotation ${ELECT_ANNOTATION}`);
}

function deny(reason: string, message: string): Denial {
  return { kind: 'deny', reason, message };
}
