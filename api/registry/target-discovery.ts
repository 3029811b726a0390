// TargetDiscovery: makes ClusterTargets of the clusters that another tool's registry lists. Written by administrators,
// followed by the discovery component.
import type { Condition, KubernetesObject } from '../objects/core.ts';
import { ISTHMUS_GROUP } from '../objects/group-version.ts';
import {
  conditionColumn, CONDITIONS, flag, int32, labelSelectorSchema, listOf, objectOf, OBSERVED_GENERATION, recordOf, text,
  type KindDefinition, type Schema,
} from '../objects/schema.ts';
import type { LabelSelector } from '../objects/selectors.ts';
import { REGISTRY_CHOICE_SCHEMA, type RegistryChoice } from './registry-choice.ts';
import { TARGET_TEMPLATE, type TargetTemplate } from './target-template.ts';

/** `Create` makes targets at once, `Propose` lists clusters in status until an administrator approves them. */
export type DiscoveryPolicy = 'Create' | 'Propose';

/** What happens to targets whose clusters have left the registry. */
export interface RemovalRules {
  /** How long a cluster must be gone before its target is removed, in s; {@link DEFAULT_REMOVAL_SECONDS} if missing. */
  readonly afterSeconds?: number;
  /** Percentage of the targets that may leave at once; {@link DEFAULT_REMOVAL_PERCENT} if missing. */
  readonly maxPercent?: number;
  /** Names of targets that may be removed although too many leave at once. */
  readonly confirmed?: readonly string[];
}

/** Default of {@link RemovalRules.afterSeconds}. */
export const DEFAULT_REMOVAL_SECONDS = 600;
/** Default of {@link RemovalRules.maxPercent}. */
export const DEFAULT_REMOVAL_PERCENT = 25;
/** In `spec.namespaces`: all namespaces. */
export const ALL_NAMESPACES = '*';

/** Spec of a TargetDiscovery. */
export interface TargetDiscoverySpec {
  /** The registry: exactly one. */
  readonly from: RegistryChoice;
  /** Namespaces of the registry's objects; {@link ALL_NAMESPACES} for all. */
  readonly namespaces?: readonly string[];
  /** Entries by the labels of the registry's objects; all when missing. */
  readonly selector?: LabelSelector;
  /** `Create` when missing. */
  readonly policy?: DiscoveryPolicy;
  /** With policy `Propose`: names of the clusters that become targets. */
  readonly approved?: readonly string[];
  readonly target?: TargetTemplate;
  readonly removal?: RemovalRules;
}

/** The outcome of one entry of a registry. */
export type EntryState =
  /** It is a target. */
  | 'Target'
  /** Listed, and not approved. */
  | 'Proposed'
  /** The registry has no usable access to it yet. */
  | 'Waiting'
  /** It is being connected to for the first time. */
  | 'Connecting'
  /** It does not answer, or does not accept the credentials. */
  | 'Unreachable'
  /** Its access is of a kind that is not used, or is an address that is not allowed. */
  | 'Refused'
  /** Another target points to the same cluster. */
  | 'Duplicate'
  /** It is the cluster that Isthmus runs in. */
  | 'ThisCluster'
  /** It has left the registry; its target gets no new pods. */
  | 'Left'
  /** It has left the registry together with too many others, so nothing is done about it. */
  | 'Held';

/** One entry of a registry, as last observed. */
export interface DiscoveredCluster {
  /** Kind, namespace and name of the registry's object. */
  readonly entry: string;
  /** Name that the registry knows the cluster by. */
  readonly name: string;
  /** Whether the registry has no name for it, so that `name` is its address. */
  readonly unnamed?: boolean;
  readonly state: EntryState;
  /** Name of its ClusterTarget. */
  readonly target?: string;
  /** UID of the cluster's kube-system Namespace. */
  readonly clusterID?: string;
  /** Why it is in this state, and what to change. */
  readonly message?: string;
}

/** The last observed state of a registry. */
export interface TargetDiscoveryStatus {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  /** Name of the registry in `spec.from`. */
  readonly registry?: string;
  /** Number of entries that the registry has. */
  readonly found?: number;
  /** Number of them that are targets. */
  readonly targets?: number;
  readonly clusters?: readonly DiscoveredCluster[];
}

/** Makes targets of the clusters that a registry lists. */
export interface TargetDiscovery extends KubernetesObject {
  readonly spec: TargetDiscoverySpec;
  readonly status?: TargetDiscoveryStatus;
}

/** Condition of a TargetDiscovery: its registry is served and read. */
export const REGISTRY_READ = 'Ready';
/** Condition of a TargetDiscovery: too many clusters have left at once, so no target is removed. */
export const REMOVALS_HELD = 'RemovalsHeld';
/** Condition of a TargetDiscovery: clusters that other targets lead to as well. */
export const DUPLICATES = 'Duplicates';

