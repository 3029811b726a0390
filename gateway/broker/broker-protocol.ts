// Messages between members and the broker, and the broker's rules. Members' bodies are untrusted: their shape and size
// are validated, and the owner follows from the certificate alone.
import type { ClustersetMember, ClustersetEndpoint } from '../../api/kinds/gateway.ts';
import type { ExportedService } from '../../api/kinds/service-discovery.ts';
import { endpointObjectName, isClusterId } from '../../model/network/gateway-names.ts';
import { doCidrsOverlap, parseRange } from '../../model/network/ip-range.ts';
import { allocateGlobalRanges } from '../../model/network/pod-addresses.ts';
import { parseAddress } from '../protocol/allowed-services.ts';
import { isWireguardKey } from '../protocol/wireguard-keys.ts';
import { parsedJson } from '../../model/objects/json-values.ts';
import { isLater } from '../../model/objects/resource-version.ts';

/** Who the members are, and where. */
export interface Members {
  readonly clusters: readonly ClustersetMember[];
  readonly endpoints: readonly ClustersetEndpoint[];
}

/**
 * A line of the stream to members. Members are always sent in full; exports in full first and then as changes, because
 * there are many.
 */
export interface BrokerUpdate extends Partial<Members> {
  /** All exports of all members. */
  readonly exports?: readonly ExportedService[];
  readonly changedExports?: readonly ExportedService[];
  /** Names of deleted exports. */
  readonly goneExports?: readonly string[];
}

/** What a cluster joins with. */
export interface JoinRequest {
  readonly token: string;
  readonly clusterId: string;
  /** PKCS #10, PEM. */
  readonly signingRequest: string;
  readonly addresses: readonly string[];
  readonly clusterCIDR: readonly string[];
  readonly serviceCIDR: readonly string[];
}

/** Largest body in bytes: a signing request and a few addresses. */
export const MAX_BODY_BYTES = 32_768;
/** Lifetime of a member's certificate in days. */
export const CERTIFICATE_DAYS = 1;
/** Most valid certificates of one member. Renewals leave at most two; only repeated joins make more. */
export const MAX_CERTIFICATES = 50;
/**
 * Annotation of a ClustersetMember in the broker: serial numbers of its possibly valid certificates with their expiry,
 * as JSON.
 */
export const SERIALS_ANNOTATION = 'isthmus.dev/certificate-serials';
const MAX_ADDRESSES = 16;
/** A member has two keys during a key rotation. */
const MAX_KEYS = 2;

/** A parsed body, or what is wrong with it. */
export type Parsed<T> = { readonly kind: 'value'; readonly value: T }
  | { readonly kind: 'invalid'; readonly message: string };

function invalid(message: string): { readonly kind: 'invalid'; readonly message: string } {
  return { kind: 'invalid', message };
}

/** Parses the body of a join request. */
export function parseJoin(body: unknown): Parsed<JoinRequest> {
  const fields = asRecord(body);
  const { token, clusterId, signingRequest } = fields;
  if (typeof token !== 'string' || typeof signingRequest !== 'string') {
    return invalid('token and signingRequest must be strings');
  }
  if (typeof clusterId !== 'string' || !isClusterId(clusterId)) {
    return invalid('clusterId must be a DNS label of at most 63 characters');
  }
  const addresses = parseAddresses(fields);
  if (addresses.kind === 'invalid') return addresses;
  const [clusterCIDR, serviceCIDR] = [parseTexts(fields['clusterCIDR']), parseTexts(fields['serviceCIDR'])];
  const isRange = (text: string) => parseRange(text) !== undefined;
  if (clusterCIDR?.every(isRange) !== true || serviceCIDR?.every(isRange) !== true) return invalid(
    `clusterCIDR and serviceCIDR must be lists of at most ${MAX_ADDRESSES} ranges such as 10.244.0.0/16`,
  );
  return {
    kind: 'value', value: { token, clusterId, signingRequest, addresses: addresses.value, clusterCIDR, serviceCIDR },
  };
}

