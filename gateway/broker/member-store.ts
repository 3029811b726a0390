// The broker's storage: ClustersetMember and ClustersetEndpoint objects in its namespace, and a Secret of used tokens
// and of certificates of members that have left.
import type { Logger } from 'pino';
import type { ClustersetMember, ClustersetEndpoint } from '../../api/kinds/gateway.ts';
import { CLUSTERSET_MEMBERS, CLUSTERSET_ENDPOINTS, SECRETS } from '../../api/resource-types.ts';
import { EXPORTED_SERVICES, type ExportedService } from '../../api/kinds/service-discovery.ts';
import { isAlreadyExists, isConflict, isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import { fullInformersOf } from '../../kubernetes/watch/full-objects.ts';
import type { IssuedSerial, Members } from './broker-protocol.ts';

/** Storage operations. Reads for decisions are uncached. */
export interface MemberStore {
  /** Whether {@link members} and {@link exports} are complete. */
  readonly hasSynced: boolean;
  /** Members for the stream; possibly slightly stale. */
  members(): Members;
  /** Calls back when {@link members} changes. */
  onChange(listener: () => void): void;
  cluster(name: string): Promise<ClustersetMember | undefined>;
  listClusters(): Promise<readonly ClustersetMember[]>;
  /** Creates it, or replaces this version. False on a conflict. */
  saveCluster(cluster: ClustersetMember): Promise<boolean>;
  saveEndpoint(endpoint: ClustersetEndpoint): Promise<void>;
  /** Exports of all members; possibly slightly stale. */
  exports(): readonly ExportedService[];
  /** Calls back for each changed export; without an object when it was deleted. */
  onExportChange(listener: (name: string, after: ExportedService | undefined) => void): void;
  saveExport(exported: ExportedService): Promise<void>;
  removeExport(name: string): Promise<void>;
  /** Removes a member: its ClustersetMember, Endpoints and exports. Its certificates are remembered while they last. */
  remove(clusterId: string, certificates: readonly IssuedSerial[], nowMs: number): Promise<void>;
  /** Serial numbers of certificates of earlier members of this ID that were removed and whose certificates may last. */
  serialsOfRemoved(clusterId: string): Promise<readonly string[]>;
  /** Marks a token as used. False when it was already used. */
  useToken(id: string, expiresMs: number, nowMs: number): Promise<boolean>;
}

/** Secret of used tokens, and of certificates of removed members, until they expire. */
export const USED_TOKENS_SECRET = 'isthmus-broker-used-tokens';

/** The store in Kubernetes. */
export class KubernetesMemberStore implements MemberStore {
  readonly #client: ClusterClient;
  readonly #namespace: string;
  readonly #clusters: Informer<ClustersetMember, ClustersetMember>;
  readonly #endpoints: Informer<ClustersetEndpoint, ClustersetEndpoint>;
  readonly #exports: Informer<ExportedService, ExportedService>;

  constructor(client: ClusterClient, namespace: string, logger: Logger) {
    this.#client = client;
    this.#namespace = namespace;
    const inform = fullInformersOf({ client, logger });
    this.#clusters = inform(CLUSTERSET_MEMBERS, { namespace });
    this.#endpoints = inform(CLUSTERSET_ENDPOINTS, { namespace });
    this.#exports = new Informer({
      client, logger, type: EXPORTED_SERVICES, selection: { namespace },
      project: ({ metadata, spec }): ExportedService => ({ metadata: { name: metadata.name ?? '' }, spec }),
    });
  }

  /** Follows the objects until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#clusters.run(signal), this.#endpoints.run(signal), this.#exports.run(signal)]);
  }

  get hasSynced(): boolean {
    return [this.#clusters, this.#endpoints, this.#exports].every(({ hasSynced }) => hasSynced);
  }

  members(): Members {
    return { clusters: [...this.#clusters.records()], endpoints: [...this.#endpoints.records()] };
  }

  onChange(listener: () => void): void {
    this.#clusters.onChange(listener);
    this.#endpoints.onChange(listener);
  }

  cluster(name: string): Promise<ClustersetMember | undefined> {
    return this.#client.get(CLUSTERSET_MEMBERS, { namespace: this.#namespace, name }).catch(unless(isNotFound));
  }

  listClusters(): Promise<readonly ClustersetMember[]> {
    return this.#client.list(CLUSTERSET_MEMBERS, { namespace: this.#namespace });
  }

  async saveCluster(cluster: ClustersetMember): Promise<boolean> {
    const { name = '', resourceVersion, annotations } = cluster.metadata;
    const at = { namespace: this.#namespace, name };
    if (resourceVersion === undefined) {
      return (
        await this.#client
          .create(CLUSTERSET_MEMBERS, { ...cluster, metadata: { ...cluster.metadata, namespace: this.#namespace } })
          .catch(unless(isAlreadyExists))
      ) !== undefined;
    }
    const patch = { metadata: { resourceVersion, annotations }, spec: cluster.spec };
    return (
      await this.#client.patch(CLUSTERSET_MEMBERS, at, { patchType: 'merge', patch }).catch(unless(isConflict))
    ) !== undefined;
  }

  async saveEndpoint(endpoint: ClustersetEndpoint): Promise<void> {
    await this.#client.apply(
      CLUSTERSET_ENDPOINTS, {
        ...endpoint, metadata: { name: endpoint.metadata.name ?? '', namespace: this.#namespace },
      },
      'isthmus-broker',
    );
  }

  exports(): readonly ExportedService[] {
    return [...this.#exports.records()];
  }

  onExportChange(listener: (name: string, after: ExportedService | undefined) => void): void {
    this.#exports.onChange((key, _before, after) => listener(key.slice(key.indexOf('/') + 1), after));
  }

  async saveExport({ metadata: { name = '' }, spec }: ExportedService): Promise<void> {
    await this.#client.apply(
      EXPORTED_SERVICES, { metadata: { name, namespace: this.#namespace }, spec } as ExportedService, 'isthmus-broker',
    );
  }

  async removeExport(name: string): Promise<void> {
    await this.#client.delete(EXPORTED_SERVICES, { namespace: this.#namespace, name }).catch(unless(isNotFound));
  }

  async remove(clusterId: string, certificates: readonly IssuedSerial[], nowMs: number): Promise<void> {
    // an earlier attempt to remove it may have remembered some, and it may have renewed its certificate since
    const known = new Set(await this.serialsOfRemoved(clusterId));
    const ends = certificates.filter(({ serial, notAfterMs }) => notAfterMs > nowMs && !known.has(serial))
      .map(({ serial, notAfterMs }) => [`${removedPrefix(clusterId)}${serial}`, notAfterMs] as const);
    if (ends.length > 0) await this.#remember(new Map(ends), nowMs);
    await removeMember(this.#client, this.#namespace, clusterId);
    await this.#client.delete(CLUSTERSET_MEMBERS, { namespace: this.#namespace, name: clusterId })
      .catch(unless(isNotFound));
  }

  async serialsOfRemoved(clusterId: string): Promise<readonly string[]> {
    const prefix = removedPrefix(clusterId);
    const found = await this.#client.get(SECRETS, this.#remembered).catch(unless(isNotFound));
    return Object.keys(found?.data ?? {}).flatMap((key) => (key.startsWith(prefix) ? [key.slice(prefix.length)] : []));
  }

  useToken(id: string, expiresMs: number, nowMs: number): Promise<boolean> {
    return this.#remember(new Map([[id, expiresMs]]), nowMs);
  }

  get #remembered() {
    return { namespace: this.#namespace, name: USED_TOKENS_SECRET };
  }

  /** Remembers names until their ends, in ms since the epoch. False when one of them is remembered already. */
  async #remember(ends: ReadonlyMap<string, number>, nowMs: number): Promise<boolean> {
    const at = this.#remembered;
    for (;;) {
      const found = await this.#client.get(SECRETS, at).catch(unless(isNotFound));
      const used = Object.entries(found?.data ?? {});
      if (used.some(([known]) => ends.has(known))) return false;
      const expired = used.filter(([, end]) => Number(Buffer.from(end, 'base64').toString()) < nowMs)
        .map(([known]) => [known, null] as const);
      const data = Object.fromEntries(
        [...ends].map(([name, end]) => [name, Buffer.from(String(end)).toString('base64')]),
      );
      const saved =
        found === undefined
          ? await this.#client.create(SECRETS, { metadata: at, data } as object as typeof found & object)
            .catch(unless(isAlreadyExists))
          : await this.#client.patch(SECRETS, at, {
            patchType: 'merge',
            patch: {
              metadata: { resourceVersion: found.metadata.resourceVersion },
              data: { ...Object.fromEntries(expired), ...data },
            },
          }).catch(unless(isConflict));
      if (saved !== undefined) return true;
    }
  }
}

/** No token's ID begins like this, and no cluster's ID has a dot. */
function removedPrefix(clusterId: string): string {
  return `removed.${clusterId}.`;
}

/**
 * Removes a member's Endpoints and exports from a broker's namespace; its ClustersetMember keeps the record of
 * who it was.
 */
export async function removeMember(client: ClusterClient, namespace: string, clusterId: string): Promise<void> {
  for (const type of [CLUSTERSET_ENDPOINTS, EXPORTED_SERVICES]) {
    for (const { metadata, spec } of await client.list<ClustersetEndpoint | ExportedService>(type, { namespace })) {
      if (spec.clusterID === clusterId) await client.delete(type, { namespace, name: metadata.name ?? '' })
        .catch(unless(isNotFound));
    }
  }
}
