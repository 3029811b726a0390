// The words in which admission answers, and what it knows beside the pod itself.
import type { PatchOperation } from './json-patch.ts';

/** What the installation says about admission. */
export interface AdmissionContext {
  /** Whether proxy pods get a copy of their source pod, as Admiralty writes it, for tools that read it. */
  readonly writesManifest?: boolean | undefined;
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
