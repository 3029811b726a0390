// Parses names under `clusterset.local` (KEP-1645, "DNS" and its specification; names of single clusters as in
// Submariner). Pure.

/** The zone of all imports. */
export const CLUSTERSET_ZONE = 'clusterset.local';

/** The subject of a name. `cluster` and `host` narrow it; `port` and `protocol` are those of an SRV query. */
export interface ServiceName {
  readonly kind: 'service';
  readonly namespace: string;
  readonly name: string;
  readonly cluster?: string;
  readonly host?: string;
  readonly port?: string;
  readonly protocol?: string;
}

/**
 * A parsed name: a Service, the version of the schema, an empty non-terminal, a non-existent name, or one outside the
 * zone.
 */
export type ParsedName = ServiceName | { readonly kind: 'version' } | { readonly kind: 'empty' }
  | { readonly kind: 'unknown' } | { readonly kind: 'outside' };

/** Parses a name, case-insensitively, with or without the trailing dot. */
export function parseName(text: string): ParsedName {
  const labels = text.toLowerCase().replace(/\.$/, '').split('.');
  const zone = CLUSTERSET_ZONE.split('.');
  if (labels.slice(-zone.length).join('.') !== CLUSTERSET_ZONE) return { kind: 'outside' };
  const [svc, namespace, name, ...narrower] = labels.slice(0, -zone.length).toReversed();
  if (svc === undefined || (svc === 'svc' && name === undefined)) return { kind: 'empty' };
  if (svc === 'dns-version' && namespace === undefined) return { kind: 'version' };
  if (svc !== 'svc' || namespace === undefined || name === undefined) return { kind: 'unknown' };
  return toServiceName({ namespace, name }, narrower);
}

/**
 * `narrower` are the labels before the Service's name, the nearest first: cluster, host; or, for SRV, cluster,
 * `_protocol`, `_port`.
 */
function toServiceName(
  service: { readonly namespace: string; readonly name: string }, narrower: readonly string[],
): ParsedName {
  const plain = narrower.filter((label) => !label.startsWith('_'));
  const [cluster, host, ...more] = plain;
  const [protocol, port, ...rest] = narrower.slice(plain.length);
  const isOrdered = narrower.slice(0, plain.length).every((label) => !label.startsWith('_'));
  if (more.length > 0 || rest.length > 0 || !isOrdered || (
    protocol !== undefined && (port === undefined || host !== undefined)
  )) return { kind: 'unknown' };
  return {
    kind: 'service', ...service,
    ...(cluster !== undefined && { cluster }), ...(host !== undefined && { host }),
    ...(protocol !== undefined && port !== undefined && {
      protocol: protocol.slice(1).toUpperCase(), port: port.slice(1),
    }),
  };
}

/** The name of a Service, of its part in one cluster, or of one endpoint. */
export function serviceName(
  { namespace, name, cluster, host }: Omit<ServiceName, 'kind' | 'port' | 'protocol'>,
): string {
  return [
    ...(host === undefined ? [] : [host]), ...(cluster === undefined ? [] : [cluster]), name, namespace, 'svc',
    CLUSTERSET_ZONE,
  ].join('.');
}
