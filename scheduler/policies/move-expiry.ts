// The end of the temporary policies of `isthmus move`: a command that was killed, or whose token has expired, cannot
// delete its own.
import type { KubernetesObject, ObjectMeta } from '../../api/objects/core.ts';
import { EXPIRES_AFTER_ANNOTATION, MOVE_LABEL, TRUE } from '../../api/objects/keys.ts';
import { PLACEMENT_POLICIES } from '../../api/resource-types.ts';
import { deletion, type Plan } from '../../model/objects/plan.ts';

/** Shortest time until the next check, in ms. */
const SOON_MS = 1_000;

/** When a policy expires, by the clock of its API server, in ms since the epoch; undefined for one that does not. */
export function expiryOf({ namespace, labels, annotations, creationTimestamp }: ObjectMeta): number | undefined {
  const [seconds, created] = [annotations?.[EXPIRES_AFTER_ANNOTATION] ?? '', Date.parse(creationTimestamp ?? '')];
  const isMove = namespace !== undefined && labels?.[MOVE_LABEL] === TRUE;
  return isMove && /^\d{1,9}$/.test(seconds) && !Number.isNaN(created) ? created + Number(seconds) * 1_000 : undefined;
}

/** Whether a policy stays, is checked again after some ms, or is deleted. */
export type Expiry =
  | { readonly kind: 'stays' }
  | { readonly kind: 'later'; readonly ms: number }
  | { readonly kind: 'expired'; readonly plan: Plan };

/** What is to be done. `now` is a time that the API server has reached, in ms since the epoch; undefined if unknown. */
export function planExpiry({ metadata }: KubernetesObject, now: number | undefined): Expiry {
  const expiry = expiryOf(metadata);
  if (expiry === undefined || metadata.deletionTimestamp !== undefined) return { kind: 'stays' };
  if (now === undefined) return { kind: 'later', ms: SOON_MS };
  if (now < expiry) return { kind: 'later', ms: Math.max(SOON_MS, expiry - now) };
  return { kind: 'expired', plan: [deletion(PLACEMENT_POLICIES, metadata)] };
}
