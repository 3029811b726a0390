// Opt-out keys of the sidecar injectors of Istio, Linkerd and Vault. A proxy pod runs nothing, so admission sets them
// on it; the delegate has the user's values, and gets its sidecars from the injectors of the target.
import type { StringMap } from '../../api/objects/core.ts';

/**
 * A label or annotation that disables an injector, and whether every proxy pod gets it or only one whose pod has the
 * key.
 */
interface OptOut {
  readonly on: 'labels' | 'annotations';
  readonly key: string;
  readonly value: string;
  readonly always: boolean;
}

const OPT_OUTS: readonly OptOut[] = [
  { on: 'labels', key: 'sidecar.istio.io/inject', value: 'false', always: true },
  { on: 'annotations', key: 'sidecar.istio.io/inject', value: 'false', always: false },
  { on: 'annotations', key: 'linkerd.io/inject', value: 'disabled', always: true },
  { on: 'annotations', key: 'vault.hashicorp.com/agent-inject', value: 'false', always: false },
];

const WITH_ENTRY = OPT_OUTS.map((optOut) => ({ ...optOut, entry: [optOut.key, optOut.value] as const }));

/** The opt-out keys of every injector, with their values, for these labels or annotations. */
export function optOutsFor(on: OptOut['on'], map: StringMap): readonly (readonly [key: string, value: string])[] {
  return WITH_ENTRY.filter((optOut) => optOut.on === on && (optOut.always || Object.hasOwn(map, optOut.key)))
    .map(({ entry }) => entry);
}

/** The pod's own values at opt-out keys, which the opt-outs replace; undefined when there are none. */
export function ownAtOptOuts(on: OptOut['on'], map: StringMap): StringMap | undefined {
  const own = OPT_OUTS.flatMap(
    ({ on: where, key }) => (where === on && Object.hasOwn(map, key) ? [[key, map[key] ?? ''] as const] : []),
  );
  return own.length === 0 ? undefined : Object.fromEntries(own);
}

/** Labels or annotations with the pod's own values at opt-out keys; values at other keys are ignored. */
export function withOwnAtOptOuts(on: OptOut['on'], map: StringMap, own: StringMap = {}): StringMap {
  const keys = OPT_OUTS.filter((optOut) => optOut.on === on).map(({ key }) => key);
  const rest = Object.entries(map).filter(([key]) => !keys.includes(key));
  return Object.fromEntries(
    [...rest, ...keys.flatMap((key) => (Object.hasOwn(own, key) ? [[key, own[key] ?? ''] as const] : []))],
  );
}
