// Parses and answers AdmissionReviews (Kubernetes "Dynamic Admission Control", admission.k8s.io/v1 and v1beta1). A
// review with a uid always gets a response with it, whatever else is wrong.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { isRecord, parsedJson } from '../../model/objects/json-values.ts';
import { deny, type Admission } from './admission-answer.ts';
import { excessOf, frameOf } from './review-size.ts';

/** The fields of a request that are read; `object` is missing for a DELETE. */
export interface AdmissionRequest<T extends KubernetesObject = KubernetesObject> {
  readonly uid: string;
  readonly operation: string;
  readonly namespace?: string;
  readonly dryRun?: boolean;
  readonly object: T;
}

/** The answer to one request. */
export interface AdmissionResponse {
  readonly uid: string;
  readonly allowed: boolean;
  readonly patchType?: 'JSONPatch';
  /** Base64 of a JSON patch. */
  readonly patch?: string;
  /** Warnings shown to the user. */
  readonly warnings?: readonly string[];
  readonly status?: { readonly code: number; readonly reason: string; readonly message: string };
}

/** A review with its response. */
export interface ReviewResponse {
  readonly apiVersion: string;
  readonly kind: 'AdmissionReview';
  readonly response: AdmissionResponse;
}

/** A parsed body: a request about an object, one with a fixed response, or not a review. */
export type ParsedReview =
  | { readonly kind: 'review'; readonly apiVersion: string; readonly request: AdmissionRequest }
  | { readonly kind: 'answered'; readonly apiVersion: string; readonly uid: string; readonly admission: Admission }
  | { readonly kind: 'invalid'; readonly message: string };

/** Limits for pods, and for other objects with a spec. */
const POD_PARTS = ['metadata', 'spec'];
/** What follows the patch in a response: closing text of the string, the response and the review. */
const PATCH_END = '"}}';
const API_VERSIONS: ReadonlySet<unknown> = new Set(['admission.k8s.io/v1', 'admission.k8s.io/v1beta1']);
/** The API server truncates longer warnings (KEP-1693). */
const MAX_WARNING_LENGTH = 256;

/** Parses the body of a review. Only the envelope is checked: the API server has validated the object. */
export function parseReview(body: string, parts: readonly string[] = POD_PARTS): ParsedReview {
  const excess = excessOf(body);
  return excess === undefined ? readFrame(body, parts) : tooMuch(body, excess);
}

function readFrame(body: string, parts: readonly string[]): ParsedReview {
  const review = asObject(parsedJson(body));
  const request = asObject(review?.['request']);
  const apiVersion = review?.['apiVersion'];
  if (review?.['kind'] !== 'AdmissionReview' || !API_VERSIONS.has(apiVersion) || typeof request?.['uid'] !== 'string') {
    return {
      kind: 'invalid',
      message: `the body is not an AdmissionReview of ${[...API_VERSIONS].join(' or ')} with a request and its uid`,
    };
  }
  const admission = answerFromEnvelope(request, parts);
  if (admission !== undefined) {
    return { kind: 'answered', apiVersion: String(apiVersion), uid: request['uid'], admission };
  }
  return { kind: 'review', apiVersion: String(apiVersion), request: request as unknown as AdmissionRequest };
}

/** The response to a review that is too large to parse. Its user can act on it, so it is a normal denial. */
function tooMuch(body: string, excess: string): ParsedReview {
  const frame = frameOf(body);
  if (frame === undefined) return { kind: 'invalid', message: `the body ${excess}` };
  return {
    kind: 'answered', ...frame,
    admission: deny('TooManyValues', `the object ${excess}: move its data into a ConfigMap or Secret`),
  };
}

/** The response that follows from the envelope alone. */
function answerFromEnvelope(
  request: Readonly<Record<string, unknown>>, parts: readonly string[],
): Admission | undefined {
  if (request['operation'] === 'DELETE' || request['operation'] === 'CONNECT') return { kind: 'pass' };
  const object = asObject(request['object']);
  if (parts.every((part) => asObject(object?.[part]) !== undefined)) return undefined;
  return deny('BadRequest', `the object of the request has no ${parts.join(' or no ')}`);
}

/** The response to the request with this uid. An unchanged object gets no patch. */
export function answerReview(apiVersion: string, uid: string, admission: Admission): ReviewResponse {
  return { apiVersion, kind: 'AdmissionReview', response: toResponse(uid, admission) };
}

/**
 * The response as JSON bytes. A base64 patch needs no escaping, so it is inserted as it is: stringifying and encoding a
 * large response takes several times as long.
 */
export function printReview({ apiVersion, kind, response }: ReviewResponse): Buffer {
  const { patch, ...rest } = response;
  const frame = JSON.stringify({ apiVersion, kind, response: rest });
  if (patch === undefined) return Buffer.from(frame);
  const start = `${frame.slice(0, -2)},"patch":"`;
  const startLength = Buffer.byteLength(start);
  const bytes = Buffer.allocUnsafe(startLength + patch.length + PATCH_END.length);
  bytes.write(start, 'utf8');
  bytes.write(patch, startLength, 'latin1');
  bytes.write(PATCH_END, startLength + patch.length, 'latin1');
  return bytes;
}

/** The response to a request whose handling failed; `code` 500 marks it as our fault and not the user's. */
export function answerFailure(apiVersion: string, uid: string): ReviewResponse {
  const status = {
    code: 500, reason: 'InternalError',
    message: 'isthmus: the object could not be reviewed; see the log of the webhook',
  };
  return { apiVersion, kind: 'AdmissionReview', response: { uid, allowed: false, status } };
}

function toResponse(uid: string, admission: Admission): AdmissionResponse {
  switch (admission.kind) {
    case 'pass':
      return { uid, allowed: true };
    case 'deny':
      return {
        uid, allowed: false, status: { code: 403, reason: admission.reason, message: `isthmus: ${admission.message}` },
      };
    case 'mutate': {
      const { patch } = admission;
      const warnings = admission.warnings.map((warning) => `isthmus: ${warning}`.slice(0, MAX_WARNING_LENGTH));
      return {
        uid, allowed: true, ...(patch.length > 0 && { patchType: 'JSONPatch', patch: encodePatch(patch) }),
        ...(warnings.length > 0 && { warnings }),
      };
    }
  }
}

function encodePatch(patch: readonly object[]): string {
  return Buffer.from(JSON.stringify(patch)).toString('base64');
}

function asObject(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return isRecord(value) ? value : undefined;
}
