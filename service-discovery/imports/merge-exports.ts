// Merges exports of one name from several clusters and finds their conflicts (KEP-1645, "Constraints and conflict
// resolution"). The oldest export decides single-valued fields; ports are a union; all endpoints are used. Every member
// computes this from the same ExportedServices, so all get the same import.
import type { ServicePort } from '../../api/objects/core.ts';
import type { ExportedService, ServiceSettings } from '../../api/kinds/service-discovery.ts';
import { acceptedPolicies, acceptedPort } from './accepted-settings.ts';

/** Reasons of the condition Conflict (`multicluster.x-k8s.io/v1beta1`), in the order in which they are named. */
export const CONFLICT_REASONS = [
  'TypeConflict', 'PortConflict', 'SessionAffinityConflict',
  'SessionAffinityConfigConflict', 'InternalTrafficPolicyConflict', 'TrafficDistributionConflict', 'LabelsConflict',
  'AnnotationsConflict',
] as const;

/** One of {@link CONFLICT_REASONS}. */
export type ConflictReason = (typeof CONFLICT_REASONS)[number];

/** A conflict between exports. */
export interface Conflict {
  readonly reason: ConflictReason;
  /** The field, its value in the export of which cluster, and which cluster decides. */
  readonly message: string;
}

/** The merged import. */
export interface MergedExports {
  readonly namespace: string;
  readonly name: string;
  readonly settings: ServiceSettings;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Exports whose endpoints are used, oldest first; those whose type differs from the oldest's are excluded. */
  readonly contributors: readonly ExportedService[];
  readonly conflicts: readonly Conflict[];
}

/** The last time that a Date can hold. */
const LATEST_MS = 8.64e15;

/** When members joined, by ID, in ms since the epoch; NaN where it is unknown. */
export type Joined = ReadonlyMap<string, number>;

/** Oldest first; ties are broken by cluster name, so that every member finds the same order. */
export function oldestFirst(exports: readonly ExportedService[], joined: Joined = new Map()):
  readonly ExportedService[] {
  return exports.toSorted(
    (one, other) =>
      startOf(one, joined) - startOf(other, joined) || (one.spec.clusterID < other.spec.clusterID ? -1 : 1),
  );
}

/**
 * In ms since the epoch. Each cluster reports its own export time, which counts from when the cluster joined at the
 * earliest, so that a newcomer cannot override earlier exports. An invalid timestamp sorts last, so it decides nothing.
 */
function startOf({ spec: { exportedAt, clusterID } }: ExportedService, joined: Joined): number {
  const ms = Date.parse(exportedAt);
  const joinedMs = joined.get(clusterID) ?? NaN;
  if (Number.isNaN(ms)) return LATEST_MS;
  return Number.isNaN(joinedMs) ? ms : Math.max(ms, joinedMs);
}

/** Merges the exports of one namespace and name; undefined when there are none. */
export function mergeExports(exports: readonly ExportedService[], joined: Joined = new Map()): MergedExports
  | undefined {
  const [oldest, ...younger] = oldestFirst(exports, joined);
  if (oldest === undefined) return undefined;
  const { namespace, name, type, labels = {}, annotations = {} } = oldest.spec;
  // of bounded length, whatever the export says: conditions that are too long are rejected
  const since = new Date(startOf(oldest, joined)).toISOString().replace('.000', '');
  const contributors = [oldest, ...younger.filter(({ spec }) => spec.type === type)];
  return {
    namespace, name, labels, annotations, contributors,
    settings: { type, ports: unionOfPorts(contributors), ...acceptedPolicies(oldest.spec) },
    conflicts: CONFLICT_REASONS.flatMap((reason) => findConflict(reason, { oldest, younger, since }) ?? []),
  };
}

/**
 * All ports by name, the oldest export's first. Of a younger export, ports whose name or number is taken are left out,
 * and those that could not be in one Service with the others: a port without a name is its only one. A headless import
 * has no Service. Each port is checked once: a member decides how many it exports.
 */
function unionOfPorts(contributors: readonly ExportedService[]): readonly ServicePort[] {
  const isHeadless = contributors[0]?.spec.type === 'Headless';
  const [names, numbers] = [new Set<string>(), new Set<string>()];
  return contributors.flatMap(({ spec }) => spec.ports.flatMap(acceptedPort)).filter((port) => {
    const { name = '' } = port;
    const number = `${protocolOf(port)}/${port.port}`;
    const isAlone = !isHeadless && names.size > 0 && (name === '' || names.has(''));
    if (isAlone || names.has(name) || numbers.has(number)) return false;
    names.add(name);
    numbers.add(number);
    return true;
  });
}

function protocolOf({ protocol = 'TCP' }: ServicePort): string {
  return protocol;
}

function sortedPairs(map: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(map).map((pair) => JSON.stringify(pair)).toSorted();
}

const WHAT: Readonly<
  Record<
    ConflictReason,
    { readonly words: string; readonly of: (spec: ExportedService['spec']) => unknown; readonly rule: string }
  >
> = {
  TypeConflict: { words: 'headless or not', of: ({ type }) => type, rule: 'endpoints of the other type are not used' },
  PortConflict: {
    words: 'ports',
    of: ({ ports }) => ports.map((port) => [port.name, protocolOf(port), port.port, port.appProtocol].join('/'))
      .toSorted(),
    rule: 'all ports that fit into one Service are served, and the oldest decides where names or numbers clash',
  },
  SessionAffinityConflict:
    { words: 'sessionAffinity', of: ({ sessionAffinity = 'None' }) => sessionAffinity, rule: 'the oldest decides' },
  SessionAffinityConfigConflict: {
    words: 'sessionAffinityConfig', of: ({ sessionAffinityConfig }) => sessionAffinityConfig?.clientIP?.timeoutSeconds,
    rule: 'the oldest decides',
  },
  InternalTrafficPolicyConflict: {
    words: 'internalTrafficPolicy', of: ({ internalTrafficPolicy = 'Cluster' }) => internalTrafficPolicy,
    rule: 'the oldest decides',
  },
  TrafficDistributionConflict:
    { words: 'trafficDistribution', of: ({ trafficDistribution }) => trafficDistribution, rule: 'the oldest decides' },
  LabelsConflict:
    { words: 'exportedLabels', of: ({ labels = {} }) => sortedPairs(labels), rule: 'those of the oldest are used' },
  AnnotationsConflict: {
    words: 'exportedAnnotations', of: ({ annotations = {} }) => sortedPairs(annotations),
    rule: 'those of the oldest are used',
  },
};

/** Session affinity configurations conflict only where the affinity itself is equal. */
function findConflict(
  reason: ConflictReason,
  { oldest, younger, since }: {
    readonly oldest: ExportedService; readonly younger: readonly ExportedService[]; readonly since: string
  },
): Conflict | undefined {
  const { words, of, rule } = WHAT[reason];
  const valueOf = ({ spec }: ExportedService) => JSON.stringify(of(spec)) ?? 'unset';
  const comparable = reason === 'SessionAffinityConfigConflict'
    ? younger.filter(({ spec }) => (spec.sessionAffinity ?? 'None') === (oldest.spec.sessionAffinity ?? 'None'))
    : younger;
  const others = comparable.filter((one) => valueOf(one) !== valueOf(oldest)).map(({ spec }) => spec.clusterID);
  if (others.length === 0) return undefined;
  return {
    reason,
    message:
      `${words} of ${others.join(', ')} differs from that of ${oldest.spec.clusterID}, the oldest export ` +
        `(${since}): ${rule}`,
  };
}
