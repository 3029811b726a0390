import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { TARGET_LABELS_ANNOTATION, TARGET_NAME_LABEL, TARGET_NAMESPACE_LABEL } from '../../../../api/objects/keys.ts';
import type { PlacementPolicySpec } from '../../../../api/kinds/placement-policy.ts';
import {
  mayFollow, NO_RULES, ruleAgainst, rulesFor, type KnownPolicy, type PlacementRules,
} from '../../../../scheduler/snapshot/placement-rules.ts';
import { toTargetLabels } from '../../../../scheduler/snapshot/virtual-node-info.ts';
import { aPolicyIndex, aClusterPolicy, aPolicy } from '../../../support/objects/placement.ts';

const EU = { matchLabels: { region: 'eu' } };
const US = { matchLabels: { region: 'us' } };
const pod = { namespace: 'team-a', labels: { app: 'web' } };
const rulesOf = (...policies: KnownPolicy[]): PlacementRules => rulesFor(pod, aPolicyIndex(...policies));

describe('which policies are about a pod', () => {
  const required = (rules: PlacementRules) => rules.require.map(({ by }) => by);
  const cases: Record<string, readonly [policy: KnownPolicy, isAbout: boolean]> = {
    'one of its namespace without a selector': [aPolicy({ require: EU }), true],
    'one whose selector takes its labels':
      [aPolicy({ podSelector: { matchLabels: { app: 'web' } }, require: EU }), true],
    'not one whose selector does not': [aPolicy({ podSelector: { matchLabels: { app: 'db' } }, require: EU }), false],
    'not one of another namespace': [{ ...aPolicy({ require: EU }), namespace: 'team-b' }, false],
    'one of the cluster': [aClusterPolicy({ require: EU }), true],
    'one of the cluster for namespaces with these labels':
      [aClusterPolicy({ namespaceSelector: { matchLabels: { team: 'a' } }, require: EU }), true],
    'not one of the cluster for other namespaces':
      [aClusterPolicy({ namespaceSelector: { matchLabels: { team: 'b' } }, require: EU }), false],
  };
  for (const [sentence, [policy, isAbout]] of Object.entries(cases)) {
    it(sentence, () => assert.deepEqual(required(rulesOf(policy)), isAbout ? [policy.title] : []));
  }
});

describe('rulesFor', () => {
  it('is the one that says nothing where there is no policy', () => assert.equal(rulesOf(), NO_RULES));

  it('adds up what is required and forbidden, whoever says it', () => {
    const rules =
      rulesOf(aPolicy({ require: EU }), aPolicy({ require: US, forbid: EU }, 'q'), aClusterPolicy({ forbid: US }));
    assert.deepEqual(rules.require.map(({ value }) => value), [EU, US]);
    assert.deepEqual(rules.forbid.map(({ value }) => value), [US, EU]);
    assert.equal(rules.blocked, undefined);
  });

  it('takes the preferences of the cluster where the namespace has none', () => {
    assert.deepEqual(rulesOf(aClusterPolicy({ weights: { cost: 1 } })).weights, {
      by: 'ClusterPlacementPolicy cp', value: { cost: 1 }, isClusterScoped: true,
    });
  });

  it('lets the namespace win field by field', () => {
    const rules =
      rulesOf(aPolicy({ weights: { rtt: 2 } }), aClusterPolicy({ weights: { cost: 1 }, failover: 'Fenced' }));
    assert.deepEqual(rules.weights?.value, { rtt: 2 });
    assert.equal(rules.failover?.value, 'Fenced');
  });

  it('applies overrides of the cluster after those of the namespace, which cannot take them back', () => {
    const override = (path: string) => [{ targets: {}, patch: [{ op: 'add' as const, path, value: 'x' }] }];
    const rules = rulesOf(aPolicy({ overrides: override('/spec/nodeSelector/a') }), aClusterPolicy(
      { overrides: override('/spec/hostUsers') },
    ));
    assert.deepEqual(rules.overrides, {
      by: 'PlacementPolicy team-a/p and ClusterPlacementPolicy cp',
      value: [...override('/spec/nodeSelector/a'), ...override('/spec/hostUsers').map(
        (one) => ({ ...one, isClusterScoped: true }),
      )],
    });
    const twice = rulesOf(
      aPolicy({ overrides: override('/spec/nodeSelector/a') }), aClusterPolicy({ overrides: override('/spec/a') }),
      aClusterPolicy({ overrides: override('/spec/b') }, 'dp'),
    );
    assert.match(
      twice.blocked?.message ?? '', /ClusterPlacementPolicy cp and ClusterPlacementPolicy dp both set overrides/,
    );
  });

  it('lets tiers of the namespace win over replicas of the cluster, and the other way round', () => {
    const tiers = [{ targets: EU }];
    const replicas = { shares: [{ targets: EU, weight: 1 }] };
    const [byTiers, byReplicas] = [rulesOf(aPolicy({ tiers }), aClusterPolicy({ replicas })), rulesOf(
      aPolicy({ replicas }), aClusterPolicy({ tiers }),
    )];
    assert.deepEqual([byTiers.tiers?.value, byTiers.replicas, byTiers.blocked], [tiers, undefined, undefined]);
    assert.deepEqual(
      [byReplicas.tiers, byReplicas.replicas?.value, byReplicas.blocked], [undefined, replicas, undefined],
    );
  });

  it('spreads the pods that the policy selects', () => {
    const podSelector = { matchLabels: { app: 'web' } };
    assert.deepEqual(rulesOf(aPolicy({ podSelector, spread: [{ topologyKey: 'zone' }] })).spreadSelector, podSelector);
  });
});

