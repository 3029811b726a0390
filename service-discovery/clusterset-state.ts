// Informers for everything that service discovery needs of its own cluster and of the others, and what follows for one
// name: its export, its import, its DNS records. Every replica has one, because the DNS server of each answers from it.
import type { Logger } from 'pino';
import type { KubernetesObject, Service } from '../api/objects/core.ts';
import type { ClustersetMember, ClustersetGateway } from '../api/kinds/gateway.ts';
import { CLUSTERSET_MEMBERS, CLUSTERSET_GATEWAYS, NAMESPACES, SERVICES } from '../api/resource-types.ts';
import {
  EXPORTED_SERVICES, MCS_SERVICE_NAME_LABEL, OWN_EXPORT_LABEL, SERVICE_EXPORTS, SERVICE_IMPORTS, SERVICE_NAME_LABEL,
  type ExportedService, type ServiceExport, type ServiceImport,
} from '../api/kinds/service-discovery.ts';
import { ENDPOINT_SLICES, type EndpointSlice } from '../api/objects/endpoint-slice.ts';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import { Informer } from '../kubernetes/watch/informer.ts';
import { fullInformersOf } from '../kubernetes/watch/full-objects.ts';
import { exportedServiceName, ownClusterId } from '../model/network/gateway-names.ts';
import { allPodPrefixes, type PodPrefix } from '../model/network/pod-addresses.ts';
import { splitKey } from '../model/pod/pod.ts';
import { toDnsService, type DnsService } from './dns/dns-answer.ts';
import { importServiceName, type ImportView } from './imports/import-objects.ts';
import type { ExistingImport } from './imports/import-plan.ts';
import { mergeExports, type Joined } from './imports/merge-exports.ts';
import { preferenceOf } from './imports/preference.ts';
import { readReachability, type Reachability } from './imports/reachability.ts';

/** What to watch, and where. */
export interface ClustersetStateOptions {
  readonly client: ClusterClient;
  readonly installNamespace: string;
  readonly logger: Logger;
}

/** What is known of one export of this cluster. */
export interface KnownExport {
  readonly serviceExport: ServiceExport | undefined;
  readonly service: Service | undefined;
  readonly slices: readonly EndpointSlice[];
  /** As published to the other members. */
  readonly stored: ExportedService | undefined;
  /** As published while this cluster had another ID. */
  readonly former: readonly ExportedService[];
}

/** Caches keyed by the Service's `namespace/name`. */
export class ClustersetState {
  readonly installNamespace: string;
  readonly #exports: Informer<ServiceExport, ServiceExport>;
  readonly #imports: Informer<ServiceImport, ServiceImport>;
  readonly #services: Informer<Service, Service>;
  readonly #slices: Informer<EndpointSlice, EndpointSlice>;
  readonly #exportedServices: Informer<ExportedService, ExportedService>;
  readonly #clusters: Informer<ClustersetMember, ClustersetMember>;
  readonly #gateways: Informer<ClustersetGateway, ClustersetGateway>;
  /** Whether each takes new objects: one that is being deleted does not. */
  readonly #namespaces: Informer<KubernetesObject, boolean>;
  #clusterId: string | undefined;
  #prefixes: ReadonlyMap<string, readonly PodPrefix[]> = new Map();
  #joined: Joined = new Map();
  #reachability: Reachability = readReachability([]);

