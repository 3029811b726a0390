// State machine of one link: a session that this side dials for one purpose, with retries. Pure: time and randomness
// are in the events, actions are returned as effects. At most one dial is in flight; a stopped link does nothing.
import type { Failure } from './failure-cause.ts';

/**
 * State of a link. `failures` counts rounds through all addresses without success, `lostMs` is when its last session
 * ended.
 */
export type LinkState =
  | {
    readonly kind: 'waiting'; readonly failures: number; readonly failure?: Failure | undefined;
    readonly lostMs?: number | undefined
  }
  | {
    readonly kind: 'dialing'; readonly failures: number; readonly address: number;
    readonly failure?: Failure | undefined; readonly lostMs?: number | undefined
  }
  | { readonly kind: 'connected'; readonly failures: number; readonly address: number; readonly sinceMs: number }
  | { readonly kind: 'stopped' };

/** What happens to a link. */
export type LinkEvent =
  /** A delay has passed. `isCovered`: the peer has dialled us for the same purpose, so that nothing is to be done. */
  | { readonly kind: 'due'; readonly isCovered: boolean }
  | { readonly kind: 'opened'; readonly nowMs: number }
  /** The dial failed, or the session ended. `random` is in [0,1). */
  | { readonly kind: 'failed'; readonly failure: Failure; readonly nowMs: number; readonly random: number }
  | { readonly kind: 'stop' };

/** The action to perform. */
export type LinkEffect = { readonly kind: 'none' } | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'dial'; readonly address: number };

/** Configuration of a link. */
export interface LinkPlan {
  readonly addresses: number;
  readonly redialFirstMs: number;
  readonly redialMaxMs: number;
}

/** A link with its next action. */
export interface LinkStep {
  readonly state: LinkState;
  readonly effect: LinkEffect;
}

/**
 * A session that lasted at least this long, in ms, was healthy: backoff restarts from the shortest delay. A rejected
 * one never opens.
 */
const GOOD_AFTER_MS = 1_000;
/**
 * For this long after a healthy session was lost, in ms, no delay exceeds {@link EAGER_WAIT_MS}: another gateway of the
 * peer is taking over.
 */
const EAGER_MS = 15_000;
const EAGER_WAIT_MS = 400;
/** Interval at which to check whether the peer still covers this purpose, in ms. */
const COVERED_CHECK_MS = 3_000;
const NOTHING: LinkEffect = { kind: 'none' };

/**
 * Starts a link; `delayMs` is longer for the side that leaves dialling to the other. A link that replaces `before`,
 * with another certificate or other addresses, inherits its short delays: the peer may be failing over.
 */
export function startLink(delayMs: number, before?: LinkState, nowMs = 0): LinkStep {
  const lostMs = before?.kind === 'connected' ? nowMs : before?.kind === 'stopped' ? undefined : before?.lostMs;
  return {
    state: { kind: 'waiting', failures: 0, ...(lostMs !== undefined && { lostMs }) },
    effect: { kind: 'wait', ms: delayMs },
  };
}

/** The next state. An event that does not fit the state (a late one) changes nothing. */
export function stepLink(state: LinkState, event: LinkEvent, plan: LinkPlan): LinkStep {
  if (event.kind === 'stop') return { state: { kind: 'stopped' }, effect: NOTHING };
  switch (state.kind) {
    case 'waiting':
      return event.kind === 'due' ? dial(state, event.isCovered, plan) : { state, effect: NOTHING };
    case 'dialing':
      if (event.kind === 'opened') return {
        state: { kind: 'connected', failures: state.failures, address: state.address, sinceMs: event.nowMs },
        effect: NOTHING,
      };
      return event.kind === 'failed' ? tryNext(state, event, plan) : { state, effect: NOTHING };
    case 'connected':
      return event.kind === 'failed' ? dialAgain(state, event, plan) : { state, effect: NOTHING };
    case 'stopped':
      return { state, effect: NOTHING };
  }
}

type Failed = Extract<LinkEvent, { readonly kind: 'failed' }>;

function dial(state: Extract<LinkState, { readonly kind: 'waiting' }>, isCovered: boolean, plan: LinkPlan): LinkStep {
  if (isCovered || plan.addresses === 0) {
    return { state: { kind: 'waiting', failures: 0 }, effect: { kind: 'wait', ms: COVERED_CHECK_MS } };
  }
  return { state: { ...state, kind: 'dialing', address: 0 }, effect: { kind: 'dial', address: 0 } };
}

function tryNext(state: Extract<LinkState, { readonly kind: 'dialing' }>, event: Failed, plan: LinkPlan): LinkStep {
  const address = state.address + 1;
  if (address < plan.addresses) {
    return { state: { ...state, address, failure: event.failure }, effect: { kind: 'dial', address } };
  }
  return wait({ failures: state.failures + 1, lostMs: state.lostMs }, event, plan);
}

function dialAgain(state: Extract<LinkState, { readonly kind: 'connected' }>, event: Failed, plan: LinkPlan): LinkStep {
  const wasGood = event.nowMs - state.sinceMs >= GOOD_AFTER_MS;
  return wait(
    wasGood ? { failures: 1, lostMs: event.nowMs } : { failures: state.failures + 1, lostMs: undefined }, event, plan,
  );
}

/** Exponential backoff up to the cap, minus up to half at random. */
function wait(
  { failures, lostMs }: { readonly failures: number; readonly lostMs: number | undefined },
  { failure, random, nowMs }: Failed, plan: LinkPlan,
): LinkStep {
  const isEager = lostMs !== undefined && nowMs - lostMs < EAGER_MS;
  const longest = isEager ? Math.min(EAGER_WAIT_MS, plan.redialMaxMs) : plan.redialMaxMs;
  const full = Math.min(longest, plan.redialFirstMs * 2 ** Math.min(failures - 1, 30));
  return {
    state: { kind: 'waiting', failures, failure, lostMs }, effect: { kind: 'wait', ms: full / 2 + (full / 2) * random },
  };
}
