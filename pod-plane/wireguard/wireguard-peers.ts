// The peers of this node's WireGuard: which address of each is tried, what the program says about it, and whether its
// gateway answers through the tunnel.
import type { CableConnection } from '../../gateway/protocol/cable-driver.ts';
import { nextAttempt, type Attempt } from '../../gateway/protocol/candidate-address.ts';
import { NO_ROUND_TRIPS, toStatistics } from '../../gateway/protocol/round-trip-statistics.ts';
import { Echo } from '../../gateway/tunnel/echo.ts';
import { inUse, newest, peerStatus } from '../plan/peer-status.ts';
import { tunnelAddress, type PodPeer } from '../plan/pod-plane-plan.ts';
import type { WireguardPeerState } from '../plan/wireguard-protocol.ts';
import { resolveEndpoint } from './resolve-endpoint.ts';
import { hostOf } from '../../gateway/protocol/allowed-services.ts';

/** A connection without an answer for this long is down. */
const DEAD_AFTER_MS = 5_000;

interface PeerRecord {
  peer: PodPeer;
  attempt: Attempt;
  /** `address:port` of each of the peer's addresses, with names resolved. */
  endpoints: readonly string[];
  /** The peer whose names are being resolved. */
  resolving: PodPeer | undefined;
  state: WireguardPeerState | undefined;
  wasConnected: boolean;
}

/** The result of a check of all peers. */
export interface PeerChanges {
  /** Whether a peer was connected or lost. */
  readonly isStatusChanged: boolean;
  /** IDs of the clusters whose next address must be tried. */
  readonly moved: readonly string[];
}

/** The peers by cluster ID. */
export class WireguardPeers {
  readonly #records = new Map<string, PeerRecord>();
  readonly #resolve: typeof resolveEndpoint;
  #echo: Echo | undefined;

  constructor(resolve: typeof resolveEndpoint = resolveEndpoint) {
    this.#resolve = resolve;
  }

  /** Adds or changes a peer. Returns whether it changed: its addresses must then be resolved. */
  put(peer: PodPeer): boolean {
    const known = this.#records.get(peer.clusterId);
    if (known !== undefined && JSON.stringify(known.peer) === JSON.stringify(peer)) return false;
    const isMoved = known === undefined || known.peer.addresses.join() !== peer.addresses.join();
    const attempt = isMoved ? { number: 0, sinceMs: Date.now() } : known.attempt;
    const record =
      known ?? { peer, attempt, endpoints: [], resolving: undefined, state: undefined, wasConnected: false };
    Object.assign(record, { peer, attempt, ...(isMoved && { endpoints: [] }) });
    this.#records.set(peer.clusterId, record);
    return true;
  }

  /** Removes a peer; false when there is none. */
  remove(clusterId: string): boolean {
    const record = this.#records.get(clusterId);
    if (record !== undefined) this.#echo?.forget(tunnelAddress(record.peer.ranges) ?? '');
    return this.#records.delete(clusterId);
  }

  /**
   * Resolves the names among a peer's addresses, unless that is under way; returns whether they lead elsewhere now.
   * While none resolves, what they led to before stays.
   */
  async resolve(clusterId: string): Promise<boolean> {
    const record = this.#records.get(clusterId);
    if (record === undefined || record.resolving === record.peer) return false;
    const { peer } = record;
    record.resolving = peer;
    const endpoints = (await Promise.all(peer.addresses.map(this.#resolve))).flatMap((one) => one ?? []);
    if (record.resolving !== peer) return false; // it has changed meanwhile
    record.resolving = undefined;
    if (endpoints.length === 0 || endpoints.join() === record.endpoints.join()) return false;
    record.endpoints = endpoints;
    return true;
  }

  /** All peers, each with the key first that it uses. */
  inUse(): readonly PodPeer[] {
    return [...this.#records.values()].map(inUse);
  }

  /** The address of a peer that is tried now; undefined when it has none. */
  endpointOf(clusterId: string): string | undefined {
    const { endpoints, attempt } = this.#records.get(clusterId) ?? { endpoints: [], attempt: { number: 0 } };
    return endpoints.length === 0 ? undefined : endpoints[attempt.number % endpoints.length];
  }

  /** Whether a peer has announced another key. */
  get isRotating(): boolean {
    return [...this.#records.values()].some(({ peer }) => peer.publicKeys.length > 1);
  }

  /** Takes the program's states. Returns whether a peer has begun to use another key. */
  observe(observed: readonly WireguardPeerState[]): boolean {
    const states = new Map(observed.map((state) => [state.publicKey, state]));
    let isChanged = false;
    for (const record of this.#records.values()) {
      const before = inUse(record).publicKeys[0];
      record.state = newest(record.peer.publicKeys.flatMap((key) => states.get(key) ?? []));
      if (record.peer.publicKeys.length > 1 && inUse(record).publicKeys[0] !== before) isChanged = true;
    }
    return isChanged;
  }

  /** Asks the gateways for answers from this tunnel address from now on. Throws what opening a socket throws. */
  async askFrom(address: string): Promise<void> {
    if (this.#echo?.address === address) return;
    this.close();
    this.#echo = await Echo.open(address);
  }

  /** Asks every peer's gateway for an answer. */
  askAll(): void {
    for (const { peer } of this.#records.values()) {
      const address = tunnelAddress(peer.ranges);
      if (address !== undefined) this.#echo?.send(address);
    }
  }

  /** Compares with the last look; a peer that does not answer is tried at its next address. */
  look(): PeerChanges {
    let isStatusChanged = false;
    const moved: string[] = [];
    for (const record of this.#records.values()) {
      const answers = this.#answers(record);
      if (answers !== record.wasConnected) isStatusChanged = true;
      record.wasConnected = answers;
      const { attempt, peer, state } = record;
      const signs = { addresses: peer.addresses.length, lastHandshakeMs: state?.lastHandshakeMs ?? 0, answers };
      record.attempt = nextAttempt(attempt, signs, Date.now());
      if (record.attempt !== attempt) moved.push(peer.clusterId);
    }
    return { isStatusChanged, moved };
  }

  #answers({ peer }: PeerRecord): boolean {
    const answeredMs = this.#echo?.state(tunnelAddress(peer.ranges) ?? '').answeredMs;
    return answeredMs !== undefined && performance.now() - answeredMs < DEAD_AFTER_MS;
  }

  /** Status of all peers; `refused` says why the plan excludes one. */
  connections(refused: ReadonlyMap<string, string>): readonly CableConnection[] {
    return [...this.#records.values()].map((record) => this.#connection(record, refused.get(record.peer.clusterId)));
  }

  #connection(record: PeerRecord, refused: string | undefined): CableConnection {
    const { peer, state, endpoints } = record;
    const trips = this.#echo?.state(tunnelAddress(peer.ranges) ?? '').trips ?? NO_ROUND_TRIPS;
    const statistics = toStatistics(trips);
    const seen = state?.endpoint;
    return {
      clusterId: peer.clusterId,
      ...peerStatus({ ...record, refused, answers: this.#answers(record), nowMs: Date.now() }),
      ...(seen !== undefined && { usingIP: hostOf(seen) }),
      usingNAT: seen !== undefined && !endpoints.includes(seen),
      rxBytes: state?.rxBytes ?? 0, txBytes: state?.txBytes ?? 0,
      ...(statistics !== undefined && { latencyRTT: statistics, roundTripMs: trips.last }),
    };
  }

  /** Asks no more. */
  close(): void {
    this.#echo?.close();
    this.#echo = undefined;
  }
}
