// The writes that a decision requires, as data. Only kubernetes/controller/execute-plan.ts executes them, so a dry run
// is free.
import type { Binding, KubernetesObject, ObjectMeta } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';

/** A part of an object with a path of its own. */
export type Subresource = 'status' | 'binding' | 'eviction' | 'token' | 'log' | 'resize';

/** The write requires this object in this version (`meta/v1` Preconditions). */
export interface Preconditions {
  readonly uid: string;
  readonly resourceVersion?: string;
}

/** An object, or a subresource of it; `namespace` is missing for cluster-scoped resources. */
export interface ObjectRef {
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly subresource?: Subresource | undefined;
}

/** `merge` replaces lists (RFC 7386); `strategic` merges conditions by their type, for built-in kinds only. */
export type PatchType = 'merge' | 'strategic';

/**
 * One write. Patches include `metadata.resourceVersion` or, if any version will do, `metadata.uid`: API servers check
 * both.
 */
export type Command =
  | { readonly kind: 'create'; readonly type: ResourceType; readonly object: KubernetesObject }
  | { readonly kind: 'bind'; readonly binding: Binding }
  /** Server-side apply that takes ownership of conflicting fields. */
  | {
    readonly kind: 'apply'; readonly type: ResourceType; readonly object: KubernetesObject;
    readonly fieldManager: string
  }
  | {
    readonly kind: 'patch'; readonly type: ResourceType; readonly at: ObjectRef; readonly patchType: PatchType;
    readonly patch: object
  }
  | {
      readonly kind: 'delete';
      readonly type: ResourceType;
      readonly at: ObjectRef;
      readonly preconditions: Preconditions;
      readonly propagation: 'Background' | 'Foreground';
      /** Grace period in seconds; the object's own when missing. */
      readonly gracePeriodSeconds?: number;
    };

/** Writes in order; after a failure the rest is skipped. */
export type Plan = readonly Command[];

/** Deletes this object and no later one of its name; what it owns follows. */
export function deletion(
  type: ResourceType, { namespace, name = '', uid = '' }: Pick<ObjectMeta, 'namespace' | 'name' | 'uid'>,
): Extract<Command, { readonly kind: 'delete' }> {
  return { kind: 'delete', type, at: { namespace, name }, preconditions: { uid }, propagation: 'Background' };
}

/** The plan that does nothing. */
export const NOTHING: Plan = [];