describe('what places nothing', () => {
  const broken = (spec: unknown) => aPolicy(spec as PlacementPolicySpec);
  const cases: Record<string, readonly [rules: PlacementRules, reason: string, message: RegExp]> = {
    'policies that are not known yet':
      [rulesFor(pod, { ...aPolicyIndex(), isComplete: false }), 'PoliciesUnknown', /isthmus install/],
    'a policy of the namespace that cannot be read, whatever it selects': [
      rulesOf(broken({ podSelector: { matchLabels: { app: 'other' } }, require: 'eu' })), 'PolicyInvalid',
      /PlacementPolicy team-a\/p cannot be read: require is not a label selector; correct or delete it/,
    ],
    'a policy without a spec': [rulesOf(broken(undefined)), 'PolicyInvalid', /has no spec/],
    'a policy of a later version':
      [rulesOf(broken({ embargo: true })), 'PolicyInvalid', /field embargo that this version does not know/],
    'two policies of the namespace that say different things': [
      rulesOf(aPolicy({ weights: { rtt: 1 } }), aPolicy({ weights: { cost: 1 } }, 'q')), 'PolicyConflict',
      /team-a\/p and PlacementPolicy team-a\/q both set weights/,
    ],
    'two policies of the cluster that do': [
      rulesOf(aClusterPolicy({ failover: 'Never' }), aClusterPolicy({ failover: 'Fenced' }, 'dp')), 'PolicyConflict',
      /both set failover/,
    ],
    'tiers and replicas from two policies of the namespace': [
      rulesOf(
        aPolicy({ tiers: [{ targets: EU }] }), aPolicy({ replicas: { shares: [{ targets: EU, weight: 1 }] } }, 'q'),
      ), 'PolicyConflict', /two ways to divide pods/,
    ],
  };
  for (const [sentence, [rules, reason, message]] of Object.entries(cases)) {
    it(sentence, () => {
      assert.equal(rules.blocked?.reason, reason);
      assert.match(rules.blocked?.message ?? '', message);
      assert.deepEqual(ruleAgainst(rules, { labels: { region: 'eu' } }), rules.blocked);
    });
  }

  it('not a policy of another namespace that cannot be read', () => {
    assert.equal(rulesOf({ ...broken({ require: 'eu' }), namespace: 'team-b' }).blocked, undefined);
  });
});

