// Addresses of both families as text. Before a port an IPv6 address is in brackets. A dual-stack socket shows a
// client's IPv4 address as an IPv4-mapped IPv6 address.

/** Listens at every address of a machine, of both families. */
export const EVERY_ADDRESS = '::';

/** `host:port`, an IPv6 address in brackets (RFC 3986, 3.2.2). */
export function hostPort(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** A peer's own address: the IPv4 address of an IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2). */
export function unmapped(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
}
