// Reviews for tests of the webhook: a pod in, the answer and the pod after its patch out, with keys that never change.
import jsonPatch from 'fast-json-patch';
import type { Pod } from '../../api/core.ts';
import { toSigningKeys, type SigningKeys } from '../../model/manifest-signature.ts';
import { admitPod } from '../../webhook/admit-pod.ts';
import type { Admission } from '../../webhook/admission.ts';
import { answerReview, parseReview, printReview, type AdmissionResponse } from '../../webhook/admission-review.ts';

/** Keys of these tests; the last one signs. */
export const KEYS = keysOf({ 'key-0001': 1, 'key-0002': 2 });
/** Who creates pods unless a test says otherwise. */
export const USER = 'system:serviceaccount:kube-system:replicaset-controller';

/** Keys that consist of one repeated byte each. */
export function keysOf(bytes: Readonly<Record<string, number>>): SigningKeys {
  const data = Object.entries(bytes).map(([id, byte]) => [id, Buffer.alloc(32, byte).toString('base64')]);
  return toSigningKeys(Object.fromEntries(data) as Record<string, string>)!;
}

/** Who asks, and where. */
export interface Asking {
  readonly user?: string;
  readonly namespace?: string;
  readonly keys?: SigningKeys;
}

/** The decision about a pod; `text` is its JSON as it came. */
export function admit(pod: Pod, { user = USER, namespace = pod.metadata.namespace ?? 'default', keys = KEYS }: Asking = {}, text?: string): Admission {
  return admitPod(pod, { user, namespace, keys, text });
}

/** A review of the creation of a pod, as an API server sends it. */
export function reviewOf(pod: unknown, request: object = {}, apiVersion = 'admission.k8s.io/v1'): object {
  return {
    kind: 'AdmissionReview',
    apiVersion,
    request: {
      uid: 'review-uid',
      kind: { group: '', version: 'v1', kind: 'Pod' },
      resource: { group: '', version: 'v1', resource: 'pods' },
      namespace: 'default',
      operation: 'CREATE',
      userInfo: { username: USER, groups: ['system:authenticated'] },
      object: pod,
      oldObject: null,
      dryRun: false,
      options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1' },
      ...request,
    },
  };
}

/** What came of a review: the response, its patch, and the pod after the patch. */
export interface Reviewed {
  readonly response: AdmissionResponse;
  readonly patch: readonly jsonPatch.Operation[];
  readonly pod: Pod;
}

/** Sends a pod through a review as bytes, and applies the patch by an implementation that is not ours. */
export function review(pod: Pod, asking: Asking = {}): Reviewed {
  const parsed = parseReview(JSON.stringify(reviewOf(pod, { namespace: asking.namespace ?? pod.metadata.namespace ?? 'default' })));
  if (parsed.kind !== 'review') throw new Error(`no review: ${JSON.stringify(parsed)}`);
  const answer = answerReview(parsed.apiVersion, parsed.request.uid, admit(parsed.request.object as Pod, asking, parsed.objectText));
  const { response } = JSON.parse(printReview(answer).toString()) as { response: AdmissionResponse };
  const patch = response.patch === undefined ? [] : (JSON.parse(Buffer.from(response.patch, 'base64').toString()) as jsonPatch.Operation[]);
  return { response, patch, pod: jsonPatch.applyPatch(structuredClone(pod), patch, true, true, false).newDocument };
}
