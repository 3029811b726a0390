// Leader election of components: one Lease each in the install namespace. A standby watches everything and writes
// nothing.
import type { Logger } from 'pino';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { allOf, type Fence } from '../../kubernetes/flow/fence.ts';
import { LeaderElection } from '../../kubernetes/lease/leader-election.ts';
import { LEASE_TIMINGS, QUICK_LEASE_TIMINGS, type LeaseTimings } from '../../kubernetes/lease/lease-record.ts';
import { LeaseDuration } from '../../kubernetes/lease/lease-duration.ts';
import { AppError } from '../../process/errors.ts';
import { ownInstanceId } from '../../process/instance-id.ts';

/** Dependencies of a campaign. */
export interface LeadershipOptions {
  readonly client: ClusterClient;
  readonly namespace: string;
  /** Components that act in one replica only. */
  readonly components: readonly string[];
  readonly timings: LeaseTimings;
  readonly logger: Logger;
  /** Another replica took over: this process must exit and restart as a standby. */
  readonly onLeadershipLost: (error: AppError) => void;
}

/** What `campaign` returns. */
export interface Leadership {
  /** Holds while this process holds all Leases. */
  readonly fence: Fence;
  /** Resolves when all Leases are held for the first time. */
  readonly leading: Promise<void>;
  /** Releases the Leases; call when nothing writes any more. */
  stop(): Promise<void>;
}

/** Name of a component's Lease. */
export function leaseName(component: string): string {
  return `isthmus-${component}`;
}

/** Every replica runs it, leader or not. */
const KUBELET_API = 'kubelet-api';

/** Safe with two active replicas: they write only by server-side apply, or against an object that was just read. */
const SAFE_WITHOUT_LEASE: ReadonlySet<string> = new Set(['peering', 'discovery']);

/**
 * Beside other components, peering and discovery need no Lease of their own, which would cost a request every six
 * seconds.
 */
export function leasedComponents(components: readonly string[]): readonly string[] {
  const led = components.filter((component) => component !== KUBELET_API);
  const others = led.filter((component) => !SAFE_WITHOUT_LEASE.has(component));
  return others.length === 0 ? led : others;
}

/**
 * Lease timings. In a cluster that is only a target, Leases are renewed rarely, since renewals are most of an idle
 * target's requests (P10); only new pods of its sources wait for a new leader there.
 */
export function leaseTimings(acting: readonly string[], takesPods: boolean): LeaseTimings {
  const isOnlyTarget = takesPods
    && acting.every((component) => component === 'delegate-controller' || component === 'peering');
  return isOnlyTarget ? LEASE_TIMINGS : QUICK_LEASE_TIMINGS;
}

/**
 * Campaigns for the Leases one after another, always in the same order, so that two replicas with several components
 * cannot deadlock. All are watched from the start and requested with the same duration, so that a dead leader's Leases
 * expire at about the same time.
 */
export function campaign(
  { client, namespace, components, timings, logger, onLeadershipLost }: LeadershipOptions,
): Leadership {
  const stopped = new AbortController();
  const identity = ownInstanceId();
  const pace = new LeaseDuration(timings);
  const elections: LeaderElection[] = [];
  for (const component of components.toSorted()) {
    elections.push(new LeaderElection(
      { client, namespace, name: leaseName(component), identity, timings, pace, after: elections.at(-1), logger },
    ));
  }
  const leading = elections.map((election) => new Promise<void>((resolve) => {
    election.listen({ leading: resolve, lostTo: (holder) => onLeadershipLost(lost(election, holder)) });
  }));
  const runs = elections.map((election) => election.run(stopped.signal));
  return {
    fence: allOf(elections),
    leading: Promise.all(leading).then(() => undefined),
    stop: async () => {
      stopped.abort();
      await Promise.all(runs);
    },
  };
}

function lost({ name }: LeaderElection, holder: string): AppError {
  return new AppError(
    'LeadershipLost', `Lease ${name} was taken over by ${holder}; this replica ends, to be started again as a standby.`,
  );
}
