// A gateway process: watches its Secret and the clusterset's members, takes part in leader election, and carries
// traffic while it leads. Connections close before another replica may take the Lease. Without the API server it
// continues with what it knows.
import type { Logger } from 'pino';
import type { Secret } from '../api/objects/core.ts';
import type { ClustersetMember, ClustersetEndpoint } from '../api/kinds/gateway.ts';
import type { ExportedService } from '../api/kinds/service-discovery.ts';
import { CLUSTERSET_MEMBERS, CLUSTERSET_ENDPOINTS, SECRETS } from '../api/resource-types.ts';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import type { Fence } from '../kubernetes/flow/fence.ts';
import { Informer } from '../kubernetes/watch/informer.ts';
import { fullInformersOf } from '../kubernetes/watch/full-objects.ts';
import { messageOf } from '../process/errors.ts';
import { aborted } from '../process/lifecycle.ts';
import type { AllowedServices } from './protocol/allowed-services.ts';
import type { StreamRecord } from './protocol/cable-driver.ts';
import { findExported, type FoundService } from './protocol/exported-endpoints.ts';
import { GATEWAY_SECRET, readGatewaySecret, type MemberCredentials } from './broker/gateway-secret.ts';
import { planMembership, type Membership } from './broker/membership.ts';
import { startMtlsDriver, type MtlsDriver } from './tunnel/mtls-cable.ts';
import { countRefusal } from './status/tunnel-metrics.ts';
import type { TunnelLimits } from './protocol/tunnel-protocol.ts';

/** Dependencies and options. */
export interface GatewayOptions {
  readonly client: ClusterClient;
  /** The install namespace, which holds Secret, members and ClustersetGateway objects. */
  readonly namespace: string;
  readonly services: AllowedServices;
  /** ExportedServices of the namespace by name: peers may reach those of this cluster. */
  readonly findExport?: (name: string) => ExportedService | undefined;
  /** Where peers dial in; missing when this cluster can only dial out. */
  readonly listen?: { readonly host: string; readonly port: number } | undefined;
  readonly limits?: Partial<TunnelLimits> | undefined;
  /** Holds while this process leads. */
  readonly fence: Fence;
  readonly audit: (record: StreamRecord) => void;
  /** Connections or membership have changed. */
  readonly changed: () => void;
  readonly logger: Logger;
}

/** Interval at which leadership is checked in ms; well below the time between the holder's deadline and the others'. */
const FENCE_CHECK_MS = 100;
const RETRY_LISTEN_MS = 500;
const BACKEND = 'mtls';

/** The part of a gateway process that carries traffic. */
export class GatewayController {
  readonly #options: GatewayOptions;
  readonly #secrets: Informer<Secret, MemberCredentials | { readonly failure: string }>;
  readonly #clusters: Informer<ClustersetMember, ClustersetMember>;
  readonly #endpoints: Informer<ClustersetEndpoint, ClustersetEndpoint>;
  #credentials: MemberCredentials | undefined;
  #driver: MtlsDriver | undefined;
  #starting: Promise<void> | undefined;
  #failure: string | undefined = `Secret ${GATEWAY_SECRET} is missing; run "isthmus gateway join"`;
  #membership: Membership = { peers: [], revokedSerials: new Set(), overlaps: [] };
  #drained: Promise<void> = Promise.resolve();