/** Parses the addresses of a member's driver: `addresses`, with `wireguard` also `publicKeys`. */
export function parseEndpoint(body: unknown, clusterId: string): Parsed<ClustersetEndpoint> {
  const { backend = 'mtls', publicKeys } = asRecord(body);
  if (backend !== 'mtls' && backend !== 'wireguard') return invalid('backend must be mtls or wireguard');
  const addresses = parseAddresses(body);
  if (addresses.kind === 'invalid') return addresses;
  const keys = parseTexts(publicKeys);
  if (keys === undefined || keys.length > MAX_KEYS || !keys.every(isWireguardKey)) {
    return invalid(`publicKeys must be at most ${MAX_KEYS} keys of WireGuard`);
  }
  const spec =
    { clusterID: clusterId, backend, addresses: addresses.value, ...(backend === 'wireguard' && { publicKeys: keys }) };
  return { kind: 'value', value: { metadata: { name: endpointObjectName(clusterId, backend) }, spec } };
}

/** Parses `addresses` of a body. */
function parseAddresses(body: unknown): Parsed<readonly string[]> {
  const addresses = parseTexts(asRecord(body)['addresses']);
  const wrong = addresses?.find((address) => parseAddress(address) === undefined);
  if (addresses === undefined || wrong !== undefined) return invalid(
    `addresses must be at most ${MAX_ADDRESSES} texts HOST:PORT` +
      (wrong === undefined ? '' : `, and "${wrong}" is none`),
  );
  return { kind: 'value', value: addresses };
}

/** Parses `signingRequest` of a body. */
export function parseSigningRequest(body: unknown): Parsed<string> {
  const { signingRequest } = asRecord(body);
  return typeof signingRequest === 'string'
    ? { kind: 'value', value: signingRequest }
    : invalid('signingRequest must be a string');
}

function asRecord(body: unknown): Readonly<Record<string, unknown>> {
  return typeof body === 'object' && body !== null ? (body as Readonly<Record<string, unknown>>) : {};
}

function parseTexts(value: unknown): readonly string[] | undefined {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length > MAX_ADDRESSES) return undefined;
  return value.every((one): one is string => typeof one === 'string' && one.length <= 300) ? value : undefined;
}

/** A certificate that was issued. */
export interface IssuedSerial {
  readonly serial: string;
  /** In ms since the epoch. */
  readonly notAfterMs: number;
}

/** Serial numbers of a member's possibly valid certificates. */
export function issuedSerials({ metadata }: ClustersetMember): readonly IssuedSerial[] {
  const parsed = parsedJson(metadata.annotations?.[SERIALS_ANNOTATION] ?? '');
  return Array.isArray(parsed) ? (parsed as readonly IssuedSerial[]) : [];
}

/** The ClustersetMember with one more certificate; expired ones are dropped. */
export function withSerial(cluster: ClustersetMember, issued: IssuedSerial, nowMs: number): ClustersetMember {
  const serials = [...issuedSerials(cluster).filter(({ notAfterMs }) => notAfterMs > nowMs), issued];
  return {
    ...cluster,
    metadata: {
      ...cluster.metadata,
      annotations: { ...cluster.metadata.annotations, [SERIALS_ANNOTATION]: JSON.stringify(serials) },
    },
  };
}

/** The ClustersetMember with all its certificates revoked. */
export function revokeAll(cluster: ClustersetMember): ClustersetMember {
  const revokedSerials =
    [...new Set([...(cluster.spec.revokedSerials ?? []), ...issuedSerials(cluster).map(({ serial }) => serial)])];
  return { ...cluster, spec: { ...cluster.spec, revokedSerials } };
}

/** Whether a valid certificate for this ID may exist: then no other cluster may take the ID. */
export function isTaken(cluster: ClustersetMember, nowMs: number): boolean {
  const revoked = new Set(cluster.spec.revokedSerials ?? []);
  return issuedSerials(cluster).some(({ serial, notAfterMs }) => notAfterMs > nowMs && !revoked.has(serial))
    || issuedSerials(cluster).length === 0;
}

/**
 * Whether a certificate authenticates a member. One of an earlier member of the same ID, which has left, does not:
 * that it left has removed the object that could have revoked it.
 */
export function speaksFor(cluster: ClustersetMember | undefined, serial: string): boolean {
  if (cluster === undefined || (cluster.spec.revokedSerials ?? []).includes(serial)) return false;
  const issued = issuedSerials(cluster);
  return issued.length === 0 || issued.some((one) => one.serial === serial);
}

