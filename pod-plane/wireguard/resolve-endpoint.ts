// Converts an announced address to WireGuard's form: resolves names, puts IPv6 in brackets.
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { parseAddress } from '../../gateway/protocol/allowed-services.ts';

/** `address:port`; undefined when the text is invalid or its name does not resolve. */
export async function resolveEndpoint(text: string): Promise<string | undefined> {
  const parsed = parseAddress(text);
  if (parsed === undefined) return undefined;
  const found = isIP(parsed.host) === 0
    ? await lookup(parsed.host).catch(() => undefined)
    : { address: parsed.host, family: isIP(parsed.host) };
  return found && `${found.family === 6 ? `[${found.address}]` : found.address}:${parsed.port}`;
}
