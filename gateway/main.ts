// The gateway process of a cluster: leader election, gateway connections, the local CONNECT endpoint, the Gateway
// object. See gateway-controller.ts.
import type { Logger } from 'pino';
import type { ClustersetGateway } from '../api/kinds/gateway.ts';
import { EXPORTED_SERVICES, type ExportedService } from '../api/kinds/service-discovery.ts';
import { CLUSTERSET_GATEWAYS } from '../api/resource-types.ts';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import type { Informer } from '../kubernetes/watch/informer.ts';
import { fullInformersOf } from '../kubernetes/watch/full-objects.ts';
import { LeaderElection } from '../kubernetes/lease/leader-election.ts';
import type { LeaseTimings } from '../kubernetes/lease/lease-record.ts';
import { aborted } from '../process/lifecycle.ts';
import { version } from '../process/version.ts';
import type { AllowedServices } from './protocol/allowed-services.ts';
import { followBroker } from './broker/broker-member.ts';
import type { StreamRecord } from './protocol/cable-driver.ts';
import { startConnectEndpoint } from './local-end/connect-endpoint.ts';
import { GatewayController } from './gateway-controller.ts';
import { untilHandedOver } from './handover.ts';
import { keepGatewayObject } from './status/gateway-object-controller.ts';
import { ImportListeners } from './local-end/import-listener-server.ts';
import { startImportListeners } from './local-end/import-listeners-controller.ts';
import type { PortRange } from './local-end/import-listeners.ts';
import { activeConnectAddress, type GatewayFacts } from './status/gateway-status.ts';
import { followSubmariner } from './submariner/submariner-controller.ts';
import { countStream, observeGateway } from './status/tunnel-metrics.ts';
import { TUNNEL_LIMITS, type TunnelLimits } from './protocol/tunnel-protocol.ts';

/** Dependencies and options. */
export interface GatewayProcessOptions {
  readonly client: ClusterClient;
  readonly namespace: string;
  /** Name of the ClustersetGateway object: of the host, or of the pod. */
  readonly name: string;
  /** Holder identity for the Lease. */
  readonly identity: string;
  readonly services: AllowedServices;
  /** Where peers dial in; missing when this cluster can only dial out. */
  readonly listen?: { readonly host: string; readonly port: number } | undefined;
  /** Listen address of the CONNECT endpoint. */
  readonly connect: { readonly host: string; readonly port: number };
  /** Where other gateways of this cluster reach it, `host:port`; missing when they do not pass requests on. */
  readonly connectAddress?: string | undefined;
  /** Where it listens for Services of other clusters; missing when their pods are reached directly. */
  readonly imports?: ImportPlace | undefined;
  /** Namespace of an existing Submariner, which is then the pod plane. */
  readonly submarinerNamespace?: string | undefined;
  /** Drain timeout on shutdown, in ms. */
  readonly drainMs: number;
  readonly limits?: Partial<TunnelLimits>;
  readonly timings?: LeaseTimings;
  readonly logger: Logger;
}

/** Listeners for imports. */
export interface ImportPlace {
  /** Address that is listened on. */
  readonly host: string;
  /** Address by which pods of this cluster reach it. */
  readonly address: string;
  readonly ports: PortRange;
}

/**
 * A Lease of 6 s with a renew deadline of 4 s, renewed each second: another replica takes over within 8 s of a crash.
 */
export const GATEWAY_LEASE_TIMINGS: LeaseTimings =
  { leaseMs: 6_000, renewWithinMs: 4_000, renewEveryMs: 1_000, retryMs: 250, callMs: 1_500 };
/** Name of the Lease in the install namespace. */
export const GATEWAY_LEASE = 'isthmus-gateway';
const MAX_CONNECTIONS = 4_096;
const LONGEST_HANDOVER_MS = 10_000;

/** A running gateway process. */
export interface GatewayProcess {
  /** Port of the CONNECT endpoint. */
  readonly connectPort: number;
  readonly hasSynced: boolean;
  /** Resolves when everything has stopped after the signal. */
  readonly ended: Promise<void>;
}

/** What the parts of the process share. */
interface GatewayParts {
  readonly election: LeaderElection;
  readonly exports: Informer<ExportedService, ExportedService>;
  readonly gateways: Informer<ClustersetGateway, ClustersetGateway>;
  readonly controller: GatewayController;
  /** Listeners for Services of other clusters, if there are any. */
  readonly listeners: ImportListeners | undefined;
  /** Aborted when streams and listeners are to end: after a handover to another gateway. */
  readonly over: AbortSignal;
}

/**
 * Starts it; everything stops after `signal` is aborted: the Lease is released first, then streams drain. Throws what
 * listening throws.
 */
