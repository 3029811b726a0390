// The status of a TargetDiscovery: conditions, counts, and one line for each entry.
import {
  DUPLICATES, MAX_ENTRIES, REGISTRY_READ, REMOVALS_HELD, type DiscoveredCluster, type TargetDiscovery,
  type TargetDiscoveryStatus,
} from '../../api/registry/target-discovery.ts';
import { withConditions, type ConditionUpdate } from '../../model/objects/conditions.ts';
import { boundedMessage } from '../entry/bounded-entry.ts';
import type { RegistryReading } from '../entry/registry-reading.ts';
import type { Departure } from './departures.ts';
import type { DiscoveryPlan } from './plan-discovery.ts';
import type { PlacedEntry } from './place-entries.ts';

/** What the status is about. */
export interface StatusFacts {
  readonly discovery: TargetDiscovery;
  readonly registry: string;
  readonly reading: RegistryReading;
  readonly plan: DiscoveryPlan;
  /** Why writes failed, by target. */
  readonly failures: ReadonlyMap<string, string>;
  /** RFC 3339. */
  readonly now: string;
}

/** How many names a condition tells. */
const MOST_NAMES = 10;

/** The status to store; the stored one when nothing differs. While the registry cannot be read its entries stay. */
export function toDiscoveryStatus(facts: StatusFacts): TargetDiscoveryStatus {
  const { discovery: { metadata: { generation = 0 }, status: before = {} }, registry, reading, plan, now } = facts;
  const conditions = reading.kind === 'unread'
    ? [readCondition(facts)]
    : [readCondition(facts), heldCondition(plan), duplicatesCondition(plan)];
  const next = withConditions(before, conditions, { generation, now });
  const status = reading.kind === 'unread' ? { ...next, registry } : { ...next, registry, ...entriesOf(facts) };
  return isSame(before, status) ? before : status;
}

/** Field by field: the API server returns a custom resource with its fields sorted. */
function isSame(one: TargetDiscoveryStatus, other: TargetDiscoveryStatus): boolean {
  return one.conditions === other.conditions && one.observedGeneration === other.observedGeneration
    && one.registry === other.registry && one.found === other.found && one.targets === other.targets
    && sameClusters(one.clusters ?? [], other.clusters ?? []);
}

const FIELDS = ['entry', 'name', 'unnamed', 'state', 'target', 'clusterID', 'message'] as const;

function sameClusters(one: readonly DiscoveredCluster[], other: readonly DiscoveredCluster[]): boolean {
  return one.length === other.length
    && one.every((cluster, index) => FIELDS.every((field) => cluster[field] === other[index]?.[field]));
}

function entriesOf({ plan, failures }: StatusFacts): Pick<TargetDiscoveryStatus, 'found' | 'targets' | 'clusters'> {
  const clusters = [
    ...plan.placed.map((entry) => toDiscovered(entry, failures)), ...plan.departures.map(toDeparted),
  ];
  return {
    found: plan.placed.length, targets: plan.placed.filter(({ state }) => state === 'Target').length,
    clusters: clusters.slice(0, MAX_ENTRIES),
  };
}

function toDiscovered(
  { cluster: { entry, name, unnamed }, state, target, clusterId, message }: PlacedEntry,
  failures: ReadonlyMap<string, string>,
): DiscoveredCluster {
  const failure = target === undefined ? undefined : failures.get(target);
  const text = failure === undefined ? message : `ClusterTarget ${target} cannot be written: ${failure}`;
  return {
    entry, name, ...(unnamed === true && { unnamed }), state, ...(target !== undefined && { target }),
    ...(clusterId !== undefined && { clusterID: clusterId }),
    ...(text !== undefined && { message: boundedMessage(text) }),
  };
}

function toDeparted({ target, kind }: Departure): DiscoveredCluster {
  const { name: made, registeredName, entry = '', clusterId, leftAt } = target;
  const message = kind === 'held'
    ? 'it has left the registry together with too many others; nothing is done about it'
    : leftAt === undefined ? 'it has left the registry' : `it has left the registry; no new pods since ${leftAt}`;
  const state = kind === 'held' ? 'Held' : 'Left';
  const named = registeredName === undefined ? { name: made, unnamed: true } : { name: registeredName };
  return { entry, ...named, state, target: made, ...(clusterId !== undefined && { clusterID: clusterId }), message };
}

function readCondition({ reading, registry }: StatusFacts): ConditionUpdate {
  if (reading.kind === 'unread') {
    return { type: REGISTRY_READ, status: 'False', reason: reading.reason, message: reading.message };
  }
  return reading.isComplete
    ? { type: REGISTRY_READ, status: 'True', reason: 'Followed', message: `the registry ${registry} is followed` }
    : {
      type: REGISTRY_READ, status: 'False', reason: 'Interrupted',
      message: 'a watch of the registry is interrupted; what was read before is kept, and nothing is removed',
    };
}

function heldCondition({ departures }: DiscoveryPlan): ConditionUpdate {
  const held = departures.filter(({ kind }) => kind === 'held').map(({ target }) => target.name).toSorted();
  if (held.length === 0) return {
    type: REMOVALS_HELD, status: 'False', reason: 'NothingHeld', message: 'no more targets have left than may at once',
  };
  return {
    type: REMOVALS_HELD, status: 'True', reason: 'TooManyLeft',
    message:
      `${held.length} targets have left the registry at once, more than spec.removal.maxPercent allows, or all: ` +
        `${someOf(held)}. They keep running. Put their names into spec.removal.confirmed to remove them`,
  };
}

function duplicatesCondition({ placed }: DiscoveryPlan): ConditionUpdate {
  const twins = placed.flatMap(({ cluster, twin }) => (twin === undefined ? [] : [`${cluster.entry} is ${twin}`]));
  return twins.length === 0
    ? { type: DUPLICATES, status: 'False', reason: 'AllDistinct', message: 'each entry is a cluster of its own' }
    : {
      type: DUPLICATES, status: 'True', reason: 'SameCluster',
      message: `clusters that another ClusterTarget points to as well: ${someOf(twins)}`,
    };
}

function someOf(names: readonly string[]): string {
  const more = names.length - MOST_NAMES;
  return names.slice(0, MOST_NAMES).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
