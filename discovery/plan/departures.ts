// Decides about targets whose clusters have left their registry. A registry that is emptied by mistake, or restored in
// part from a backup, looks like one whose clusters are gone: so a target gets no new pods first, and is removed later,
// and nothing happens at all when too many leave at once.
import {
  DEFAULT_REMOVAL_PERCENT, DEFAULT_REMOVAL_SECONDS, type RemovalRules,
} from '../../api/registry/target-discovery.ts';
import type { KnownTarget } from './known-target.ts';

/** What is known of departures. */
export interface DepartureFacts {
  /** Targets whose entries the registry does not have. */
  readonly gone: readonly KnownTarget[];
  /** Number of all targets of this TargetDiscovery. */
  readonly total: number;
  readonly rules: RemovalRules;
  /** When each was first seen to be gone by this process, in ms since the epoch, by name. */
  readonly seenAt: ReadonlyMap<string, number>;
  /** In ms since the epoch. */
  readonly now: number;
}

/** What to do about one target. */
export type Departure = { readonly target: KnownTarget } & (
  /** Gone for a moment only: look again after `ms`. */
  | { readonly kind: 'recheck'; readonly ms: number }
  /** No new pods from now on. */
  | { readonly kind: 'cordon' }
  /** It has no new pods; it is removed after `ms`. */
  | { readonly kind: 'waiting'; readonly ms: number }
  | { readonly kind: 'remove' }
  /** Too many have left. */
  | { readonly kind: 'held' }
);

/**
 * How long an entry has been gone before its target is cordoned, in ms: a registry that is emptied within moments is
 * seen as a whole.
 */
export const CORDON_DELAY_MS = 3_000;

/** Decides about all of them. */
export function planDepartures({ gone, total, rules, seenAt, now }: DepartureFacts): readonly Departure[] {
  const confirmed = new Set(rules.confirmed);
  const unconfirmed = gone.filter(({ name }) => !confirmed.has(name)).length;
  const isMass = unconfirmed > mayLeave(total, rules) || (unconfirmed > 0 && gone.length === total);
  return gone.map((target): Departure => {
    if (isMass && !confirmed.has(target.name)) return { target, kind: 'held' };
    const leftMs = Date.parse(target.leftAt ?? '');
    if (Number.isNaN(leftMs)) {
      const ms = (seenAt.get(target.name) ?? now) + CORDON_DELAY_MS - now;
      return ms > 0 ? { target, kind: 'recheck', ms } : { target, kind: 'cordon' };
    }
    const ms = leftMs + (rules.afterSeconds ?? DEFAULT_REMOVAL_SECONDS) * 1_000 - now;
    return ms > 0 ? { target, kind: 'waiting', ms } : { target, kind: 'remove' };
  });
}

/** How many of so many targets may leave at once. */
function mayLeave(total: number, { maxPercent = DEFAULT_REMOVAL_PERCENT }: RemovalRules): number {
  return maxPercent === 0 ? 0 : Math.max(1, Math.floor((total * maxPercent) / 100));
}
