// Which addresses a target that is not an administrator's may be dialled at. Decided by range on the address that a name was resolved to, right
// before the connection is made: a name may lead anywhere, and elsewhere a moment later.
import { isWithin, parseAddressBits, parseRange, formatV4, type IpRange } from './ip-range.ts';

/** Ranges that an administrator has decided on. Of those that hold an address the longest prefix counts; of two alike, the one that denies. */
export interface AddressChoices {
  readonly allowed: readonly IpRange[];
  readonly denied: readonly IpRange[];
}

/** What an address is judged by. */
export interface DialRules extends AddressChoices {
  /** Ranges of the source itself: its API server, Services, nodes and pods. */
  readonly own: readonly IpRange[];
}

/**
 * Addresses at which no other cluster's API server is (IANA special-purpose registries), and metadata services of clouds. Private ranges are
 * not among them: that is where most clusters are.
 */
const SPECIAL = [
  '0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '100.64.0.0/10', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '198.18.0.0/15', '198.51.100.0/24',
  '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4',
  '168.63.129.16/32', // Azure's wire server
  '::/96', '100::/64', '64:ff9b:1::/48', '2001::/32', '2001:db8::/32', '2002::/16', 'fe80::/10', 'fec0::/10', 'ff00::/8',
  'fd00:ec2::254/128', 'fd20:ce::254/128', // metadata of AWS and Google Cloud
].flatMap((text) => parseRange(text) ?? []);

/** IPv6 ranges whose last 32 bits are the IPv4 address that is reached: IPv4-mapped, and the well-known prefix of NAT64 (RFC 6052). */
const HOLDS_IPV4 = ['::ffff:0:0/96', '64:ff9b::/96'].flatMap((text) => parseRange(text) ?? []);

/** Whether an address may be dialled. What is no address may not. */
export function mayDial(address: string, { allowed, denied, own }: DialRules): boolean {
  const reached = reachedAddress(address);
  if (reached === undefined) return false;
  const [allowing, denying] = [longest(allowed, reached), longest(denied, reached)];
  if (allowing !== denying) return allowing > denying;
  return denying === NONE && ![...SPECIAL, ...own].some((range) => isWithin(range, reached));
}

/** Whether pods can have an address at all: it is none that means this host, a link or a group. */
export function isSpecialAddress(address: string): boolean {
  const reached = reachedAddress(address);
  return reached === undefined || NO_PODS.some((range) => isWithin(range, reached));
}

const NO_PODS = ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '240.0.0.0/4', '::/96', 'fe80::/10', 'ff00::/8'].flatMap((text) => parseRange(text) ?? []);

const NONE = -1;

function longest(ranges: readonly IpRange[], address: string): number {
  return ranges.reduce((length, range) => (range.length > length && isWithin(range, address) ? range.length : length), NONE);
}

/** The address that packets end up at; undefined for what is no address. */
function reachedAddress(address: string): string | undefined {
  const bits = parseAddressBits(address);
  if (bits === undefined) return undefined;
  return HOLDS_IPV4.some((range) => isWithin(range, address)) ? formatV4(bits & 0xffff_ffffn) : address;
}
