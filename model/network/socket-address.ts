// Addresses as text where two families of them meet: with a port behind it an IPv6 address is in brackets, and a socket
// that serves both families shows a client's IPv4 address within an IPv6 one.

/** Listens at every address of a machine, of both families. */
export const EVERY_ADDRESS = '::';

/** `host:port`, an IPv6 address in brackets (RFC 3986, 3.2.2). */
export function hostPort(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** A peer's address as it has it: an IPv4 address that was mapped into IPv6 (RFC 4291, 2.5.5.2) in its own form. */
export function unmapped(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
}