describe('ruleAgainst', () => {
  const cases: Record<
    string, readonly [spec: PlacementPolicySpec, labels: Record<string, string>, reason: string | undefined]
  > = {
    'a target with the required labels': [{ require: EU }, { region: 'eu' }, undefined],
    'a target with others': [{ require: EU }, { region: 'us' }, 'PolicyRequires'],
    'a target that says nothing of itself': [{ require: EU }, {}, 'PolicyRequires'],
    'a target with a forbidden label': [{ forbid: US }, { region: 'us' }, 'PolicyForbids'],
    'a target without it': [{ forbid: US }, { region: 'eu' }, undefined],
    'what is forbidden wins over what is required':
      [{ require: { matchLabels: { gdpr: 'yes' } }, forbid: US }, { gdpr: 'yes', region: 'us' }, 'PolicyForbids'],
  };
  for (const [sentence, [spec, labels, reason]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(ruleAgainst(rulesOf(aPolicy(spec)), { labels })?.reason, reason));
  }

  it('names the policy and the labels', () => {
    assert.match(
      ruleAgainst(rulesOf(aPolicy({ require: EU })), { labels: {} })?.message ?? '',
      /^PlacementPolicy team-a\/p requires targets with region=eu; label the ClusterTarget/,
    );
  });

  it('more policies never let a pod in where fewer keep it out', () => {
    const selector = fc.constantFrom(EU, US, { matchLabels: { gdpr: 'yes' } });
    const policy = fc.record({ require: selector, forbid: selector }, { requiredKeys: [] });
    const labels = fc
      .record({ region: fc.constantFrom('eu', 'us'), gdpr: fc.constantFrom('yes', 'no') }, { requiredKeys: [] })
      .map((found): Record<string, string> => ({ ...found }));
    fc.assert(fc.property(fc.array(policy), policy, labels, (specs, more, target) => {
      const policies = specs.map((spec, index) => aPolicy(spec, `p${index}`));
      const before = ruleAgainst(rulesOf(...policies), { labels: target });
      const after = ruleAgainst(rulesOf(...policies, aClusterPolicy(more)), { labels: target });
      assert.ok(before === undefined || after !== undefined);
    }));
  });
});

