// What an API server would refuse is found before it is printed.
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
    'a spec that is a list': [policy([]), 'spec', /not an object/],
    'another version': [{ ...policy({}), apiVersion: 'isthmus.dev/v2' }, 'apiVersion', /v1alpha1 is served/],
    'an unknown field': [policy({ colour: 'red' }), 'spec.colour', /no such field/],
    'a field of the prototype': [policy({ constructor: 'red' }), 'spec.constructor', /no such field/],
    'a weight of 0': [share(0), WEIGHT, /0 is less than 1/],
    'a weight that is too large': [share(1_001), WEIGHT, /1001 is more than 1000/],
    'a weight that is a fraction': [share(1.5), WEIGHT, /not an integer/],
    'a share without weight': [policy({ replicas: { shares: [{ targets: {} }] } }), WEIGHT, /missing/],
    'no shares': [policy({ replicas: { shares: [] } }), 'spec.replicas.shares', /empty/],
    'too many labels': [labels(17), 'spec.require.matchLabels', /at most 16/],
    'too many values': [values(Array(65).fill('a')), VALUES, /65 entries, at most 64/],
    'a value that is too long': [values([text(64)]), `${VALUES}[0]`, /64 characters, at most 63/],
    'a value that is a number': [values([1]), `${VALUES}[0]`, /not a string/],
    'values that are a text': [values('a'), VALUES, /not a list/],
    'a key that is empty':
      [expression({ key: '', operator: 'Exists' }), 'spec.require.matchExpressions[0].key', /empty/],
    'a choice that there is not': [policy({ failover: 'Always' }), 'spec.failover', /"Always" is not one of Never/],
    'a flag that is a text': [target({ self: 'yes' }), 'spec.self', /not true or false/],
    'a name that has not the form': [
      target({ kubeconfigSecret: { name: 'a' }, gateway: { cluster: 'A_B' } }), 'spec.gateway.cluster',
      /does not have the form/,
    ],
  };
  for (const [what, [object, field, message]] of Object.entries(wrong)) {
    it(`refuses ${what}`, () => {
      const problem = schemaProblem({ ...object });
      assert.equal(problem?.field, field);
      assert.match(problem?.message ?? '', message);
    });
  }
});
