// The words in which admission answers, and what it knows beside the pod itself.
import type { SigningKeys } from '../model/manifest-signature.ts';
import type { PatchOperation } from './json-patch.ts';

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

/** What admission does with an object: leave it alone, change it (an empty patch changes nothing), or refuse it. */
export type Admission =
  | { readonly kind: 'pass' }
  | { readonly kind: 'mutate'; readonly patch: readonly PatchOperation[]; readonly warnings: readonly string[] }
  | Denial;

/** A refusal. */
export function deny(reason: string, message: string): Denial {
  return { kind: 'deny', reason, message };
}
