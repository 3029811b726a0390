// What an API server would reject is found before it is printed.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { schemaProblem } from '../../../../cli/convert/schema-problems.ts';

const policy = (spec: object, kind = 'PlacementPolicy') =>
  ({ apiVersion: 'isthmus.dev/v1alpha1', kind, metadata: { name: 'a' }, spec });
const share = (weight: unknown) => policy({ replicas: { shares: [{ targets: {}, weight }] } });
const labels = (count: number) => {
  const matchLabels = Object.fromEntries(Array.from({ length: count }, (_value, at) => [`k${at}`, 'v']));
  return policy({ require: { matchLabels } });
};
const expression = (fields: object) => policy({ require: { matchExpressions: [fields] } });
const values = (list: unknown) => expression({ key: 'a', operator: 'In', values: list });
const VALUES = 'spec.require.matchExpressions[0].values';
const WEIGHT = 'spec.replicas.shares[0].weight';
const target = (spec: object, kind = 'ClusterTarget') =>
  ({ apiVersion: 'multicluster.admiralty.io/v1alpha1', kind, spec });
const text = (length: number): string => 'a'.repeat(length);

describe('schemaProblem', () => {
  const right: Record<string, object> = {
    'an object of another kind': { apiVersion: 'v1', kind: 'Pod', metadata: {}, spec: { anything: true } },
    'the same kind of another group': { apiVersion: 'x.io/v1', kind: 'PlacementPolicy', spec: [] },
    'a policy': policy({ require: { matchLabels: { a: 'b' } }, weights: { cost: 100 } }),
    'the greatest weight': share(1_000),
    'as many labels as there may be': labels(16),
    'any value of a patch':
      policy({ overrides: [{ targets: {}, patch: [{ op: 'add', path: '/spec/affinity', value: [1] }] }] }),
    'a quantity that is a number': {
      apiVersion: 'isthmus.dev/v1alpha1', kind: 'ResourceShare', spec: { source: '*', limits: { cpu: 1 } },
    },
    'a Target of Admiralty': target({ self: true }, 'Target'),
  };
  for (const [what, object] of Object.entries(right)) {
    it(`takes ${what}`, () => assert.equal(schemaProblem({ ...object }), undefined));
  }

  const wrong: Record<string, readonly [object: object, field: string, message: RegExp]> = {
    'no spec': [{ apiVersion: 'isthmus.dev/v1alpha1', kind: 'PlacementPolicy' }, 'spec', /missing/],
    'a spec that is a list': [policy([]), 'spec', /must be an object/],
    'another version': [{ ...policy({}), apiVersion: 'isthmus.dev/v2' }, 'apiVersion', /must be v1alpha1, not v2/],
    'an unknown field': [policy({ colour: 'red' }), 'spec.colour', /is not a field/],
    'a field of the prototype': [policy({ constructor: 'red' }), 'spec.constructor', /is not a field/],
    'a weight of 0': [share(0), WEIGHT, /at least 1, not 0/],
    'a weight that is too large': [share(1_001), WEIGHT, /at most 1000, not 1001/],
    'a weight that is a fraction': [share(1.5), WEIGHT, /must be an integer/],
    'a share without weight': [policy({ replicas: { shares: [{ targets: {} }] } }), WEIGHT, /missing/],
    'no shares': [policy({ replicas: { shares: [] } }), 'spec.replicas.shares', /at least 1 entry/],
    'too many labels': [labels(17), 'spec.require.matchLabels', /at most 16/],
    'too many values': [values(Array(65).fill('a')), VALUES, /65 entries; at most 64/],
    'a value that is too long': [values([text(64)]), `${VALUES}[0]`, /64 characters; at most 63/],
    'a value that is a number': [values([1]), `${VALUES}[0]`, /must be a string/],
    'values that are a text': [values('a'), VALUES, /must be a list/],
    'a key that is empty':
      [expression({ key: '', operator: 'Exists' }), 'spec.require.matchExpressions[0].key', /empty/],
    'a choice that there is not':
      [policy({ failover: 'Always' }), 'spec.failover', /must be one of Never, Fenced, not "Always"/],
    'a flag that is a text': [target({ self: 'yes' }), 'spec.self', /must be true or false/],
    'a name that has not the form': [
      target({ kubeconfigSecret: { name: 'a' }, gateway: { cluster: 'A_B' } }), 'spec.gateway.cluster',
      /must match/,
    ],
  };
  for (const [what, [object, field, message]] of Object.entries(wrong)) {
    it(`rejects ${what}`, () => {
      const problem = schemaProblem({ ...object });
      assert.equal(problem?.field, field);
      assert.match(problem?.message ?? '', message);
    });
  }
});
