// Placement metrics: decisions, latency until pods are placed, and the state of each target. The label `target` is
// `Kind/name`: it has as many values as there are (Cluster)Targets, and a deleted target's series are removed.
import { counter, gauge, gaugeAtScrape, histogram } from './metrics.ts';

const decisions = histogram(
  'isthmus_scheduling_decision_duration_seconds', 'How long it took to choose a target, by outcome.',
  [0.000_02, 0.000_05, 0.000_1, 0.000_5, 0.001, 0.005, 0.02, 0.1], ['outcome'],
);
const bound = histogram(
  'isthmus_scheduling_pod_bound_duration_seconds',
  'Time from the creation of an elected pod until it was bound to its virtual node.',
  [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 15, 60, 300, 1_800],
);
const candidates = histogram(
  'isthmus_scheduling_candidate_duration_seconds', 'How long candidates waited in their target, by outcome.',
  [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 15, 60], ['outcome'],
);
const shown = histogram(
  'isthmus_delegation_pod_shown_duration_seconds',
  'Time from the creation of an elected pod until it was shown as no longer Pending.',
  [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 15, 60, 300, 1_800],
);
const rejections = counter(
  'isthmus_scheduling_candidates_rejected_total',
  'Candidates that a target rejected, or that were withdrawn before they were bound.', ['target'],
);

const TARGET = ['target'] as const;
/** What the free capacity of a target is counted of. */
const FREE = ['cpu', 'memory', 'gpu', 'pods'] as const;
const ready = gauge('isthmus_target_ready', 'Whether pods can be sent to the target.', TARGET);
const roundTrip = gauge(
  'isthmus_target_round_trip_seconds', "Seconds of a round trip to the target's API server.", TARGET,
);
const free = gauge(
  'isthmus_target_free', 'What is free in the target: cores, bytes, devices, pods.', ['target', 'resource'],
);

/** An elected pod; `target` is missing while none is chosen. */
export interface ElectedPod {
  readonly target?: string | undefined;
  readonly phase: string;
}

let electedPods: () => Iterable<ElectedPod> = () => [];
gaugeAtScrape('isthmus_elected_pods', 'Elected pods by phase and target.', ['target', 'phase'], (pods) => {
  for (const { target = '', phase } of electedPods()) pods.inc({ target, phase });
});

/** Counts these pods at each scrape. */
export function countElectedPods(list: () => Iterable<ElectedPod>): void {
  electedPods = list;
}

/** Outcome and duration of a decision in ms. */
export function observeDecision(outcome: string, ms: number): void {
  decisions.observe({ outcome }, ms / 1_000);
}

/** A pod was bound this many ms after its creation, whose timestamp has whole seconds only. */
export function observeBound(ms: number): void {
  bound.observe(Math.max(0, ms) / 1_000);
}

/**
 * A candidate ended this many ms after it was sent: `bound` when the binding was written, so the time includes verdict
 * and bind; `rejected` when its source saw the verdict that rejected it. One that was never created is not observed.
 */
export function observeCandidate(outcome: 'bound' | 'rejected', ms: number): void {
  candidates.observe({ outcome }, Math.max(0, ms) / 1_000);
}

/**
 * The proxy pod shows that its delegate is Running or has ended, this many ms after its creation, whose timestamp has
 * whole seconds only.
 */
export function observeShown(ms: number): void {
  shown.observe(Math.max(0, ms) / 1_000);
}

/**
 * A target did not take a candidate: its scheduler, its admission or its API server rejected it, the API server did not
 * answer, or the candidate was withdrawn, because a policy came to exclude the target for example.
 */
export function observeRejection(target: string): void {
  rejections.inc({ target });
}

/** Gauges of a target; missing values are not exported. */
export interface TargetGauges {
  readonly isReady: boolean;
  readonly rttMs?: number | undefined;
  /** Amounts in base units by resource. */
  readonly free: Readonly<Partial<Record<(typeof FREE)[number], number>>>;
}

/** Sets the gauges of a target, and removes those of amounts that are missing. */
export function setTargetMetrics(target: string, { isReady, rttMs, free: amounts }: TargetGauges): void {
  ready.set({ target }, isReady ? 1 : 0);
  if (rttMs === undefined) roundTrip.remove({ target });
  else roundTrip.set({ target }, rttMs / 1_000);
  for (const resource of FREE) {
    const amount = amounts[resource];
    if (amount === undefined) free.remove({ target, resource });
    else free.set({ target, resource }, amount);
  }
}

/** Removes the series of a target. */
export function deleteTargetMetrics(target: string): void {
  for (const metric of [ready, roundTrip, rejections]) metric.remove({ target });
  for (const resource of FREE) free.remove({ target, resource });
}
