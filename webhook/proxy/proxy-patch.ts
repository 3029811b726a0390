// The JSON patch that turns a pod into a proxy pod, computed directly from a proxy pod's fields: admission's hottest
// path builds no second pod to diff. It equals the diff between the pod and `toProxyPod`; a property test in
// test/unit/webhook checks that.
import type { Pod } from '../../api/objects/core.ts';
import { diffMember, memberPointer, type PatchOperation } from '../review/json-patch.ts';
import type { Field, ProxyFields } from './make-proxy-pod.ts';

/** The operations that set these fields; none when the pod already has them. */
export function proxyPatch({ metadata, spec }: Pod, fields: ProxyFields): readonly PatchOperation[] {
  const patch: PatchOperation[] = [];
  setKeys(patch, '/metadata/labels', metadata.labels, fields.labels);
  setKeys(patch, '/metadata/annotations', metadata.annotations, fields.annotations);
  diffMember(patch, '/metadata/finalizers', metadata.finalizers, fields.finalizers);
  const present = spec as unknown as Readonly<Record<string, unknown>>;
  for (const [field, value] of fields.spec) diffMember(patch, `/spec/${field}`, present[field], value);
  return patch;
}

/** Sets keys of a map one by one; a missing map is added whole. */
function setKeys(patch: PatchOperation[], pointer: string, present: unknown, keys: readonly Field<string>[]): void {
  if (typeof present !== 'object' || present === null) {
    patch.push({ op: present === undefined ? 'add' : 'replace', path: pointer, value: Object.fromEntries(keys) });
    return;
  }
  const map = present as Readonly<Record<string, unknown>>;
  for (const [key, value] of keys) {
    if (!Object.hasOwn(map, key)) patch.push({ op: 'add', path: memberPointer(pointer, key), value });
    else if (map[key] !== value) patch.push({ op: 'replace', path: memberPointer(pointer, key), value });
  }
}