describe('what a target says of itself', () => {
  const said = { metadata: { labels: { region: 'eu' }, annotations: { [TARGET_LABELS_ANNOTATION]: '["region"]' } } };
  const byHand = { metadata: { labels: { region: 'eu' }, annotations: { [TARGET_LABELS_ANNOTATION]: '[]' } } };
  const unknown = { metadata: { labels: { region: 'eu' } } };
  const silent = { metadata: { labels: {} } };
  const sayingUs =
    { metadata: { labels: { region: 'us' }, annotations: { [TARGET_LABELS_ANNOTATION]: '["region"]' } } };
  const [own, clusters] = [rulesOf(aPolicy({ require: EU })), rulesOf(aClusterPolicy({ require: EU }))];
  const notUs: PlacementPolicySpec =
    { require: { matchExpressions: [{ key: 'region', operator: 'NotIn', values: ['us'] }] } };
  type Case = readonly [
    lets: boolean, rules: PlacementRules, kind: 'ClusterTarget' | 'Target',
    node: Parameters<typeof toTargetLabels>[0]['node'], labels?: Record<string, string>,
  ];
  const cases: Record<string, Case> = {
    'lets nothing in that a policy keeps out': [false, clusters, 'ClusterTarget', said],
    'lets nothing in for a policy of the namespace either': [false, own, 'ClusterTarget', said],
    'lets nothing in while it is not known what it says': [false, clusters, 'ClusterTarget', unknown],
    'keeps out what a policy would let in': [false, rulesOf(aClusterPolicy(notUs)), 'ClusterTarget', sayingUs],
    'may be forbidden': [false, rulesOf(aClusterPolicy({ forbid: US })), 'ClusterTarget', sayingUs],
    'counts for nothing where the administrator says otherwise':
      [false, clusters, 'ClusterTarget', said, { region: 'us' }],
    'is not asked where the administrator has labelled the ClusterTarget':
      [true, clusters, 'ClusterTarget', silent, { region: 'eu' }],
    'is not asked where the administrator has labelled the virtual node': [true, clusters, 'ClusterTarget', byHand],
    'is not asked where the administrator has labelled the virtual node of a Target':
      [true, clusters, 'Target', byHand],
    'counts for nothing where the tenant agrees': [false, clusters, 'Target', said, { region: 'eu' }],
    'is a matter of the tenant for policies of the namespace': [true, own, 'Target', silent, { region: 'eu' }],
  };
  for (const [sentence, [lets, rules, kind, node, labels = {}]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(
      ruleAgainst(
        rules, toTargetLabels({ kind, nodeName: 'n', node: node && { ...node, spec: {} }, labels }),
      ) === undefined,
      lets,
    ));
  }

  it('and what a tenant says of a Target, its name as well, lets nothing in that a policy of the cluster keeps out',
    () => {
    const key = fc.constantFrom('region', 'zone', TARGET_NAME_LABEL, 'kubernetes.io/hostname');
    const labels = fc.dictionary(key, fc.constantFrom('eu', 'us'));
    const selector = fc.dictionary(key, fc.constantFrom('eu', 'us')).map((matchLabels) => ({ matchLabels }));
    fc.assert(fc.property(labels,
      labels, fc.constantFrom('eu', 'us'), selector, (saidByTarget, ofTenant, name, require) => {
      const shown = { ...saidByTarget, [TARGET_NAME_LABEL]: name, [TARGET_NAMESPACE_LABEL]: 'team-a' };
      const node = {
        metadata:
          { labels: shown, annotations: { [TARGET_LABELS_ANNOTATION]: JSON.stringify(Object.keys(saidByTarget)) } },
        spec: {},
      };
      const target = toTargetLabels({ kind: 'Target', nodeName: 'n', node, labels: ofTenant });
      const isLetIn = ruleAgainst(rulesOf(aClusterPolicy({ require })), target) === undefined;
      assert.equal(isLetIn, Object.keys(require.matchLabels).length === 0);
    }), { numRuns: 300 });
  });
});

describe('mayFollow', () => {
  const webInEu = aPolicy({ podSelector: { matchLabels: { app: 'web' } }, require: EU });
  const db = { namespace: 'team-a', labels: { app: 'db' } };
  it('keeps an object out where none of its pods may run', () => assert.equal(
    mayFollow([pod], { labels: { region: 'us' } }, aPolicyIndex(webInEu)), false,
  ));
  it('lets it in where one of them may', () => assert.equal(
    mayFollow([pod, db], { labels: { region: 'us' } }, aPolicyIndex(webInEu)), true,
  ));
  it('does not know while policies are not known', () => assert.equal(
    mayFollow([pod], { labels: { region: 'eu' } }, { ...aPolicyIndex(), isComplete: false }), 'unknown',
  ));
  it('does not know while two policies contradict one another', () => assert.equal(
    mayFollow([pod], { labels: { region: 'eu' } }, aPolicyIndex(
      aPolicy({ weights: { cost: 1 } }, 'one'), aPolicy({ weights: { cost: 2 } }, 'other'),
    )),
    'unknown',
  ));
  it('lets it in for a pod that may run there, whatever is unknown of another', () => {
    const broken = aPolicy({ podSelector: { matchLabels: { app: 'web' } }, tiers: [], replicas: { shares: [] } });
    assert.equal(mayFollow([pod, db], { labels: { region: 'us' } }, aPolicyIndex(broken)), true);
    assert.equal(mayFollow([pod], { labels: { region: 'us' } }, aPolicyIndex(broken)), 'unknown');
  });
  it('keeps out what no pod needs', () =>
    assert.equal(mayFollow([], { labels: { region: 'eu' } }, aPolicyIndex()), false));
});
