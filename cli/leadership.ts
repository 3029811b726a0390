// Which replica acts: one Lease for each component in the install namespace. A standby follows everything and writes nothing.
import type { Logger } from 'pino';
import type { ClusterClient } from '../kubernetes/cluster-client.ts';
import { allOf, type Fence } from '../kubernetes/fence.ts';
import { LeaderElection } from '../kubernetes/leader-election.ts';
import { AppError } from '../process/errors.ts';
import { ownIncarnation } from '../process/incarnation.ts';

/** What is needed to campaign. */
export interface Campaign {
  readonly client: ClusterClient;
  readonly namespace: string;
  /** Components that act in one replica only. */
  readonly components: readonly string[];
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

/**
 * Campaigns for the leases one after another, always in the same order: so two replicas with several components each cannot
 * both wait for what the other has.
 */
export function campaign({ client, namespace, components, logger, onLost }: Campaign): Leadership {
  const stopped = new AbortController();
  const identity = ownIncarnation();
  const elections = components.toSorted().map((component) => new LeaderElection({ client, namespace, name: leaseName(component), identity, logger }));
  const runs: Promise<void>[] = [];
  const lead = async (election: LeaderElection): Promise<void> =>
    new Promise((resolve) => {
      election.listen({ leading: resolve, lostTo: (holder) => onLost(lost(election, holder)) });
      runs.push(election.run(stopped.signal));
    });
  const leadAll = async () => {
    for (const election of elections) await lead(election);
  };
  return {
    fence: allOf(elections),
    leading: leadAll(),
    stop: async () => {
      stopped.abort();
      await Promise.all(runs);
    },
  };
}

function lost({ name }: LeaderElection, holder: string): AppError {
  return new AppError('LeadershipLost', `Lease ${name} was taken over by ${holder}; this replica ends, to be started again as a standby.`);
}
