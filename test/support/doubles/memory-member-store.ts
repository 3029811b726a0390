// The broker's store in memory, with the API server's rule on versions.
import type { ClustersetMember, ClustersetEndpoint } from '../../../api/kinds/gateway.ts';
import type { ExportedService } from '../../../api/kinds/service-discovery.ts';
import type { IssuedSerial, Members } from '../../../gateway/broker/broker-protocol.ts';
import type { MemberStore } from '../../../gateway/broker/member-store.ts';

/** A store whose objects a test may look at and change. */
export class MemoryMemberStore implements MemberStore {
  hasSynced = true;
  readonly clusters = new Map<string, ClustersetMember>();
  readonly endpoints = new Map<string, ClustersetEndpoint>();
  readonly exported = new Map<string, ExportedService>();
  readonly #used = new Set<string>();
  readonly #removed = new Map<string, readonly string[]>();
  readonly #exportListeners: ((name: string, after: ExportedService | undefined) => void)[] = [];
  readonly #listeners: (() => void)[] = [];
  #version = 0;

  members(): Members {
    return { clusters: [...this.clusters.values()], endpoints: [...this.endpoints.values()] };
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async cluster(name: string): Promise<ClustersetMember | undefined> {
    return this.clusters.get(name);
  }

  async listClusters(): Promise<readonly ClustersetMember[]> {
    return [...this.clusters.values()];
  }

  async saveCluster(cluster: ClustersetMember): Promise<boolean> {
    const name = cluster.metadata.name ?? '';
    if (this.clusters.get(name)?.metadata.resourceVersion !== cluster.metadata.resourceVersion) return false;
    this.#version += 1;
    this.clusters.set(name, { ...cluster, metadata: { ...cluster.metadata, resourceVersion: String(this.#version) } });
    this.#tell();
    return true;
  }

  async saveEndpoint(endpoint: ClustersetEndpoint): Promise<void> {
    this.endpoints.set(endpoint.metadata.name ?? '', endpoint);
    this.#tell();
  }

  exports(): readonly ExportedService[] {
    return [...this.exported.values()];
  }

  onExportChange(listener: (name: string, after: ExportedService | undefined) => void): void {
    this.#exportListeners.push(listener);
  }

  async saveExport(exported: ExportedService): Promise<void> {
    this.exported.set(exported.metadata.name ?? '', exported);
    for (const listener of this.#exportListeners) listener(exported.metadata.name ?? '', exported);
  }

  async removeExport(name: string): Promise<void> {
    if (this.exported.delete(name)) for (const listener of this.#exportListeners) listener(name, undefined);
  }

  async serialsOfRemoved(clusterId: string): Promise<readonly string[]> {
    return this.#removed.get(clusterId) ?? [];
  }

  async remove(clusterId: string, certificates: readonly IssuedSerial[]): Promise<void> {
    const serials = certificates.map(({ serial }) => serial);
    this.#removed.set(clusterId, [...this.#removed.get(clusterId) ?? [], ...serials]);
    this.clusters.delete(clusterId);
    for (const [name, { spec }] of this.endpoints) if (spec.clusterID === clusterId) this.endpoints.delete(name);
    for (const [name, { spec }] of this.exported) if (spec.clusterID === clusterId) await this.removeExport(name);
    this.#tell();
  }

  async useToken(id: string): Promise<boolean> {
    if (this.#used.has(id)) return false;
    this.#used.add(id);
    return true;
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
