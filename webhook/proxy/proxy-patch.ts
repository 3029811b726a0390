// The patch that makes a proxy pod of a pod, straight from the fields of a proxy pod: admission's hottest path makes no second pod to
// compare with. It says the same as the difference between the pod and `toProxyPod`; a law in test/unit/webhook holds that.
import type { Pod } from '../../api/objects/core.ts';
import { diffMember, memberPointer, type PatchOperation } from '../review/json-patch.ts';
import type { Field, ProxyFields } from './make-proxy-pod.ts';

/** The operations that give a pod these fields; none for a pod that has them. */
export function proxyPatch({ metadata, spec }: Pod, fields: ProxyFields): readonly PatchOperation[] {
  const patch: PatchOperation[] = [];
  setKeys(patch, '/metadata/labels', metadata.labels, fields.labels);
  setKeys(patch, '/metadata/annotations', metadata.annotations, fields.annotations);
  diffMember(patch, '/metadata/finalizers', metadata.finalizers, fields.finalizers);
  const present = spec as unknown as Readonly<Record<string, unknown>>;
  for (const [field, value] of fields.spec) diffMember(patch, `/spec/${field}`, present[field], value);
  return patch;
}

/** Sets keys of a map one by one; a pod without the map gets it whole. */
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
