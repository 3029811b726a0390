// Which addresses a tenant's Target may be dialled at. Decided by range on the resolved address right before the
// connection is made, because a name may resolve to any address, and to another one a moment later.
import { isWithin, parseAddressBits, parseRange, formatV4, RangeSet, type IpRange } from './ip-range.ts';

/**
 * Ranges that an administrator allows or denies. The longest prefix that contains the address counts; of two equal
 * ones, the one that denies.
 */
export interface AddressChoices {
  readonly allowed: readonly IpRange[];
  readonly denied: readonly IpRange[];
}

/** The rules for an address. */
export interface DialRules extends AddressChoices {
  /** Ranges of the source itself: its API server, Services, nodes and pods. */
  readonly own: readonly IpRange[];
}

/**
 * Addresses that cannot be another cluster's API server (IANA special-purpose registries), and metadata services of
 * clouds. Private ranges are not listed: most clusters are there.
 */
const SPECIAL = [
  '0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16',
  '100.64.0.0/10', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '198.18.0.0/15', '198.51.100.0/24',
  '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4',
  '168.63.129.16/32', // Azure's wire server
  '::/96',
  '100::/64', '64:ff9b:1::/48', '2001::/32', '2001:db8::/32', '2002::/16', 'fe80::/10', 'fec0::/10', 'ff00::/8',
  'fd00:ec2::254/128', 'fd20:ce::254/128', // metadata of AWS and Google Cloud
].flatMap((text) => parseRange(text) ?? []);

/**
 * IPv6 ranges that embed an IPv4 address in their last 32 bits: IPv4-mapped, and the well-known prefix of NAT64 (RFC
 * 6052).
 */
const HOLDS_IPV4 = new RangeSet(['::ffff:0:0/96', '64:ff9b::/96'].flatMap((text) => parseRange(text) ?? []));

/** Whether an address may be dialled; false for an invalid one. */
export function mayDial(address: string, { allowed, denied, own }: DialRules): boolean {
  const reached = reachedAddress(address);
  if (reached === undefined) return false;
  const [allowing, denying] = [longest(allowed, reached), longest(denied, reached)];
  if (allowing !== denying) return allowing > denying;
  return denying === NONE && ![...SPECIAL, ...own].some((range) => isWithin(range, reached));
}

/**
 * Whether no pod can have this address: it is a loopback, link-local or multicast address, or an IPv6 address that
 * maps an IPv4 one and would evade a comparison with IPv4 ranges.
 */
export function isSpecialAddress(address: string): boolean {
  const reached = reachedAddress(address);
  return reached === undefined || reached !== address || NO_PODS.has(reached);
}

/**
 * A set, because it is queried for each status of a pod: it parses the address once. Without most of 240.0.0.0/4: GKE
 * has pods there, and the pod plane, as Submariner's Globalnet, maps ranges that overlap to 242.0.0.0/8.
 */
const NO_PODS = new RangeSet([
  '0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '255.255.255.255/32', '::/96', 'fe80::/10', 'ff00::/8',
].flatMap((text) => parseRange(text) ?? []));

const NONE = -1;

function longest(ranges: readonly IpRange[], address: string): number {
  return ranges.reduce(
    (length, range) => (range.length > length && isWithin(range, address) ? range.length : length), NONE,
  );
}

/** The address that packets are delivered to; undefined for an invalid address. */
function reachedAddress(address: string): string | undefined {
  const bits = parseAddressBits(address);
  if (bits === undefined) return undefined;
  return address.includes(':') && HOLDS_IPV4.has(address) ? formatV4(bits & 0xffff_ffffn) : address;
}
