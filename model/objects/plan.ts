// What a decision wants done, as data. Only kubernetes/controller/execute-plan.ts turns commands into calls, so a dry run costs nothing.
import type { Binding, KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';

/** A part of an object with a path of its own. */
export type Subresource = 'status' | 'binding' | 'eviction' | 'token' | 'log' | 'resize';

/** The write happens only to this very object, in this very version (`meta/v1` Preconditions). */
export interface Preconditions {
  readonly uid: string;
  readonly resourceVersion?: string;
}

/** The object, or the subresource of it, that a command is about. */
export interface ObjectRef {
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly subresource?: Subresource | undefined;
}

/** `merge` replaces lists (RFC 7386); `strategic` merges conditions by their type, for built-in kinds only. */
export type PatchType = 'merge' | 'strategic';

/** One write. Patches carry `metadata.resourceVersion` or, where any version will do, `metadata.uid`: API servers check both. */
export type Command =
  | { readonly kind: 'create'; readonly type: ResourceType; readonly object: KubernetesObject }
  | { readonly kind: 'bind'; readonly binding: Binding }
  /** Server-side apply that takes over fields which others own. */
  | { readonly kind: 'apply'; readonly type: ResourceType; readonly object: KubernetesObject; readonly fieldManager: string }
  | { readonly kind: 'patch'; readonly type: ResourceType; readonly at: ObjectRef; readonly patchType: PatchType; readonly patch: object }
  | {
      readonly kind: 'delete';
      readonly type: ResourceType;
      readonly at: ObjectRef;
      readonly preconditions: Preconditions;
      readonly propagation: 'Background' | 'Foreground';
      /** Seconds that containers get to stop; the object's own when missing. */
      readonly gracePeriodSeconds?: number;
    };

/** Writes in order; a later one is not tried when an earlier one failed. */
export type Plan = readonly Command[];

/** The plan that does nothing. */
export const NOTHING: Plan = [];
