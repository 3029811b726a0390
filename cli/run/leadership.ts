// Which replica acts: one Lease for each component in the install namespace. A standby follows everything and writes nothing.
import type { Logger } from 'pino';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { allOf, type Fence } from '../../kubernetes/flow/fence.ts';
import { LeaderElection } from '../../kubernetes/lease/leader-election.ts';
import { LEASE_TIMINGS, QUICK_LEASE_TIMINGS, type LeaseTimings } from '../../kubernetes/lease/lease-record.ts';
import { LeaseDuration } from '../../kubernetes/lease/lease-duration.ts';
import { AppError } from '../../process/errors.ts';
import { ownIncarnation } from '../../process/incarnation.ts';

/** What is needed to campaign. */
export interface Campaign {
  readonly client: ClusterClient;
  readonly namespace: string;
  /** Components that act in one replica only. */
  readonly components: readonly string[];
  readonly timings: LeaseTimings;
  readonly logger: Logger;
  /** Another replica took over: this process must end, to begin as a standby. */
  readonly onLost: (error: AppError) => void;
}

/** A campaign under way. */
export interface Leadership {
  /** Holds while all leases are ours. */
  readonly fence: Fence;
  /** Resolves when all leases are ours for the first time. */
  readonly leading: Promise<void>;
  /** Gives the leases back; call when nothing writes any more. */
  stop(): Promise<void>;
}

/** Name of a component's Lease. */
export function leaseName(component: string): string {
  return `isthmus-${component}`;
}

/** Every replica runs it, leader or not. */
const KUBELET_API = 'kubelet-api';

/**
 * Peering needs no Lease of its own beside other components, which costs a target a request every six seconds: what it writes are server-side
 * applies and writes that name the version they were decided on, so that two of it do no harm.
 */
export function leasedComponents(acting: readonly string[]): readonly string[] {
  const led = acting.filter((component) => component !== KUBELET_API);
  const others = led.filter((component) => component !== 'peering');
  return others.length === 0 ? led : others;
}

/**
 * How fast a standby takes over. A cluster that is only a target has its leases renewed seldom, for that is most of what an idle target is
 * asked for (P10); nothing but new pods of its sources waits for a new leader there.
 */
export function leaseTimings(acting: readonly string[], takesPods: boolean): LeaseTimings {
  const isOnlyTarget = takesPods && acting.every((component) => component === 'delegate-controller' || component === 'peering');
  return isOnlyTarget ? LEASE_TIMINGS : QUICK_LEASE_TIMINGS;
}

/**
 * Campaigns for the leases, to be won one after another and always in the same order: so two replicas with several components each cannot
 * both wait for what the other has. All are watched from the start, and asked for alike: of a
 * dead leader's leases none runs out much later than the first.
 */
export function campaign({ client, namespace, components, timings, logger, onLost }: Campaign): Leadership {
  const stopped = new AbortController();
  const identity = ownIncarnation();
  const pace = new LeaseDuration(timings);
  const elections: LeaderElection[] = [];
  for (const component of components.toSorted()) {
    elections.push(new LeaderElection({ client, namespace, name: leaseName(component), identity, timings, pace, after: elections.at(-1), logger }));
  }
  const leading = elections.map((election) => new Promise<void>((resolve) => {
    election.listen({ leading: resolve, lostTo: (holder) => onLost(lost(election, holder)) });
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
  return new AppError('LeadershipLost', `Lease ${name} was taken over by ${holder}; this replica ends, to be started again as a standby.`);
}