/** What the broker adds to a member's own data. */
export interface BrokerAdditions {
  /** Earlier revocations persist. */
  readonly revokedSerials?: readonly string[];
  readonly globalCIDR?: readonly string[];
  readonly joinedAt?: string;
}

/** The objects of a joining member. */
export function toMemberObjects(
  { clusterId, addresses, clusterCIDR, serviceCIDR }: Omit<JoinRequest, 'token' | 'signingRequest'>,
  { revokedSerials = [], globalCIDR = [], joinedAt }: BrokerAdditions,
): { readonly cluster: ClustersetMember; readonly endpoint: ClustersetEndpoint } {
  return {
    cluster: {
      metadata: { name: clusterId },
      spec: {
        clusterID: clusterId, clusterCIDR, serviceCIDR, globalCIDR, revokedSerials,
        ...(joinedAt !== undefined && { joinedAt }),
      },
    },
    endpoint: {
      metadata: { name: endpointObjectName(clusterId, 'mtls') },
      spec: { clusterID: clusterId, backend: 'mtls', addresses },
    },
  };
}

/**
 * Global CIDRs of a member: the existing ones while they fit its pod CIDRs, else new ones that no other member has.
 * Empty when none are left; then its pods are reachable only while no other member uses its ranges.
 */
export function globalRangesFor(
  clusterId: string, clusterCIDR: readonly string[], clusters: readonly ClustersetMember[],
): readonly string[] {
  const before = clusters.find(({ spec }) => spec.clusterID === clusterId)?.spec;
  const { globalCIDR = [] } = before ?? {};
  if (globalCIDR.length > 0 && before?.clusterCIDR?.join() === clusterCIDR.join()) return globalCIDR;
  const taken = clusters.filter(({ spec }) => spec.clusterID !== clusterId)
    .flatMap(({ spec }) => [...(spec.globalCIDR ?? [])]);
  return allocateGlobalRanges(clusterCIDR, taken) ?? [];
}

/**
 * Global CIDRs for a member whose own a member got that was stored before it, as by another broker at the same moment;
 * undefined where none did.
 */
export function replacedRanges(clusterId: string, all: readonly ClustersetMember[]): readonly string[] | undefined {
  const own = all.find(({ spec }) => spec.clusterID === clusterId);
  const others = all.filter((one) => one !== own);
  const { resourceVersion: stored = '' } = own?.metadata ?? {};
  const before = others.filter(({ metadata: { resourceVersion = '' } }) => isLater(stored, resourceVersion))
    .flatMap(({ spec }) => spec.globalCIDR ?? []);
  if (!(own?.spec.globalCIDR ?? []).some((one) => before.some((other) => doCidrsOverlap(one, other)))) return undefined;
  return globalRangesFor(clusterId, own?.spec.clusterCIDR ?? [], others);
}

/** A change to the local copy. */
export type CopyChange<T> = { readonly kind: 'apply'; readonly object: T }
  | { readonly kind: 'delete'; readonly name: string };

/** Changes that make a local copy equal to the broker's. Objects are compared by spec. */
export function planCopy<T extends ClustersetMember | ClustersetEndpoint | ExportedService>(
  local: readonly T[], remote: readonly T[],
): readonly CopyChange<T>[] {
  const wanted = new Map(remote.map((object) => [object.metadata.name ?? '', object]));
  const had = new Map(local.map((object) => [object.metadata.name ?? '', object]));
  const changed =
    [...wanted.values()].filter(({ metadata, spec }) => !sameSpec(had.get(metadata.name ?? '')?.spec, spec));
  return [
    ...changed.map(
      (object) => ({
        kind: 'apply', object: { metadata: { name: object.metadata.name ?? '' }, spec: object.spec } as T,
      }) as const,
    ),
    ...[...had.keys()].filter((name) => !wanted.has(name)).map((name) => ({ kind: 'delete', name }) as const),
  ];
}

/** Whether two specs are equivalent; API servers drop empty lists and reorder fields. */
export function sameSpec(one: object | undefined, other: object): boolean {
  return one !== undefined && canonical(one) === canonical(other);
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value).filter(
    ([, one]) => one !== undefined && !(Array.isArray(one) && one.length === 0),
  ).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return `{${fields.map(([key, one]) => `${key}:${canonical(one)}`).join()}}`;
}
