// Validation of a policy's spec beyond the CRD's schema and CEL rules, or for objects stored before those applied.
import { SCHEDULING_PATH } from '../../api/placement/delegate-override.ts';
import { selectorProblem } from '../../model/objects/label-selector.ts';
import { isRecord } from '../../model/objects/json-values.ts';
import { isScoreName } from '../../model/proxy/score-weights.ts';

const FIELDS: ReadonlySet<string> = new Set([
  'namespaceSelector',
  'podSelector', 'require', 'forbid', 'tiers', 'replicas', 'spread', 'weights', 'overrides', 'failover', 'failback',
]);
const SELECTORS = ['namespaceSelector', 'podSelector', 'require', 'forbid'] as const;
const PATCHABLE = /^\/(?:spec|metadata\/labels|metadata\/annotations)\//;
const OF_A_NAMESPACE =
  'has a path that only a ClusterPlacementPolicy may change; a PlacementPolicy may change nodeSelector, tolerations, ' +
    'affinity, topologySpreadConstraints and terminationGracePeriodSeconds under /spec/';
const OPERATIONS: ReadonlySet<unknown> = new Set(['add', 'replace', 'remove', 'test']);

/**
 * Why a namespaced or cluster policy is invalid, as the end of a sentence that starts with its name; undefined when it
 * is valid.
 */
export function policyProblem(spec: unknown, scope: 'namespace' | 'cluster'): string | undefined {
  if (!isRecord(spec)) return 'has no spec';
  const unknown = Object.keys(spec).find((field) => !FIELDS.has(field));
  if (unknown !== undefined) return `has a field ${unknown} that this version does not know`;
  for (const field of SELECTORS) {
    const problem = spec[field] === undefined ? undefined : selectorProblem(spec[field]);
    if (problem !== undefined) return `cannot be read: ${field} ${problem}`;
  }
  return partsProblem(spec, scope);
}

function partsProblem({ tiers, replicas, overrides, weights, spread }: Part, scope: 'namespace' | 'cluster'): string
  | undefined {
  const shares = replicas === undefined ? [] : isRecord(replicas) ? replicas['shares'] : undefined;
  return (
    listProblem('tiers', tiers ?? [], targetsProblem) ??
    listProblem('replicas.shares', shares, replicaShareProblem) ??
    listProblem(
      'spread', spread ?? [], (part) => (typeof part['topologyKey'] === 'string' ? undefined : 'has no topologyKey'),
    ) ??
    listProblem('overrides', overrides ?? [], (override) => overrideProblem(override, scope)) ??
    weightsProblem(weights ?? {})
  );
}

type Part = Readonly<Record<string, unknown>>;

function listProblem(field: string, list: unknown, problemOf: (part: Part) => string | undefined): string | undefined {
  if (!Array.isArray(list)) return `cannot be read: ${field} is not a list`;
  for (const part of list as unknown[]) {
    const problem = isRecord(part) ? problemOf(part) : 'is not an object';
    if (problem !== undefined) return `cannot be read: an entry of ${field} ${problem}`;
  }
  return undefined;
}

function targetsProblem({ targets }: Part): string | undefined {
  const problem = selectorProblem(targets);
  return problem === undefined ? undefined : `has targets that cannot be used: it ${problem}`;
}

function replicaShareProblem(share: Part): string | undefined {
  const weight = share['weight'];
  return typeof weight === 'number' && weight > 0 ? targetsProblem(share) : 'needs a weight above 0';
}

function overrideProblem(override: Part, scope: 'namespace' | 'cluster'): string | undefined {
  return targetsProblem(override) ?? listProblem('patch', override['patch'], ({ op, path }) => {
    if (!OPERATIONS.has(op)) return `has no operation ${JSON.stringify(op)}`;
    if (typeof path !== 'string' || !PATCHABLE.test(path)) {
      return 'has a path outside /spec/, /metadata/labels/ and /metadata/annotations/';
    }
    return scope === 'cluster' || SCHEDULING_PATH.test(path) ? undefined : OF_A_NAMESPACE;
  });
}

function weightsProblem(weights: unknown): string | undefined {
  if (!isRecord(weights)) return 'cannot be read: weights is not a map';
  for (const [name, weight] of Object.entries(weights)) {
    if (!isScoreName(name)) return `gives a weight to ${name}, which is not a score`;
    if (typeof weight !== 'number' || !(weight >= 0)) return `gives ${name} a weight that is not a number`;
  }
  return undefined;
}
