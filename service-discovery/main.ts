// The service discovery process of a cluster: the controller, which one replica runs, and the DNS server for
// `clusterset.local`, which all run.
import type { Logger } from 'pino';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import { LeaderElection } from '../kubernetes/lease/leader-election.ts';
import { QUICK_LEASE_TIMINGS, type LeaseTimings } from '../kubernetes/lease/lease-record.ts';
import { answerQuestion, notSyncedAnswer } from './dns/dns-answer.ts';
import type { Resolve } from './dns/dns-message.ts';
import { startDnsServer } from './dns/dns-server.ts';
import { ClustersetState } from './clusterset-state.ts';
import { startServices } from './services-controller.ts';

/** Dependencies and options. */
export interface ServiceDiscoveryOptions {
  readonly client: ClusterClient;
  readonly installNamespace: string;
  /** Holder identity for the Lease. */
  readonly identity: string;
  /** Listen address of the DNS server; missing to disable it. */
  readonly dns?: { readonly host: string; readonly port: number } | undefined;
  /** Export the Services that follow elected pods, and their copies, without a request. */
  readonly exportsFollowedServices?: boolean;
  readonly timings?: LeaseTimings;
  readonly logger: Logger;
}

/** Name of the Lease in the install namespace. */
const SERVICE_DISCOVERY_LEASE = 'isthmus-service-discovery';

/** A running process. */
export interface ServiceDiscovery {
  /** Port of the DNS server, over UDP and TCP. */
  readonly dnsPort: number | undefined;
  readonly hasSynced: boolean;
  /** Resolves when everything has stopped after the signal. */
  readonly ended: Promise<void>;
}

/** Starts the process; everything stops after `signal` is aborted. Throws what listening throws. */
export async function startServiceDiscovery(
  {
    client, installNamespace, identity, dns, exportsFollowedServices = false, timings = QUICK_LEASE_TIMINGS, logger,
  }: ServiceDiscoveryOptions,
  signal: AbortSignal,
): Promise<ServiceDiscovery> {
  const own = logger.child({ component: 'service-discovery' });
  const state = new ClustersetState({ client, installNamespace, logger: own });
  const election = new LeaderElection(
    { client, namespace: installNamespace, name: SERVICE_DISCOVERY_LEASE, identity, timings, logger: own },
  );
  const find = (namespace: string, name: string) => state.dnsService(namespace, name);
  const resolve: Resolve = (question) =>
    (state.hasSynced && state.knowsItself ? answerQuestion(question, find) : notSyncedAnswer(question));
  const server = dns && (await startDnsServer({ ...dns, resolve }));
  startServices({ client: client.fencedBy(election), state, exportsFollowedServices, logger: own }, signal);
  const ended = Promise.all([state.run(signal), election.run(signal)]).then(() => server?.close());
  return {
    dnsPort: server?.port,
    get hasSynced() {
      return state.hasSynced;
    },
    ended,
  };
}
