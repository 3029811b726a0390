// The proxy of a command's environment, as kubectl and other programs in Go read it: HTTPS_PROXY and NO_PROXY, in upper
// or lower case.
import { isWithin, parseAddressBits, parseRange } from '../../model/network/ip-range.ts';

type Variables = Readonly<Record<string, string>>;

/** A machine reaches itself without a proxy. */
const OWN = ['localhost', '127.0.0.0/8', '::1'];

/** The proxy to this server; undefined where there is none, and for servers that NO_PROXY names. */
export function environmentProxy(server: URL, env: Variables): URL | undefined {
  const named = variable(env, 'HTTPS_PROXY');
  const text = named.includes('://') ? named : `http://${named}`;
  const exceptions = [...OWN, ...variable(env, 'NO_PROXY').split(',')];
  const isUsable = /^https?:/i.test(text) && URL.canParse(text);
  return isUsable && !exceptions.some((each) => holds(each, server)) ? new URL(text) : undefined;
}

function variable(env: Variables, name: string): string {
  return (env[name] || env[name.toLowerCase()] || '').trim();
}

/** Whether an entry of NO_PROXY names the server, with its port or without. */
function holds(entry: string, { hostname, port: given }: URL): boolean {
  const [host, port] = [unbracketed(hostname), given || '443'];
  const text = entry.trim().toLowerCase();
  const range = parseRange(text);
  if (range !== undefined) return isWithin(range, host);
  const [, name = text, only = port] = (isAddress(text) ? undefined : /^(.+):(\d+)$/.exec(text)) ?? [];
  return only === port && isNamed(host, unbracketed(name));
}

/** By its address, or by a domain, which names all below it as well. */
function isNamed(host: string, name: string): boolean {
  if (name === '*' || name === '') return name === '*';
  if (isAddress(name)) return isAddress(host) && canonical(name) === canonical(host);
  const domain = name.replace(/^\*/, '');
  return domain.startsWith('.') ? host.endsWith(domain) : host === domain || host.endsWith(`.${domain}`);
}

function isAddress(text: string): boolean {
  return parseAddressBits(text) !== undefined;
}

function unbracketed(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}

/** The one text that URLs have of an address. */
function canonical(address: string): string {
  return new URL(`https://${address.includes(':') ? `[${address}]` : address}`).hostname;
}
