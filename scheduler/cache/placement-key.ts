// Which placement inputs tell classes of pods apart. Every field does unless it is named here, so that a new one is
// never left out.
import type { PlacementConstraints } from '../snapshot/snapshot.ts';

/** A value that JSON shows completely: the contents of a Map, a Set or a function would be missing in a key. */
type Json<T> = T extends ReadonlyMap<unknown, unknown> | ReadonlySet<unknown> | ((...args: never) => unknown) ? never
  : T extends object ? { readonly [K in keyof T]: Json<T[K]> } : T;

/**
 * Text that is equal for pods of one class. The fields left out only matter where targets are compared with one
 * another, and such decisions are not cached: see `dependsOnOtherTargets`.
 */
export function placementKey(placement: PlacementConstraints | undefined): string {
  if (placement === undefined) return '';
  const {
    labels: _labels, controllerUid: _controllerUid, waitedSeconds: _waitedSeconds, placed: _placed,
    namespaces: _namespaces, overridden: _overridden, unpatchable: _unpatchable, ...inputs
  } = placement;
  const complete: Json<typeof inputs> = inputs;
  return JSON.stringify(complete);
}
