// The words in which admission answers, and what it knows beside the pod itself.
import type { KubernetesObject, Pod } from '../api/core.ts';
import type { SigningKeys } from '../model/manifest-signature.ts';

/** What a request says about a pod that the pod does not say itself, and the keys for its manifest. */
export interface AdmissionContext {
  readonly namespace: string;
  /** Who creates the pod. */
  readonly user: string;
  readonly keys: SigningKeys;
  /** The pod's JSON as it came; made from the pod where it is missing. */
  readonly text?: string | undefined;
}

/** A refusal: `reason` in CamelCase from the files beside this one, `message` with what to change. */
export interface Denial {
  readonly kind: 'deny';
  readonly reason: string;
  readonly message: string;
}

/** What admission does with an object: leave it alone, put another one in its place, or refuse it. */
export type Admission<T extends KubernetesObject = Pod> =
  | { readonly kind: 'pass' }
  | { readonly kind: 'mutate'; readonly object: T; readonly warnings: readonly string[] }
  | Denial;

/** A refusal. */
export function deny(reason: string, message: string): Denial {
  return { kind: 'deny', reason, message };
}
