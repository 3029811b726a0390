// The services that peers may reach through this gateway, by name. A peer names a service, never an address, so it can
// only reach what the cluster's own administrator has listed. Within a service it sends bytes: nothing here reads HTTP.
import { isClusterId } from '../../model/network/gateway-names.ts';

/** Address of a service, as seen from the gateway. */
export interface ServiceAddress {
  readonly host: string;
  readonly port: number;
}

/** Services by name. */
export type AllowedServices = ReadonlyMap<string, ServiceAddress>;

/** The parsed list, or what is wrong with it. */
export type ParsedServices = { readonly kind: 'services'; readonly services: AllowedServices }
  | { readonly kind: 'invalid'; readonly message: string };

/** Parses entries `NAME=HOST:PORT`; an IPv6 address is in brackets. */
export function parseServices(entries: readonly string[]): ParsedServices {
  const services = new Map<string, ServiceAddress>();
  for (const entry of entries) {
    const [, name = '', text = ''] = /^([^=]+)=(.+)$/.exec(entry) ?? [];
    const address = parseAddress(text);
    if (!isClusterId(name) || address === undefined) {
      return { kind: 'invalid', message: `"${entry}" is not NAME=HOST:PORT with a DNS label as its name` };
    }
    if (services.has(name)) return { kind: 'invalid', message: `service "${name}" is given twice` };
    services.set(name, address);
  }
  return { kind: 'services', services };
}

/** Parses `host:port`, with an IPv6 address in brackets; undefined when invalid. */
export function parseAddress(text: string): ServiceAddress | undefined {
  const [, v6, name, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:@/[\]]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = v6 ?? name;
  const port = Number(digits);
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
}

/** The host of a `host:port` that a program printed, without brackets. */
export function hostOf(text: string): string {
  return parseAddress(text)?.host ?? text;
}

/** The listed service in the `:authority` of a CONNECT stream (`name:443`); undefined when it is not listed. */
export function findService(services: AllowedServices, authority: string): ServiceAddress | undefined {
  return services.get(serviceOf(authority));
}

/** The name in an `:authority`. */
export function serviceOf(authority: string): string {
  return authority.replace(/:443$/, '');
}
