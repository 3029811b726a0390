// Informers for everything that a node's pod plane depends on, and what follows: the gateway candidates, the current
// gateway, and this cluster's identity.
import type { Logger } from 'pino';
import type { Node, Secret } from '../../api/objects/core.ts';
import { ANNOUNCED_KEYS_ANNOTATION, POD_PLANE_BACKEND, type ClustersetEndpoint } from '../../api/kinds/gateway.ts';
import { BROKER_COPY_LABEL, OWN_ENDPOINT_LABEL, TRUE } from '../../api/objects/keys.ts';
import {
  CLUSTERSET_MEMBERS, CLUSTERSET_ENDPOINTS, CLUSTERSET_GATEWAYS, LEASES, NODES, SECRETS,
} from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import { fullInformersOf } from '../../kubernetes/watch/full-objects.ts';
import { endpointObjectName, ownClusterId } from '../../model/network/gateway-names.ts';
import { PLANE_KEY_SECRET } from '../plan/plane-keys.ts';
import { planPlaneMembers, type PlaneMembers } from '../plan/plane-members.ts';
import { gatewayCandidates, readLeaseIdentity, toPlaneNode, type PlaneNode } from '../plan/plane-nodes.ts';

/** Name of the Lease in the install namespace. */
export const POD_PLANE_LEASE = 'isthmus-pod-plane';

/** Informers of a node's pod plane. */
export class PodPlaneState {
  readonly #namespace: string;
  readonly #nodes: Informer<Node, PlaneNode>;
  readonly #clusters;
  readonly #endpoints;
  readonly #gateways;
  readonly #leases;
  readonly #secrets;
  #clusterId: string | undefined;

  constructor({ client, namespace, logger }: {
    readonly client: ClusterClient; readonly namespace: string; readonly logger: Logger
  }) {
    const inform = fullInformersOf({ client, logger });
    this.#namespace = namespace;
    this.#nodes = new Informer({ client, logger, type: NODES, selection: {}, project: toPlaneNode });
    this.#clusters = inform(CLUSTERSET_MEMBERS, { namespace });
    this.#endpoints = inform(CLUSTERSET_ENDPOINTS, { namespace });
    this.#gateways = inform(CLUSTERSET_GATEWAYS, { namespace });
    this.#leases = inform(LEASES, { namespace, name: POD_PLANE_LEASE });
    this.#secrets = inform(SECRETS, { namespace, name: PLANE_KEY_SECRET });
  }

  get #all() {
    return [this.#nodes, this.#clusters, this.#endpoints, this.#gateways, this.#leases, this.#secrets] as const;
  }

  /** Watches everything until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all.map((informer) => informer.run(signal)));
  }

  /** Whether all informers have synced. */
  get hasSynced(): boolean {
    return this.#all.every(({ hasSynced }) => hasSynced);
  }

  /** Resolves when {@link hasSynced} becomes true, or when watching has ended before. */
  async synced(): Promise<void> {
    await Promise.all(this.#all.map((informer) => informer.synced));
  }

  /** Calls back when a node's part may have changed. */
  onChange(listener: () => void): void {
    // renewals change nothing
    this.#leases.onChange(
      (_key, before, after) => before?.spec?.holderIdentity !== after?.spec?.holderIdentity && listener(),
    );
    for (const informer of [this.#nodes, this.#clusters, this.#endpoints, this.#gateways, this.#secrets]) {
      informer.onChange(() => listener());
    }
  }

  /** ID of this cluster, as far as it is known; it stays until another one is reported. */
  get clusterId(): string | undefined {
    const announced = [
      ...this.#endpoints.records(),
    ].find(({ metadata }) => metadata.labels?.[OWN_ENDPOINT_LABEL] === TRUE)?.spec.clusterID;
    this.#clusterId = ownClusterId([...this.#gateways.records()]) ?? this.#clusterId ?? announced;
    return this.#clusterId;
  }

  nodes(): readonly PlaneNode[] {
    return [...this.#nodes.records()];
  }

  node(name: string): PlaneNode | undefined {
    return this.#nodes.get(name);
  }

  /** Whether a node is a candidate for the gateway. */
  isCandidate(name: string): boolean {
    return gatewayCandidates(this.nodes()).some((node) => node.name === name);
  }

  /** The node that holds the Lease. */
  get gateway(): PlaneNode | undefined {
    const [lease] = this.#leases.records();
    return this.#nodes.get(readLeaseIdentity(lease?.spec?.holderIdentity ?? '').node);
  }

  /** The pod plane as a member sees it; undefined while its ClustersetMember object does not exist. */
  members(clusterId: string): PlaneMembers | undefined {
    const nodes = this.nodes().map(({ address }) => address);
    return planPlaneMembers(clusterId, [...this.#clusters.records()], [...this.#endpoints.records()], nodes);
  }

  endpoint(name: string): ClustersetEndpoint | undefined {
    return this.#endpoints.get(`${this.#namespace}/${name}`);
  }

  /** Whether the broker has told the other members of these keys; also where there is no broker. */
  isAnnounced(clusterId: string, publicKeys: readonly string[]): boolean {
    const member = [...this.#clusters.records()].find(({ spec }) => spec.clusterID === clusterId);
    if (member?.metadata.labels?.[BROKER_COPY_LABEL] !== TRUE) return true;
    const { metadata } = this.endpoint(endpointObjectName(clusterId, POD_PLANE_BACKEND)) ?? {};
    return metadata?.annotations?.[ANNOUNCED_KEYS_ANNOTATION] === publicKeys.join(' ');
  }

  /** The Secret with this cluster's key. */
  get keySecret(): Secret | undefined {
    const [secret] = this.#secrets.records();
    return secret;
  }
}
