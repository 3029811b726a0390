// Where servers listen on machines with and without IPv6.
import { existsSync } from 'node:fs';
import { EVERY_ADDRESS } from '../model/network/socket-address.ts';

/** Linux has it unless IPv6 is off in the kernel. */
const hasIpv6 = process.platform !== 'linux' || existsSync('/proc/net/if_inet6');

/**
 * The host to give to `listen`. Where the machine has no IPv6, listening at {@link EVERY_ADDRESS} would fail: there it
 * becomes every IPv4 address.
 */
export function listenHost(host: string, withIpv6 = hasIpv6): string {
  return host === EVERY_ADDRESS && !withIpv6 ? '0.0.0.0' : host;
}