  constructor({ client, installNamespace, logger }: ClustersetStateOptions) {
    this.installNamespace = installNamespace;
    const inform = fullInformersOf({ client, logger });
    const own = { namespace: installNamespace };
    this.#exports = inform(SERVICE_EXPORTS);
    this.#imports = inform(SERVICE_IMPORTS);
    this.#services = inform(SERVICES);
    this.#slices = inform(ENDPOINT_SLICES, {
      indexes: {
        service: (slice) => keyBy(slice, SERVICE_NAME_LABEL), imported: (slice) => keyBy(slice, MCS_SERVICE_NAME_LABEL),
      },
    });
    this.#exportedServices =
      inform(EXPORTED_SERVICES, { ...own, indexes: { key: ({ spec }) => `${spec.namespace}/${spec.name}` } });
    this.#clusters = inform(CLUSTERSET_MEMBERS, own);
    this.#gateways = inform(CLUSTERSET_GATEWAYS, own);
    const project = ({ metadata }: KubernetesObject) => metadata.deletionTimestamp === undefined;
    this.#namespaces = new Informer({ client, logger, type: NAMESPACES, selection: {}, project });
    this.#clusters.onChange(() => this.#learnMembers());
    this.#gateways.onChange(() => this.#learnGateways());
    this.#exportedServices.onChange((_key, _before, after) => {
      if (after?.metadata.labels?.[OWN_EXPORT_LABEL] === 'true') this.#clusterId ??= after.spec.clusterID;
    });
  }

  /** Watches everything until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all.map((informer) => informer.run(signal)));
  }

  /** Whether all informers have synced. */
  get hasSynced(): boolean {
    return this.#all.every(({ hasSynced }) => hasSynced);
  }

  /** Resolves when {@link hasSynced} becomes true. */
  async synced(): Promise<void> {
    await Promise.all(this.#all.map((informer) => informer.synced));
  }

  get #all() {
    return [
      this.#exports, this.#imports, this.#services, this.#slices, this.#exportedServices, this.#clusters,
      this.#gateways,
      this.#namespaces,
    ] as const;
  }

  /** ID of this cluster; undefined before it has joined. */
  get clusterId(): string | undefined {
    return this.#clusterId;
  }

  /** The same while this cluster is a member: its gateway names it also after it has left. */
  get memberId(): string | undefined {
    return this.#joined.has(this.#clusterId ?? '') ? this.#clusterId : undefined;
  }

  /** Pod ranges of this cluster that the other members know. */
  get ownRanges(): readonly string[] | undefined {
    return this.#prefixes.get(this.#clusterId ?? '')?.map(({ own }) => own);
  }

  /**
   * Whether {@link clusterId} is known where it is needed. All gateways may be gone, as while a cluster starts: then
   * nobody knows which exports are its own.
   */
  get knowsItself(): boolean {
    return this.#clusterId !== undefined || this.#exportedServices.keys()[Symbol.iterator]().next().done === true;
  }

  /** Calls back with each key whose export or import may have changed. */
  onChange(listener: (key: string) => void): void {
    const tellAll = () => this.keys().forEach(listener);
    let before = '';
    const members = () => {
      const { unreachable, podPlane, importAddress } = this.#reachability;
      const now = JSON.stringify([
        this.#clusterId, [...unreachable].toSorted(), [...podPlane].toSorted(), importAddress, [...this.#prefixes],
        [...this.#joined],
      ]);
      if (now === before) return;
      before = now;
      tellAll();
    };
    for (const informer of [this.#exports, this.#imports]) informer.onChange((key) => listener(key));
    this.#services.onChange((key, before, after) => {
      listener(key);
      const of = (after ?? before)?.metadata;
      const imported = of?.labels?.[MCS_SERVICE_NAME_LABEL];
      if (imported !== undefined) listener(`${of?.namespace}/${imported}`);
    });
    this.#slices.onChange((_key, before, after) => {
      for (const slice of [before, after]) for (const label of [SERVICE_NAME_LABEL, MCS_SERVICE_NAME_LABEL]) {
        const key = slice && keyBy(slice, label);
        if (key !== undefined) listener(key);
      }
    });
    this.#exportedServices.onChange((_key, before, after) => {
      const spec = (after ?? before)?.spec;
      if (spec !== undefined) listener(`${spec.namespace}/${spec.name}`);
      members();
    });
    this.#clusters.onChange(members);
    this.#gateways.onChange(members);
    this.#namespaces.onChange((name, before, after) => {
      if (before !== after) {
        for (const key of this.keys()) if (key.startsWith(`${name}/`)) listener(key);
      }
    });
  }

  /** Keys of all exports of all clusters, and of all imports. */
  keys(): readonly string[] {
    return [...new Set(
      [...this.#exports.keys(), ...this.#imports.keys(), ...[...this.#exportedServices.records()].map(
        ({ spec }) => `${spec.namespace}/${spec.name}`,
      )],
    )];
  }

  #learnMembers(): void {
    const specs = [...this.#clusters.records()].map(({ spec }) => spec);
    this.#prefixes = allPodPrefixes(specs);
    this.#joined = new Map(specs.map(({ clusterID, joinedAt = '' }) => [clusterID, Date.parse(joinedAt)]));
  }

  #learnGateways(): void {
    const gateways = [...this.#gateways.records()];
    this.#clusterId = ownClusterId(gateways) ?? this.#clusterId;
    this.#reachability = readReachability(gateways);
  }

  /** What is known of an export of this cluster. */
  exportOf(key: string): KnownExport {
    const { namespace, name } = splitKey(key);
    const id = this.#clusterId;
    const own = id === undefined
      ? []
      : this.#exportedServices.by('key', key).filter(({ metadata }) => metadata.labels?.[OWN_EXPORT_LABEL] === 'true');
    const isCurrent = ({ metadata }: ExportedService) =>
      metadata.name === exportedServiceName(id ?? '', namespace, name);
    return {
      serviceExport: this.#exports.get(key), service: this.#services.get(key), slices: this.#slices.by('service', key),
      stored: own.find(isCurrent), former: own.filter((one) => !isCurrent(one)),
    };
  }

  /**
   * An import as seen from this cluster; undefined when no cluster exports it, or when this cluster is not a member.
   */
  view(key: string): ImportView | undefined {
    const merged = mergeExports(this.#exportedServices.by('key', key), this.#joined);
    if (merged === undefined || this.#clusterId === undefined) return undefined;
    return {
      clusterId: this.#clusterId, merged, prefixes: this.#prefixes, ...this.#reachability,
      ips: clusterIpsOf(this.#services.get(`${merged.namespace}/${importServiceName(merged.name)}`)),
      preference: preferenceOf(this.#services.get(key)),
    };
  }

  /** The existing objects of an import. */
  existing(key: string): ExistingImport {
    const { namespace, name } = splitKey(key);
    return {
      serviceImport: this.#imports.get(key), service: this.#services.get(`${namespace}/${importServiceName(name)}`),
      slices: this.#slices.by('imported', key),
    };
  }

  /**
   * Whether this cluster has a namespace, which is not being deleted: an import exists where its namespace does
   * (KEP-1645, "namespace sameness").
   */
  hasNamespace(name: string): boolean {
    return this.#namespaces.get(name) === true;
  }

  /** The data that DNS names of a Service are answered from. */
  dnsService(namespace: string, name: string): DnsService | undefined {
    const view = this.view(`${namespace}/${name}`);
    if (view === undefined || !this.hasNamespace(namespace)) return undefined;
    return toDnsService(view, clusterIpsOf(this.#services.get(`${namespace}/${name}`)));
  }
}

/** The addresses of a Service; none of a headless one, and before they are allocated. */
function clusterIpsOf(service: Service | undefined): readonly string[] {
  const { clusterIP = '', clusterIPs = [clusterIP] } = service?.spec ?? {};
  return clusterIPs.filter((ip) => ip !== '' && ip !== 'None');
}

function keyBy({ metadata }: KubernetesObject, label: string): string | undefined {
  const name = metadata.labels?.[label];
  return name === undefined ? undefined : `${metadata.namespace}/${name}`;
}
