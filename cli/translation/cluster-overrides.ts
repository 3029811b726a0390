// Changes of a workload in some clusters become JSON patches on its delegate pods there.
import { ADMIRALTY_PREFIX } from '../../api/objects/keys.ts';
import { SCHEDULING_PATH, type PatchOperation, type PolicyOverride } from '../../api/placement/delegate-override.ts';
import type { Manifest } from './manifest.ts';
import { workloadKind } from './workloads.ts';

/** A change of one field of the workload. */
export interface FieldChange {
  /** `add`, `remove` or `replace`. */
  readonly op: string;
  /** JSON pointer, or names with dots between them. */
  readonly path: string;
  readonly value: unknown;
}

/** The operation on a delegate pod, or why there is none. */
export type Translated = { readonly kind: 'patch'; readonly operation: PatchOperation }
  | { readonly kind: 'none'; readonly why: string };

const OPERATIONS: ReadonlySet<string> = new Set(['add', 'remove', 'replace']);
const ANNOTATIONS = '/metadata/annotations/';

/** Translates a change of the workload into one of its pods. */
export function toPatchOperation(of: Pick<Manifest, 'group' | 'kind'>, { op, path, value }: FieldChange): Translated {
  if (!OPERATIONS.has(op)) return { kind: 'none', why: `the operation ${JSON.stringify(op)} is not known` };
  const pointer = toPointer(path);
  const template = (workloadKind(of)?.template ?? []).map((name) => `/${name}`).join('');
  if (!pointer.startsWith(`${template}/`)) {
    return { kind: 'none', why: 'it is not in the pod template, and only pods differ between targets' };
  }
  const inPod = pointer.slice(template.length);
  const isOwn = inPod.startsWith(ANNOTATIONS)
    && unescaped(inPod.slice(ANNOTATIONS.length)).startsWith(ADMIRALTY_PREFIX);
  if (!inPod.startsWith('/spec/') && (!inPod.startsWith(ANNOTATIONS) || isOwn)) {
    return { kind: 'none', why: 'of a pod, only the spec and annotations of applications can differ between targets' };
  }
  if (op === 'remove') return { kind: 'patch', operation: { op: 'remove', path: inPod } };
  return { kind: 'patch', operation: { op: op === 'add' ? 'add' : 'replace', path: inPod, value } };
}

/** Whether a change is that of `spec.replicas`. */
export function isReplicas(path: string): boolean {
  return toPointer(path) === '/spec/replicas';
}

/** Whether a PlacementPolicy may hold all of them. */
export function areOfScheduling(overrides: readonly PolicyOverride[]): boolean {
  return overrides.every(({ patch }) => patch.every(({ path }) => SCHEDULING_PATH.test(path)));
}

/** Old versions of KubeFed have `spec.template.spec` for `/spec/template/spec`. */
function toPointer(path: string): string {
  return path.startsWith('/') ? path : `/${path.replaceAll('.', '/')}`;
}

/** A token of a JSON pointer (RFC 6901) as the text that it stands for. */
function unescaped(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}
