// Decides everything about one TargetDiscovery: which targets to make, change, cordon and remove, which credentials to
// swap, and what its status says.
import type { TargetDiscovery } from '../../api/registry/target-discovery.ts';
import { LEFT_REGISTRY_ANNOTATION } from '../../api/objects/keys.ts';
import { CLUSTER_TARGETS, SECRETS } from '../../api/resource-types.ts';
import { toLabelValue } from '../../model/naming/names.ts';
import { deletion, type Command, type Plan } from '../../model/objects/plan.ts';
import type { RegistryReading } from '../entry/registry-reading.ts';
import type { AccessResult } from '../access/access-result.ts';
import { planDepartures, type Departure } from './departures.ts';
import type { KnownTarget } from './known-target.ts';
import { ownTargets, placeEntries, type PlacedEntry } from './place-entries.ts';
import { digestOf, toClusterTarget, toKubeconfigSecret } from './target-objects.ts';

/** Field manager of what discovery applies. */
const FIELD_MANAGER = 'isthmus-discovery';

/** What is known of one TargetDiscovery. */
export interface DiscoveryFacts {
  readonly discovery: TargetDiscovery;
  readonly reading: RegistryReading;
  readonly resultOf: (entry: string) => AccessResult;
  /** All ClusterTargets. */
  readonly targets: readonly KnownTarget[];
  /** The kubeconfig that is kept for a target; undefined when there is none. */
  readonly kubeconfigOf: (target: string) => string | undefined;
  /** When each target was first seen without its entry, in ms since the epoch. */
  readonly seenAt: ReadonlyMap<string, number>;
  readonly ownClusterId: string;
  /** Namespace of kubeconfigs. */
  readonly namespace: string;
  /** In ms since the epoch. */
  readonly now: number;
}

/** What to write about one target. */
export interface TargetWrites {
  readonly target: string;
  readonly plan: Plan;
}

/** The decision. */
export interface DiscoveryPlan {
  /** Each is independent of the others. */
  readonly writes: readonly TargetWrites[];
  readonly placed: readonly PlacedEntry[];
  readonly departures: readonly Departure[];
  /** When to decide again although nothing changes, in ms. */
  readonly againMs: number | undefined;
}

const NOTHING_KNOWN: DiscoveryPlan = { writes: [], placed: [], departures: [], againMs: undefined };

/** Decides. Nothing is decided about a registry that cannot be read. */
export function planDiscovery(facts: DiscoveryFacts): DiscoveryPlan {
  const { discovery, reading, now } = facts;
  if (reading.kind === 'unread') return NOTHING_KNOWN;
  const scope = { targets: facts.targets, discovery: toLabelValue(discovery.metadata.name ?? '') };
  const placed = placeEntries({
    ...scope, clusters: reading.clusters, resultOf: facts.resultOf, spec: discovery.spec,
    ownClusterId: facts.ownClusterId,
  });
  const own = ownTargets(scope);
  const departures = reading.isComplete && reading.areHints !== true ? planDepartures({
    gone: withoutEntry(own, placed), total: own.length, rules: discovery.spec.removal ?? {}, seenAt: facts.seenAt, now,
  }) : [];
  const waits = departures.flatMap((one) => ('ms' in one ? [one.ms] : []));
  return {
    placed, departures,
    writes: [...placed.flatMap((entry) => writesOf(entry, facts)), ...departures.flatMap((one) => departs(one, now))],
    againMs: waits.length === 0 ? undefined : Math.min(...waits),
  };
}

/** Targets that no entry has. */
function withoutEntry(own: readonly KnownTarget[], placed: readonly PlacedEntry[]): readonly KnownTarget[] {
  const kept = new Set(placed.flatMap(({ existing }) => existing?.name ?? []));
  return own.filter(({ name }) => !kept.has(name));
}


function writesOf(placed: PlacedEntry, facts: DiscoveryFacts): readonly TargetWrites[] {
  const { cluster, target, existing, kubeconfig } = placed;
  if (target === undefined) return [];
  const { discovery: { metadata: { name: discovery = '' }, spec }, namespace } = facts;
  const wanted = toClusterTarget({
    name: target, cluster, clusterId: placed.clusterId, template: spec.target ?? {}, discovery, namespace,
  });
  // its Secret is written once it exists: the target owns it
  if (existing === undefined) return [{ target, plan: [{ kind: 'create', type: CLUSTER_TARGETS, object: wanted }] }];
  const plan: Command[] = [];
  if (existing.templateDigest !== digestOf(wanted)) {
    const object = { ...wanted, metadata: { ...wanted.metadata, uid: existing.uid } };
    plan.push({ kind: 'apply', type: CLUSTER_TARGETS, object, fieldManager: FIELD_MANAGER });
  }
  if (existing.leftAt !== undefined) plan.push(patchLeftAt(existing, null));
  if (kubeconfig !== undefined && facts.kubeconfigOf(target) !== kubeconfig) {
    const object = toKubeconfigSecret(existing, kubeconfig, { discovery, namespace });
    plan.push({ kind: 'apply', type: SECRETS, object, fieldManager: FIELD_MANAGER });
  }
  return plan.length === 0 ? [] : [{ target, plan }];
}

function departs(departure: Departure, now: number): readonly TargetWrites[] {
  const { target, kind } = departure;
  if (kind === 'cordon') return [{ target: target.name, plan: [patchLeftAt(target, new Date(now).toISOString())] }];
  if (kind !== 'remove') return [];
  return [{ target: target.name, plan: [deletion(CLUSTER_TARGETS, { name: target.name, uid: target.uid })] }];
}

function patchLeftAt({ name, uid }: KnownTarget, leftAt: string | null): Command {
  return {
    kind: 'patch', type: CLUSTER_TARGETS, at: { name }, patchType: 'merge',
    patch: { metadata: { uid, annotations: { [LEFT_REGISTRY_ANNOTATION]: leftAt } } },
  };
}
