// The scheduler's decision as it is recorded on a bound pod: where it went, and why not elsewhere. It needs no access
// to targets. Anyone who may change the pod can change the record, so it is read as text of a stranger.
import type { Pod } from '../../api/objects/core.ts';
import { PLACEMENT_ANNOTATION } from '../../api/objects/keys.ts';
import { shortTargetName } from '../../model/naming/target-ref.ts';
import { isRecord, parsedJson } from '../../model/objects/json-values.ts';
import type { RecordedDecision } from '../wire/placement-rows.ts';

/** The scheduler records no more targets (`toPlacementRecord`). */
const MOST_REJECTED = 20;
/** Characters of a name or reason. */
const LONGEST = 253;

/** The decision; undefined where the pod has none, or none that can be read. */
export function recordedDecision({ metadata }: Pod): RecordedDecision | undefined {
  return readRecord(metadata.annotations?.[PLACEMENT_ANNOTATION] ?? '');
}

/** The decision in the text of a record; undefined where it cannot be read. */
export function readRecord(text: string): RecordedDecision | undefined {
  const record = parsedJson(text);
  if (!isRecord(record)) return undefined;
  const { target, score, tier, afterScaleUp, not, more } = record;
  if (typeof target !== 'string' || typeof score !== 'number') return undefined;
  const rejected = Object.entries(isRecord(not) ? not : {}).slice(0, MOST_REJECTED);
  return {
    target: nameOf(target), score, tier: typeof tier === 'number' ? tier : undefined,
    isAfterScaleUp: afterScaleUp === true,
    rejected: rejected.map(([key, reason]) => (
      { target: nameOf(key), reason: typeof reason === 'string' ? reason.slice(0, LONGEST) : '' }
    )),
    more: typeof more === 'number' ? more : 0,
  };
}

function nameOf(key: string): string {
  return shortTargetName(key).slice(0, LONGEST);
}