/** Maximum number of entries of one registry. */
export const MAX_ENTRIES = 1_000;

function names(description: string, more: Schema = {}): Schema {
  return {
    type: 'array', description, maxItems: 1_000, 'x-kubernetes-list-type': 'set',
    items: { type: 'string', minLength: 1, maxLength: 253 }, ...more,
  };
}

const REMOVAL: Schema = objectOf(
  'What happens to targets whose clusters have left the registry: they get no new pods, and are removed later as ' +
    'target.removalPolicy says. Nothing is removed while the registry cannot be read.',
  {
    afterSeconds: int32(
      `How long a cluster must be gone before its target is removed; ${DEFAULT_REMOVAL_SECONDS} if missing.`,
      { minimum: 1, maximum: 2_592_000 },
    ),
    maxPercent: int32(
      'Percentage of the targets that may leave at once; if more leave, or all of them, nothing is done until they ' +
        `are confirmed. One target may always leave unless it is the last. ${DEFAULT_REMOVAL_PERCENT} if missing.`,
      { minimum: 0, maximum: 100 },
    ),
    confirmed: names('Names of targets that may be removed although too many leave at once.'),
  },
);

const SPEC: Schema = objectOf(
  'Which registry, which of its entries, and what they become.',
  {
    from: REGISTRY_CHOICE_SCHEMA,
    namespaces: names('Namespaces of the registry\'s objects and Secrets; "*" alone for all.', { maxItems: 256 }),
    selector: labelSelectorSchema("Entries by the labels of the registry's objects; all when missing."),
    policy: text('Create (the default) makes targets at once; Propose lists clusters in status until approved.', {
      enum: ['Create', 'Propose'],
    }),
    approved: names('With policy Propose: names of the clusters that become targets.'),
    target: TARGET_TEMPLATE,
    removal: REMOVAL,
  },
  ['from'],
  {
    'x-kubernetes-validations': [
      {
        rule: "has(self.from.ocm) ? !has(self.namespaces) : has(self.namespaces) && size(self.namespaces) > 0",
        message: 'name the namespaces of the registry in namespaces; only ocm has none, since each cluster has its own',
      },
      {
        rule:
          "!has(self.from.dns) || (has(self.policy) && self.policy == 'Propose' && has(self.namespaces) && " +
            "size(self.namespaces) == 1 && !('*' in self.namespaces))",
        message: 'what DNS announces is not trusted by itself: set policy: Propose, and name one namespace, of Secrets',
      },
      {
        rule: "!has(self.namespaces) || !('*' in self.namespaces) || size(self.namespaces) == 1",
        message: '"*" means all namespaces; name no other one beside it',
      },
      {
        rule: "!has(self.approved) || (has(self.policy) && self.policy == 'Propose')",
        message: 'approved is for policy: Propose; without it all clusters become targets',
      },
    ],
  },
);

const CLUSTERS: Schema = listOf('Entries of the registry, and the outcome of each.', recordOf({
  entry: text("Kind, namespace and name of the registry's object."),
  name: text('Name that the registry knows the cluster by.'),
  unnamed: flag('Whether the registry has no name for it; name is its address then.'),
  state: text('The outcome: Target, Proposed, Refused and so on.'),
  target: text('Name of its ClusterTarget.'),
  clusterID: text("UID of the cluster's kube-system Namespace."),
  message: text('Why, and what to change.'),
}, ['entry', 'name', 'state']));

/** CRD of TargetDiscovery. */
export const TARGET_DISCOVERY_KIND: KindDefinition = {
  group: ISTHMUS_GROUP,
  kind: 'TargetDiscovery',
  plural: 'targetdiscoveries',
  shortName: 'tdisc',
  scope: 'Cluster',
  description: "Makes ClusterTargets of the clusters that another tool's registry lists.",
  columns: [
    { name: 'Registry', type: 'string', jsonPath: '.status.registry' },
    conditionColumn('Ready', REGISTRY_READ),
    { name: 'Found', type: 'integer', jsonPath: '.status.found' },
    { name: 'Targets', type: 'integer', jsonPath: '.status.targets' },
    conditionColumn('Held', REMOVALS_HELD),
    { name: 'Policy', type: 'string', jsonPath: '.spec.policy', priority: 1 },
  ],
  required: ['spec'],
  properties: {
    spec: SPEC,
    status: objectOf('What was last observed of the registry.', {
      observedGeneration: OBSERVED_GENERATION,
      conditions: CONDITIONS,
      registry: text('Name of the registry in spec.from.'),
      found: int32('Number of entries that the registry has.'),
      targets: int32('Number of them that are targets.'),
      clusters: CLUSTERS,
    }),
  },
};
