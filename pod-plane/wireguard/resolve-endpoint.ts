// From an announced address to one that WireGuard takes: names are looked up, IPv6 is put in brackets.
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { parseAddress } from '../../gateway/protocol/allowed-services.ts';

/** `address:port`; undefined when the text is no address, or its name has none. */
export async function resolveEndpoint(text: string): Promise<string | undefined> {
  const parsed = parseAddress(text);
  if (parsed === undefined) return undefined;
  const found = isIP(parsed.host) === 0 ? await lookup(parsed.host).catch(() => undefined) : { address: parsed.host, family: isIP(parsed.host) };
  return found && `${found.family === 6 ? `[${found.address}]` : found.address}:${parsed.port}`;
}
