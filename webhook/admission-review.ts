// AdmissionReview in, AdmissionReview out (Kubernetes "Dynamic Admission Control", admission.k8s.io/v1).
import type { Pod } from '../api/core.ts';
import { admitPod, type Admission } from './admit-pod.ts';
import { diffJson } from './json-patch.ts';

/** The part of a request that is looked at; `object` is the pod as the API server has it. */
export interface AdmissionRequest {
  readonly uid: string;
  readonly operation: string;
  readonly namespace?: string;
  readonly object: Pod;
}

/** The answer to one request. */
export interface AdmissionResponse {
  readonly uid: string;
  readonly allowed: boolean;
  readonly patchType?: 'JSONPatch';
  /** Base64 of a JSON patch. */
  readonly patch?: string;
  readonly status?: { readonly code: number; readonly reason: string; readonly message: string };
}

/** A review with its answer. */
export interface AnsweredReview {
  readonly apiVersion: string;
  readonly kind: 'AdmissionReview';
  readonly response: AdmissionResponse;
}

/** A parsed body: a request, or what is wrong with it. */
export type ParsedReview =
  | { readonly kind: 'review'; readonly apiVersion: string; readonly request: AdmissionRequest }
  | { readonly kind: 'invalid'; readonly message: string };

/** Reads the body of a review. Only its frame is checked: the API server has validated the pod. */
export function parseReview(body: unknown): ParsedReview {
  const review = asObject(body);
  const request = asObject(review?.['request']);
  const pod = asObject(request?.['object']);
  const apiVersion = review?.['apiVersion'];
  if (review?.['kind'] !== 'AdmissionReview' || typeof apiVersion !== 'string' || request === undefined) {
    return { kind: 'invalid', message: 'the body is no AdmissionReview with a request' };
  }
  if (typeof request['uid'] !== 'string' || asObject(pod?.['metadata']) === undefined || asObject(pod?.['spec']) === undefined) {
    return { kind: 'invalid', message: 'the request has no uid, or its object is no pod' };
  }
  return { kind: 'review', apiVersion, request: request as unknown as AdmissionRequest };
}

/** Answers a review of a pod. Anything but the creation of a pod passes. */
export function answerReview(apiVersion: string, request: AdmissionRequest): AnsweredReview {
  const admission: Admission = request.operation === 'CREATE' ? admitPod(request.object) : { kind: 'pass' };
  return { apiVersion, kind: 'AdmissionReview', response: toResponse(request, admission) };
}

function toResponse({ uid, object }: AdmissionRequest, admission: Admission): AdmissionResponse {
  switch (admission.kind) {
    case 'pass':
      return { uid, allowed: true };
    case 'deny':
      return { uid, allowed: false, status: { code: 403, reason: admission.reason, message: `isthmus: ${admission.message}` } };
    case 'mutate': {
      const patch = diffJson(object as unknown as Record<string, unknown>, admission.pod as unknown as Record<string, unknown>);
      return { uid, allowed: true, patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(patch)).toString('base64') };
    }
  }
}

function asObject(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Readonly<Record<string, unknown>>) : undefined;
}
