// Results of admission, and its context apart from the object itself.
import type { PatchOperation } from './json-patch.ts';

/** Admission settings of the installation. */
export interface AdmissionContext {
  /** Whether proxy pods get a copy of their source manifest, as Admiralty writes it, for tools that read it. */
  readonly writesManifest?: boolean | undefined;
}

/** A rejection: `reason` in CamelCase, `message` with what to change. */
export interface Denial {
  readonly kind: 'deny';
  readonly reason: string;
  readonly message: string;
}

/** The result for an object: ignore it, patch it (an empty patch changes nothing), or deny it. */
export type Admission =
  | { readonly kind: 'pass' }
  | { readonly kind: 'mutate'; readonly patch: readonly PatchOperation[]; readonly warnings: readonly string[] }
  | Denial;

/** Builds a denial. */
export function deny(reason: string, message: string): Denial {
  return { kind: 'deny', reason, message };
}
