// Reviews for tests of the webhook: a pod in, the answer and the pod after its patch out.
import jsonPatch from 'fast-json-patch';
import type { Pod } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION } from '../../../api/objects/keys.ts';
import { admitPod } from '../../../webhook/admission/admit-pod.ts';
import type { AdmissionContext } from '../../../webhook/review/admission-answer.ts';
import {
  answerReview, parseReview, printReview, type AdmissionResponse,
} from '../../../webhook/review/admission-review.ts';

/** Who creates pods unless a test says otherwise. */
const USER = 'system:serviceaccount:kube-system:replicaset-controller';

/** An elected pod that admission accepts. */
export const ELECTED_POD = {
  metadata: { name: 'web', namespace: 'default', annotations: { [ELECT_ANNOTATION]: '' } },
  spec: { containers: [{ name: 'c', image: 'i' }] },
};

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
export function review(pod: Pod, context: AdmissionContext = {}): Reviewed {
  const parsed = parseReview(JSON.stringify(reviewOf(pod, { namespace: pod.metadata.namespace ?? 'default' })));
  if (parsed.kind !== 'review') throw new Error(`no review: ${JSON.stringify(parsed)}`);
  const answer = answerReview(parsed.apiVersion, parsed.request.uid, admitPod(parsed.request.object as Pod, context));
  const { response } = JSON.parse(printReview(answer).toString()) as { response: AdmissionResponse };
  const patch = response.patch === undefined
    ? []
    : (JSON.parse(Buffer.from(response.patch, 'base64').toString()) as jsonPatch.Operation[]);
  return { response, patch, pod: jsonPatch.applyPatch(structuredClone(pod), patch, true, true, false).newDocument };
}
