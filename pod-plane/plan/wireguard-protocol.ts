// WireGuard's configuration protocol (wireguard.com/xplatform, "Configuration Protocol"): builds `set` operations and
// parses `get` responses. Unchanged peers are omitted, so that a change never disturbs other peers' traffic.
import { fromHex, toHex } from '../../gateway/protocol/wireguard-keys.ts';

/** A desired peer. */
export interface WireguardPeer {
  /** Base64. */
  readonly publicKey: string;
  /** `address:port`; missing when the peer dials in. */
  readonly endpoint?: string | undefined;
  /** Allowed IPs. No CIDR may belong to two peers. */
  readonly allowedIPs: readonly string[];
  readonly keepaliveSeconds: number;
}

/** A desired interface. */
export interface WireguardConfiguration {
  /** Base64. */
  readonly privateKey: string;
  readonly listenPort: number;
  readonly peers: readonly WireguardPeer[];
}

/** Observed state of a peer. */
export interface WireguardPeerState {
  readonly publicKey: string;
  readonly endpoint?: string;
  /** When the last handshake ended, in ms since the epoch; 0 before the first. */
  readonly lastHandshakeMs: number;
  readonly rxBytes: number;
  readonly txBytes: number;
}

/**
 * The operation that changes an interface from `before` to `after`; undefined when they are equal. `before` is
 * undefined for a new interface.
 */
export function toSetOperation(before: WireguardConfiguration | undefined, after: WireguardConfiguration): string
  | undefined {
  const own = [
    ...(before?.privateKey === after.privateKey ? [] : [`private_key=${toHex(after.privateKey)}`]),
    ...(before?.listenPort === after.listenPort ? [] : [`listen_port=${after.listenPort}`]),
    ...(before === undefined ? ['replace_peers=true'] : []),
  ];
  const had = new Map(before?.peers.map((peer) => [peer.publicKey, peer]));
  const wanted = new Set(after.peers.map(({ publicKey }) => publicKey));
  // Removals first: another peer may take over their CIDRs.
  const removed = [...had.keys()].filter((publicKey) => !wanted.has(publicKey))
    .flatMap((publicKey) => [`public_key=${toHex(publicKey)}`, 'remove=true']);
  const lines = [...own, ...removed, ...after.peers.flatMap((peer) => peerLines(had.get(peer.publicKey), peer))];
  return lines.length === 0 ? undefined : `${['set=1', ...lines].join('\n')}\n\n`;
}

function peerLines(
  before: WireguardPeer | undefined, { publicKey, endpoint, allowedIPs, keepaliveSeconds }: WireguardPeer,
): readonly string[] {
  const lines = [
    ...(endpoint === undefined || before?.endpoint === endpoint ? [] : [`endpoint=${endpoint}`]),
    ...(before?.keepaliveSeconds === keepaliveSeconds ? [] : [`persistent_keepalive_interval=${keepaliveSeconds}`]),
    ...(before?.allowedIPs.join() === allowedIPs.join() ? [] : [
      'replace_allowed_ips=true', ...allowedIPs.map((range) => `allowed_ip=${range}`),
    ]),
  ];
  return lines.length === 0
    ? []
    : [`public_key=${toHex(publicKey)}`, ...(before === undefined ? [] : ['update_only=true']), ...lines];
}

/** The response to an operation: peers, or an error number (`errno=0` is success). */
export function parseAnswer(text: string): { readonly errno: number; readonly peers: readonly WireguardPeerState[] } {
  const peers: Record<string, string>[] = [];
  let errno = 0;
  for (const line of text.split('\n')) {
    const at = line.indexOf('=');
    const [key, value] = [line.slice(0, at), line.slice(at + 1)];
    if (key === 'errno') errno = Number(value);
    else if (key === 'public_key') peers.push({ [key]: value });
    else if (at > 0) Object.assign(peers.at(-1) ?? {}, { [key]: value });
  }
  return { errno, peers: peers.map(toPeerState) };
}

function toPeerState(fields: Readonly<Record<string, string>>): WireguardPeerState {
  const number = (key: string) => Number(fields[key] ?? 0);
  return {
    publicKey: fromHex(fields['public_key'] ?? ''),
    ...(fields['endpoint'] !== undefined && { endpoint: fields['endpoint'] }),
    lastHandshakeMs: number('last_handshake_time_sec') * 1_000 + Math.floor(number('last_handshake_time_nsec') / 1e6),
    rxBytes: number('rx_bytes'),
    txBytes: number('tx_bytes'),
  };
}