  constructor(options: GatewayOptions) {
    const { client, namespace, logger } = options;
    this.#options = options;
    const inform = fullInformersOf({ client, logger });
    this.#secrets = new Informer({
      client, logger, type: SECRETS, selection: { namespace, fieldSelector: `metadata.name=${GATEWAY_SECRET}` },
      project: toCredentials,
    });
    this.#clusters = inform(CLUSTERSET_MEMBERS, { namespace });
    this.#endpoints = inform(CLUSTERSET_ENDPOINTS, { namespace });
    this.#secrets.onChange((_key, _before, after) => this.#useCredentials(after));
    this.#clusters.onChange(() => this.#applyMembership());
    this.#endpoints.onChange(() => this.#applyMembership());
  }

  /** The driver while this process is active. */
  get driver(): MtlsDriver | undefined {
    return this.#driver;
  }

  /** This cluster's identity; undefined before it has joined. */
  get credentials(): MemberCredentials | undefined {
    return this.#credentials;
  }

  /** Problems of the gateway itself as text, including overlapping CIDRs. */
  get failure(): string | undefined {
    return this.#failure ?? (
      this.#membership.overlaps.length > 0
        ? `pods of these will not reach one another: ${this.#membership.overlaps.join('; ')}`
        : undefined
    );
  }

  /** Whether Secret and members have synced. */
  get hasSynced(): boolean {
    return [this.#secrets, this.#clusters, this.#endpoints].every((informer) => informer.hasSynced);
  }

  /** Runs until `signal` is aborted, and then until `over` is; drains streams for `drainMs` after the former. */
  async run(drainMs: number, signal: AbortSignal, over: AbortSignal): Promise<void> {
    const timer = setInterval(() => signal.aborted || this.followFence(), FENCE_CHECK_MS);
    const informers = [this.#secrets, this.#clusters, this.#endpoints].map((informer) => informer.run(over));
    await aborted(signal);
    clearInterval(timer);
    const drainUntil = performance.now() + drainMs;
    await Promise.all(informers);
    await this.#starting;
    await this.#stop(Math.max(0, drainUntil - performance.now()));
    await this.#drained;
  }

  /** Starts or stops carrying traffic as leadership requires; called at intervals and on changes. */
  followFence(): void {
    const holds = this.#options.fence.holds();
    if (holds && this.#driver === undefined && this.#credentials !== undefined) {
      this.#starting ??= this.#start(this.#credentials).finally(() => (this.#starting = undefined));
    }
    if (!holds && this.#driver !== undefined) void this.#stop(0);
  }

  async #start(credentials: MemberCredentials): Promise<void> {
    const { listen, services, limits, audit, changed, logger } = this.#options;
    try {
      const driver = await startMtlsDriver({
        clusterId: credentials.clusterId, identity: credentials, isAnnounced: credentials.addresses.length > 0,
        services, exported: (asked) => this.#exported(asked), listen, audit, changed, ...(limits && { limits }),
        refused: ({ cause, message }, from) => {
          countRefusal(cause);
          logger.debug({ cause, from, reason: message }, 'a connection was refused');
        },
      });
      this.#failure = undefined;
      this.#driver = driver;
      this.#applyMembership();
      logger.info({ cluster: credentials.clusterId, port: driver.port }, 'carrying traffic');
    } catch (error) {
      this.#failure = `cannot listen for peers: ${messageOf(error)}`;
      logger.warn({ error: messageOf(error) }, 'cannot listen for peers');
      await new Promise((resolve) => setTimeout(resolve, RETRY_LISTEN_MS));
    }
    changed();
  }

  #exported(asked: string): FoundService | undefined {
    const clusterId = this.#credentials?.clusterId;
    const { findExport: find } = this.#options;
    if (clusterId === undefined || find === undefined) return undefined;
    const ranges = [...this.#clusters.records()].filter(({ spec }) => spec.clusterID === clusterId)
      .flatMap(({ spec }) => spec.clusterCIDR ?? []);
    return findExported(asked, { clusterId, ranges, find });
  }

  async #stop(drainMs: number): Promise<void> {
    const driver = this.#driver;
    this.#driver = undefined;
    if (driver === undefined) return;
    this.#drained = driver.close(drainMs);
    this.#options.changed();
    this.#options.logger.info({ drainMs }, 'no longer the active gateway');
    await this.#drained;
  }

  #useCredentials(found: MemberCredentials | { readonly failure: string } | undefined): void {
    const before = this.#credentials;
    if (found === undefined || 'failure' in found) {
      // A member stays one in this process: a Secret that is briefly missing must not stop its traffic. Leaving is
      // noticed by the member objects.
      this.#failure = found?.failure ?? `Secret ${GATEWAY_SECRET} is missing; run "isthmus gateway join"`;
      return this.#options.changed();
    }
    this.#credentials = found;
    this.#failure = undefined;
    if (before !== undefined && before.clusterId !== found.clusterId) void this.#stop(0); // the next one has the new ID
    else if (before !== undefined && before.certificate !== found.certificate) this.#driver?.use(found);
    this.#applyMembership();
  }

  #applyMembership(): void {
    const credentials = this.#credentials;
    if (credentials === undefined || !this.#clusters.hasSynced || !this.#endpoints.hasSynced) return;
    const clusters = [...this.#clusters.keys()].flatMap((key) => this.#clusters.get(key) ?? []);
    const endpoints = [...this.#endpoints.keys()].flatMap((key) => this.#endpoints.get(key) ?? []);
    this.#membership = planMembership(credentials.clusterId, clusters, endpoints, BACKEND);
    const driver = this.#driver;
    if (driver === undefined) return;
    const { peers, revokedSerials } = this.#membership;
    const wanted = new Set(peers.map(({ clusterId }) => clusterId));
    for (const { clusterId } of driver.connections()) if (!wanted.has(clusterId)) driver.disconnect(clusterId);
    driver.revoke(revokedSerials);
    for (const peer of peers) driver.connect(peer);
    this.#options.changed();
  }
}

function toCredentials({ data }: Secret): MemberCredentials | { readonly failure: string } {
  const parsed = readGatewaySecret(data ?? {});
  return parsed.kind === 'credentials'
    ? parsed.credentials
    : { failure: `Secret ${GATEWAY_SECRET}: ${parsed.message}` };
}
