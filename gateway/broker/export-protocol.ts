// How members exchange exports through the broker. Bodies are untrusted: their shape and size are validated, and the
// owner follows from the certificate alone.
import { MAX_EXPORTED_ENDPOINTS, type ExportedService } from '../../api/kinds/service-discovery.ts';
import { isDnsLabel } from '../../model/naming/label-syntax.ts';
import { exportedServiceName, MAX_EXPORTED_PORTS } from '../../model/network/gateway-names.ts';
import { sameSpec, type BrokerUpdate, type Parsed } from './broker-protocol.ts';

/** Largest body of one export, in bytes: {@link MAX_EXPORTED_ENDPOINTS} endpoints with host names. */
export const MAX_EXPORT_BYTES = 400_000;
/** Most exports of one member. */
const MAX_EXPORTS = 2_000;
/** Most that they may be together, in MiB of JSON: all members keep copies, and are told of all exports in one line. */
const MAX_EXPORTS_MIB = 16;

const sizes = new WeakMap<ExportedService, number>();

/** In characters of JSON. */
function sizeOf(exported: ExportedService): number {
  const size = sizes.get(exported) ?? JSON.stringify(exported.spec).length;
  sizes.set(exported, size);
  return size;
}

/** Why a member may not have one more export beside its others; undefined when it may. */
export function exportsExcess(exported: ExportedService, others: readonly ExportedService[]): string | undefined {
  const { clusterID } = exported.spec;
  if (others.length >= MAX_EXPORTS) {
    return `"${clusterID}" has ${others.length} exports, the maximum for one member`;
  }
  const size = [exported, ...others].reduce((sum, one) => sum + sizeOf(one), 0);
  return size > MAX_EXPORTS_MIB << 20
    ? `the exports of "${clusterID}" would be larger than ${MAX_EXPORTS_MIB} MiB together, the maximum for one member`
    : undefined;
}

/** Parses the body of a member's export under this name. The API server validates the types of its fields. */
export function parseExport(
  body: unknown, of: { readonly clusterId: string; readonly namespace: string; readonly name: string },
): Parsed<ExportedService> {
  const invalid = (message: string) => ({ kind: 'invalid', message }) as const;
  if (!isDnsLabel(of.namespace) || !isDnsLabel(of.name)) {
    return invalid('namespace and name must be DNS labels of at most 63 characters');
  }
  const spec = typeof body === 'object' && body !== null ? (body as { readonly spec?: unknown }).spec : undefined;
  if (typeof spec !== 'object' || spec === null) return invalid('spec is missing');
  const { slices, ports } = spec as { readonly slices?: unknown; readonly ports?: unknown };
  if (!Array.isArray(slices)) return invalid('spec.slices must be a list');
  const portsOf = (slice: { readonly ports?: unknown } | null) => slice?.ports;
  if ([ports, ...slices.map(portsOf)].some((list) => Array.isArray(list) && list.length > MAX_EXPORTED_PORTS)) {
    return invalid(`the Service or a slice has more than ${MAX_EXPORTED_PORTS} ports`);
  }
  const endpoints = slices.reduce<number>(
    (sum, slice: { readonly endpoints?: unknown } | null) =>
      sum + (Array.isArray(slice?.endpoints) ? slice.endpoints.length : 0),
    0,
  );
  if (endpoints > MAX_EXPORTED_ENDPOINTS) {
    return invalid(`spec.slices has ${endpoints} endpoints; at most ${MAX_EXPORTED_ENDPOINTS} are allowed`);
  }
  const { clusterId: clusterID, namespace, name } = of;
  return {
    kind: 'value',
    value: {
      metadata: { name: exportedServiceName(clusterID, namespace, name) },
      spec: { ...(spec as ExportedService['spec']), clusterID, namespace, name },
    },
  };
}

/** A change to send to the broker. */
export type ExportChange = { readonly kind: 'tell'; readonly object: ExportedService }
  | { readonly kind: 'withdraw'; readonly namespace: string; readonly name: string };

/** The difference between a member's own exports and those at the broker, by object name. */
export function planSharing(
  own: ReadonlyMap<string, ExportedService>, atBroker: ReadonlyMap<string, ExportedService>,
): readonly ExportChange[] {
  return [
    ...[...own].filter(([name, { spec }]) => !sameSpec(atBroker.get(name)?.spec, spec))
      .map(([, object]) => ({ kind: 'tell', object }) as const),
    ...[...atBroker].filter(([name]) => !own.has(name))
      .map(([, { spec: { namespace, name } }]) => ({ kind: 'withdraw', namespace, name }) as const),
  ];
}

/** Own exports that the broker has, whose objects do not show it yet. */
export function newlyShared(
  own: ReadonlyMap<string, ExportedService>, atBroker: ReadonlyMap<string, ExportedService>,
): readonly ExportedService[] {
  return [...own].filter(
    ([name, { spec, metadata, status }]) =>
      status?.sharedGeneration !== metadata.generation && sameSpec(atBroker.get(name)?.spec, spec),
  ).map(([, object]) => object);
}

/** All exports after a line of the stream; an object whose name does not match its spec is ignored. */
export function applyUpdate(
  before: ReadonlyMap<string, ExportedService>, { exports, changedExports = [], goneExports = [] }: BrokerUpdate,
): ReadonlyMap<string, ExportedService> {
  const next = new Map(exports === undefined ? before : []);
  for (const name of goneExports) next.delete(name);
  for (const object of [...(exports ?? []), ...changedExports]) {
    const { clusterID, namespace, name } = object.spec;
    if (object.metadata.name === exportedServiceName(clusterID, namespace, name)) {
      next.set(object.metadata.name, object);
    }
  }
  return next;
}
