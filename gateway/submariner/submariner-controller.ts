// The read-only driver `submariner`: watches an existing Submariner and mirrors it in our own objects (ADR 0040).
import type { Logger } from 'pino';
import { SUBMARINER_BACKEND } from '../../api/kinds/gateway.ts';
import { CLUSTERSET_MEMBERS, CLUSTERSET_ENDPOINTS } from '../../api/resource-types.ts';
import {
  SUBMARINER_CLUSTERS, SUBMARINER_ENDPOINTS, SUBMARINER_GATEWAYS, type SubmarinerCluster, type SubmarinerEndpoint,
  type SubmarinerGateway,
} from '../../api/objects/submariner.ts';
import { ignoreStale } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { DONE, startController } from '../../kubernetes/controller/controller.ts';
import { executePlan } from '../../kubernetes/controller/execute-plan.ts';
import type { Informer } from '../../kubernetes/watch/informer.ts';
import { fullInformersOf } from '../../kubernetes/watch/full-objects.ts';
import { version } from '../../process/version.ts';
import { keepGatewayObject } from '../status/gateway-object-controller.ts';
import { planSubmariner, readSubmariner, type SubmarinerFacts } from './submariner-facts.ts';

/** Dependencies. */
export interface SubmarinerOptions {
  readonly client: ClusterClient;
  /** The same, fenced: only the leader writes shared objects. */
  readonly writer: ClusterClient;
  /** The install namespace. */
  readonly namespace: string;
  /** Submariner's namespace. */
  readonly submarinerNamespace: string;
  /** Name of the ClustersetGateway object of this process. */
  readonly name: string;
  readonly isActive: () => boolean;
  /** ID of this cluster in our own clusterset, if it is in one. */
  readonly expectedId: () => string | undefined;
  readonly logger: Logger;
}

const ALL = 'all';

/** Watches it until `signal` is aborted. Never throws. */
export async function followSubmariner(options: SubmarinerOptions, signal: AbortSignal): Promise<void> {
  const { client, writer, namespace, submarinerNamespace, name, isActive, expectedId, logger } = options;
  const inform = fullInformersOf({ client, logger });
  const there = { namespace: submarinerNamespace };
  const theirs: Theirs =
    [inform(SUBMARINER_CLUSTERS, there), inform(SUBMARINER_ENDPOINTS, there), inform(SUBMARINER_GATEWAYS, there)];
  const clusters = inform(CLUSTERSET_MEMBERS, { namespace });
  const endpoints = inform(CLUSTERSET_ENDPOINTS, { namespace });
  const all = [...theirs, clusters, endpoints];
  const reconcile = async () => {
    const existing = { clusters: [...clusters.records()], endpoints: [...endpoints.records()] };
    if (isActive()) await executePlan(
      writer, planSubmariner(namespace, read(theirs, expectedId()), existing), signal,
    ).catch(ignoreStale);
    return DONE;
  };
  const controller = startController(
    { name: 'submariner', reconcile, concurrency: 1, logger, ready: Promise.all(all.map(({ synced }) => synced)) },
    signal,
  );
  for (const informer of all) informer.onChange(() => controller.enqueue(ALL));
  controller.enqueue(ALL);
  // leadership or this cluster's ID may have changed
  const timer = setInterval(() => signal.aborted || controller.enqueue(ALL), INTERVAL_MS);
  const facts = () => {
    const { clusterId = '', connections, failure } = read(theirs, expectedId());
    return {
      isActive: isActive(), version: version(), clusterId, backend: SUBMARINER_BACKEND, connections, nowMs: Date.now(),
      failure,
    };
  };
  await Promise.all([
    ...all.map((informer) => informer.run(signal)),
    keepGatewayObject({ client, namespace, name: `${name}-submariner`, facts, logger }, signal),
  ]);
  clearInterval(timer);
}

/** Resync interval in ms. */
const INTERVAL_MS = 5_000;

type Theirs = readonly [
  Informer<SubmarinerCluster, SubmarinerCluster>, Informer<SubmarinerEndpoint, SubmarinerEndpoint>,
  Informer<SubmarinerGateway, SubmarinerGateway>,
];

function read([clusters, endpoints, gateways]: Theirs, expectedId: string | undefined): SubmarinerFacts {
  if (![clusters, endpoints, gateways].every(({ hasSynced }) => hasSynced)) return {
    clusterId: undefined, members: [], connections: [],
    failure:
      'objects of submariner.io/v1 cannot be read; is Submariner in the namespace that --submariner-namespace names, ' +
        'and may the gateway read there?',
  };
  return readSubmariner(
    { clusters: [...clusters.records()], endpoints: [...endpoints.records()], gateways: [...gateways.records()] },
    expectedId,
  );
}
