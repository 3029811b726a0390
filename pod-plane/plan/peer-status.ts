// Status of a pod-plane peer, with what to change, and which of its keys it uses.
import type { CableConnection } from '../../gateway/protocol/cable-driver.ts';
import type { Attempt } from '../../gateway/protocol/candidate-address.ts';
import type { PodPeer } from './pod-plane-plan.ts';
import type { WireguardPeerState } from './wireguard-protocol.ts';

/** Observed state of a peer. */
export interface PeerFacts {
  readonly peer: PodPeer;
  readonly attempt: Attempt;
  /** `address:port` of those of its addresses that were resolved. */
  readonly endpoints: readonly string[];
  readonly state: WireguardPeerState | undefined;
  /** Why it is excluded from the plan. */
  readonly refused: string | undefined;
  /** Whether it answers through the tunnel. */
  readonly answers: boolean;
  readonly nowMs: number;
}

/** Lifetime of a WireGuard session after its handshake, in ms (WireGuard, `REJECT_AFTER_TIME`). */
const SESSION_MS = 180_000;

/** The status of the connection. */
export function peerStatus(
  { peer, attempt, endpoints, state, refused, answers, nowMs }: PeerFacts,
): Pick<CableConnection, 'status' | 'statusMessage' | 'cause'> {
  const { clusterId, addresses } = peer;
  if (refused !== undefined) return { status: 'error', cause: 'protocol', statusMessage: refused };
  if (answers) return { status: 'connected', statusMessage: 'connected' };
  if (nowMs - (state?.lastHandshakeMs ?? 0) < SESSION_MS) {
    return {
      status: 'error', cause: 'unreachable',
      statusMessage:
        `${clusterId} shakes hands, but does not answer through the tunnel: it may be starting or gone, or a packet ` +
          'filter there drops what comes from it',
    };
  }
  if (addresses.length === 0) {
    return { status: 'connecting', statusMessage: `waiting for ${clusterId}, which can only dial out` };
  }
  const where = `${addresses.join(', ')} (UDP)`;
  if (endpoints.length === 0) {
    return {
      status: 'error', cause: 'name',
      statusMessage: `${where}: no address was found; correct the name, or look at the DNS of this node`,
    };
  }
  if (attempt.number < endpoints.length) return { status: 'connecting', statusMessage: `dialling ${where}` };
  return {
    status: 'error', cause: 'unreachable',
    statusMessage:
      `${where}: no handshake; look for a firewall that drops UDP on the way, a wrong address, or a key that has ` +
        'changed',
  };
}

/** The peer with the key of its latest handshake first: during a key rotation that is the one in use. */
export function inUse({ peer, state }: Pick<PeerFacts, 'peer' | 'state'>): PodPeer {
  const { publicKeys } = peer;
  if (state === undefined || state.lastHandshakeMs === 0 || !publicKeys.includes(state.publicKey)) return peer;
  return { ...peer, publicKeys: [state.publicKey, ...publicKeys.filter((key) => key !== state.publicKey)] };
}

/** The state with the latest handshake. */
export function newest(states: readonly WireguardPeerState[]): WireguardPeerState | undefined {
  return states.toSorted((one, other) => other.lastHandshakeMs - one.lastHandshakeMs)[0];
}
