// The reader of policies that viewers of the page write, and whatever a link to the page says they are.
import { readPolicyManifest, readWritten, supposePolicyApplies } from '../../cli/placement/what-if-policy.ts';
import { policyProblem } from '../../scheduler/snapshot/policy-problem.ts';
import { rulesFor } from '../../scheduler/snapshot/placement-rules.ts';
import { aPolicyIndex, aClusterPolicy, aPolicy } from '../support/objects/placement.ts';
import { hold, type FuzzTarget } from './fuzz-target.ts';

const POD = { namespace: 'team-a', labels: { app: 'web' } };
const POLICIES =
  aPolicyIndex(aPolicy({ weights: { cost: 1 } }), aClusterPolicy({ forbid: { matchLabels: { region: 'moon' } } }));

/** Specs and manifests, as YAML or JSON. */
export const WRITTEN_POLICIES: FuzzTarget = {
  name: 'written-policies', reads: 'specs of policies to suppose, from viewers and from links', shape: 'text',
  maxBytes: 2_048,
  tokens: [
    'require:', 'forbid:', 'tiers:', 'replicas:', 'shares:', 'spread:', 'weights:', 'overrides:', 'podSelector:',
    'matchLabels:', 'matchExpressions:', 'operator: In', 'values: [a]', 'targets: {}', 'waitSeconds: 1', 'patch:',
    'path: /spec/nodeSelector', 'kind: PlacementPolicy', 'metadata: {name: a}', '__proto__:', '&a', '*a', '<<:', '!!js',
  ],
  seeds: [
    'require: {matchLabels: {region: eu}}', '{"tiers":[{"targets":{},"waitSeconds":30}]}',
    'replicas: {shares: [{targets: {}, weight: 1}]}', 'spread: [{topologyKey: region}]\nweights: {cost: 1}',
    'apiVersion: isthmus.dev/v1alpha1\nkind: ClusterPlacementPolicy\nmetadata: {name: a}\nspec: {forbid: {}}',
    'overrides: [{targets: {}, patch: [{op: add, path: /spec/nodeSelector/a, value: b}]}]',
  ],
  run(input) {
    const text = input.toString('utf8');
    const read = readPolicyManifest(text);
    for (const kind of ['PlacementPolicy', 'ClusterPlacementPolicy'] as const) {
      const policy = read.kind === 'policy' ? read.policy : { kind, name: 'x', written: readWritten(text) };
      const supposed = supposePolicyApplies(POD, POLICIES, policy);
      if (supposed.kind === 'impossible') {
        hold(supposed.why.length < 6_000 && supposed.advice !== '', 'a refusal says what to change');
        continue;
      }
      const scope = policy.kind === 'PlacementPolicy' ? 'namespace' : 'cluster';
      hold(policyProblem(supposed.spec, scope) === undefined, 'what is supposed the scheduler can read');
      hold(supposed.policyIndex.policies.some(({ title }) => title === supposed.title), 'it is among the policies');
      hold(rulesFor(POD, supposed.policyIndex).blocked?.reason !== 'PolicyInvalid', 'it blocks nothing as invalid');
    }
  },
};