export async function startGateway(options: GatewayProcessOptions, signal: AbortSignal): Promise<GatewayProcess> {
  const { client, namespace, logger, services, listen, limits } = options;
  const election = new LeaderElection({
    client, namespace, name: GATEWAY_LEASE, identity: options.identity, logger,
    timings: options.timings ?? GATEWAY_LEASE_TIMINGS,
  });
  const audit = auditInto(logger);
  const inform = fullInformersOf({ client, logger });
  const exports = inform(EXPORTED_SERVICES, { namespace });
  const gateways = inform(CLUSTERSET_GATEWAYS, { namespace });
  let changed = (): void => undefined;
  const findExport = (name: string) => exports.get(`${namespace}/${name}`);
  const controller = new GatewayController({
    client, namespace, services, findExport, listen, limits, fence: election, audit, changed: () => changed(), logger,
  });
  election.listen({ leading: () => controller.followFence() });
  observeGateway({
    connections: () => controller.driver?.connections() ?? [],
    certificateEndMs: () => controller.credentials?.notAfterMs,
  });
  const { halfClosedMs } = { ...TUNNEL_LIMITS, ...limits };
  const intake = { driver: () => controller.driver, connections: MAX_CONNECTIONS, halfClosedMs, audit };
  const ending = new AbortController();
  const listeners = options.imports && new ImportListeners({ host: options.imports.host, ...intake });
  const parts = { election, exports, gateways, controller, listeners, over: ending.signal };
  const elsewhere = () => activeConnectAddress([...gateways.records()]);
  const endpoint = await startConnectEndpoint({ ...options.connect, ...intake, elsewhere });
  if (options.imports !== undefined && listeners !== undefined) {
    changed = startImports(options, { listeners, ...options.imports }, parts);
  }
  void aborted(signal).then(() => handOver(options, controller)).finally(() => ending.abort());
  const stopped = aborted(signal).then(() => endpoint.close(options.drainMs));
  const ended = Promise.all([runParts(options, parts, signal), stopped]).then(() => undefined);
  return {
    connectPort: endpoint.port,
    get hasSynced() {
      return controller.hasSynced;
    },
    ended,
  };
}

/** An active gateway without listeners has nothing that its clients do not look for at the other ones. */
async function handOver(
  { client, namespace, name, imports, drainMs }: GatewayProcessOptions, { driver }: GatewayController,
): Promise<void> {
  const limitMs = Math.min(LONGEST_HANDOVER_MS, drainMs / 2);
  if (imports !== undefined && driver !== undefined) await untilHandedOver({ client, namespace, name, limitMs });
}

/** Listens for Services of other clusters. Call the result when the gateway may have become active or passive. */
function startImports(
  { client, namespace, logger }: GatewayProcessOptions,
  { listeners, ports }: ImportPlace & { readonly listeners: ImportListeners },
  { election, exports, controller, over }: GatewayParts,
): () => void {
  return startImportListeners(
    {
      client: client.fencedBy(election), namespace, exports, listeners, ports, activeAs: () => activeAs(controller),
      logger,
    },
    over,
  );
}

async function runParts(
  options: GatewayProcessOptions, parts: GatewayParts, signal: AbortSignal,
): Promise<void> {
  const { client, namespace, name, logger, drainMs, submarinerNamespace } = options;
  const { election, exports, gateways, controller, over } = parts;
  const facts = (): GatewayFacts => factsOf(parts, options);
  const submariner = submarinerNamespace === undefined ? undefined : {
    client, writer: client.fencedBy(election), namespace, submarinerNamespace, name, logger,
    isActive: () => election.holds() && controller.hasSynced, expectedId: () => controller.credentials?.clusterId,
  };
  await Promise.all([
    election.run(signal),
    controller.run(drainMs, signal, over),
    exports.run(signal), gateways.run(signal),
    submariner && followSubmariner(submariner, signal),
    keepGatewayObject({ client, namespace, name, facts, over, logger }, signal),
    followBroker({ client, namespace, controller, logger }, signal),
  ]);
}

/** ID of this cluster while this process carries its streams. */
function activeAs({ driver, credentials }: GatewayController): string | undefined {
  return driver === undefined ? undefined : credentials?.clusterId;
}

function factsOf(
  { controller, listeners }: GatewayParts, { imports, connectAddress }: GatewayProcessOptions,
): GatewayFacts {
  const { driver, credentials, failure } = controller;
  return {
    isActive: driver !== undefined, version: version(), clusterId: credentials?.clusterId ?? '', backend: 'mtls',
    ...(activeAs(controller) !== undefined && {
      connectAddress, importAddress: listeners?.isServing === true ? imports?.address : undefined,
    }),
    connections: driver?.connections() ?? [], nowMs: Date.now(), certificateEndMs: credentials?.notAfterMs, failure,
  };
}

/** The audit log: a line with `audit: true` for each stream in either direction. */
function auditInto(logger: Logger): (record: StreamRecord) => void {
  const log = logger.child({ audit: true });
  return (record) => {
    countStream(record);
    log.info(record, 'stream');
  };
}
