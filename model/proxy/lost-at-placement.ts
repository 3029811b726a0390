// Targets that were lost when a pod was placed, from the placement record of its Binding (`isthmus.dev/placement`).
import { PLACEMENT_ANNOTATION } from '../../api/objects/keys.ts';
import type { ObjectMeta } from '../../api/objects/core.ts';
import { isRecord, parsedRecord } from '../objects/json-values.ts';

/** Reason of a target that is unreachable. */
export const UNREACHABLE = 'Unreachable';

/** Keys of the targets that were lost when the pod was placed; undefined when none was. */
export function targetsLostAtPlacement({ annotations }: ObjectMeta): readonly string[] | undefined {
  const text = annotations?.[PLACEMENT_ANNOTATION];
  if (text === undefined || !text.includes(`"${UNREACHABLE}"`)) return undefined;
  const keys = Object.entries(reasonsIn(text)).flatMap(([target, reason]) => (reason === UNREACHABLE ? [target] : []));
  return keys.length === 0 ? undefined : keys;
}

function reasonsIn(text: string): Readonly<Record<string, unknown>> {
  const { not } = parsedRecord(text);
  return isRecord(not) ? not : {};
}
