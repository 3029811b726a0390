// Specs of placement policies that somebody may write, and what each of them is told: the unit test asks our own check,
// the integration test a real API server.
import type { PolicyName } from '../../../cli/placement/what-if-policy.ts';

/** A spec, and what is wrong with it; nothing where it is valid. */
export interface WrittenCase {
  readonly what: string;
  readonly kind: PolicyName['kind'];
  readonly spec: unknown;
  readonly problem?: RegExp;
  /** API servers drop unknown fields; kubectl refuses them. */
  readonly isDropped?: boolean;
}

const EU = { matchLabels: { region: 'eu' } };
const [OWN, CLUSTERS] = ['PlacementPolicy', 'ClusterPlacementPolicy'] as const;
const patch = (path: string) => ({ overrides: [{ targets: EU, patch: [{ op: 'remove', path }] }] });

const valid: readonly (readonly [what: string, kind: PolicyName['kind'], spec: unknown])[] = [
  ['nothing', OWN, {}], ['a requirement', OWN, { require: EU }], ['a choice', OWN, { failover: 'Fenced' }],
  ['tiers', OWN, { tiers: [{ targets: EU, waitSeconds: 30 }, { targets: {} }] }],
  ['shares', OWN, { replicas: { shares: [{ targets: EU, weight: 2 }], whenUnsatisfiable: 'DoNotSchedule' } }],
  ['spread', OWN, { spread: [{ topologyKey: 'region', maxSkew: 2 }] }],
  ['weights', OWN, { weights: { cost: 0, rtt: 100 } }],
  ['an expression', OWN, { forbid: { matchExpressions: [{ key: 'a', operator: 'Exists' }] } }],
  ['a patch of scheduling', OWN, patch('/spec/nodeSelector/disk')], ['a patch', CLUSTERS, patch('/spec/x')],
  ['a selector of namespaces', CLUSTERS, { namespaceSelector: EU }],
];

const invalid: readonly (readonly [what: string, kind: PolicyName['kind'], spec: unknown, problem: RegExp])[] = [
  ['no object', OWN, [], /spec must be an object/], ['a text', OWN, 'require: eu', /spec must be an object/],
  ['nothing at all', OWN, null, /spec must be an object/],
  ['a text for a selector', OWN, { require: 'region=eu' }, /spec\.require must be an object/],
  ['a number for a label', OWN, { require: { matchLabels: { region: 1 } } }, /spec\.require\.matchLabels\.region must/],
  ['an object for a list', OWN, { tiers: { targets: EU } }, /spec\.tiers must be a list/],
  ['no tier', OWN, { tiers: [] }, /spec\.tiers must have at least 1 entry/],
  ['a tier without targets', OWN, { tiers: [{ waitSeconds: 1 }] }, /spec\.tiers\[0\]\.targets is missing/],
  ['too long a wait', OWN, { tiers: [{ targets: {}, waitSeconds: 86_401 }] }, /waitSeconds must be at most 86400/],
  ['half a second', OWN, { tiers: [{ targets: {}, waitSeconds: 0.5 }] }, /waitSeconds must be an integer/],
  ['a weight of nothing', OWN, { replicas: { shares: [{ targets: {}, weight: 0 }] } }, /weight must be at least 1/],
  ['too many tiers', OWN, { tiers: Array.from({ length: 17 }, () => ({ targets: {} })) }, /has 17 entries; at most 16/],
  ['an unknown choice', OWN, { failover: 'Always' }, /spec\.failover must be one of Never, Fenced/],
  ['an empty key', OWN, { spread: [{ topologyKey: '' }] }, /topologyKey must not be empty/],
  ['a long key', OWN, { spread: [{ topologyKey: 'x'.repeat(318) }] }, /topologyKey has 318 characters; at most 317/],
  ['too large a weight', OWN, { weights: { cost: 101 } }, /spec\.weights\.cost must be at most 100/],
  [
    'tiers and shares', OWN, { tiers: [{ targets: {} }], replicas: { shares: [{ targets: {}, weight: 1 }] } },
    /use one/,
  ],
  ['everything forbidden', OWN, { forbid: {} }, /forbids every target/],
  ['everything forbidden at length', OWN, { forbid: { matchLabels: {}, matchExpressions: [] } }, /forbids every/],
  [
    'an expression without values', OWN, { require: { matchExpressions: [{ key: 'a', operator: 'In' }] } },
    /require needs values for a In/,
  ],
  [
    'an expression with values that it has no use for', OWN,
    { require: { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] } }, /require.*a Exists/,
  ],
  ['a patch of anything', OWN, patch('/spec/containers/0'), /only a ClusterPlacementPolicy may change/],
  ['a patch of the status', CLUSTERS, patch('/status'), /has a path outside/],
];

const dropped: readonly (readonly [what: string, kind: PolicyName['kind'], spec: unknown, problem: RegExp])[] = [
  ['a field that there is not', OWN, { requires: EU }, /spec\.requires is not a field; the fields are podS/],
  ['one within a selector', OWN, { require: { matchLabel: {} } }, /matchLabel is not a field; the fields are match/],
  ['one of the cluster', OWN, { namespaceSelector: EU }, /spec\.namespaceSelector is not a field/],
  ['a whole manifest', OWN, { kind: 'PlacementPolicy', spec: {} }, /spec\.kind is not a field/],
  ['a score that there is not', OWN, { weights: { luck: 1 } }, /spec\.weights\.luck is not a field; the fields are l/],
  ['a prototype', OWN, JSON.parse('{"__proto__": {"require": {}}}'), /spec\.__proto__ is not a field/],
  ['constructor', OWN, { constructor: {} }, /spec\.constructor is not a field/],
];

/** All of them. */
export const WRITTEN_CASES: readonly WrittenCase[] = [
  ...valid.map(([what, kind, spec]) => ({ what, kind, spec })),
  ...invalid.map(([what, kind, spec, problem]) => ({ what, kind, spec, problem })),
  ...dropped.map(([what, kind, spec, problem]) => ({ what, kind, spec, problem, isDropped: true })),
];
