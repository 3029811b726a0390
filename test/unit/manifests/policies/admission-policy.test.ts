// What each admission policy of Isthmus has in common.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { admissionPolicy, breaksOneOf, validation } from '../../../../manifests/policies/admission-policy.ts';
import { discoveryPolicy } from '../../../../manifests/policies/discovery-policy.ts';
import { peeringPolicies } from '../../../../manifests/policies/peering-policy.ts';
import { proxyPolicyManifests } from '../../../../manifests/policies/proxy-policy.ts';
import { sourcePolicies } from '../../../../manifests/policies/source-policy.ts';

interface Spec {
  readonly failurePolicy?: string;
  readonly policyName?: string;
  readonly variables?: unknown;
  readonly matchConstraints?: unknown;
  readonly validationActions?: readonly string[];
}

const specOf = (object: unknown): Spec => (object as { readonly spec: Spec }).spec;
const RULE = { resourceRules: [], matchConditions: [], validations: [validation('true', 'always')] };

describe('an admission policy', () => {
  it('denies with 403, also where it cannot be evaluated', () => {
    const [policy, binding] = admissionPolicy('a', RULE);
    assert.deepEqual(RULE.validations, [{ expression: 'true', message: 'always', reason: 'Forbidden' }]);
    assert.equal(specOf(policy).failurePolicy, 'Fail');
    assert.deepEqual(specOf(binding), { policyName: 'a', validationActions: ['Deny'] });
  });

  it('that warns does nothing where it cannot be evaluated', () => {
    const [policy, binding] = admissionPolicy('a', { ...RULE, action: 'Warn' });
    assert.equal(specOf(policy).failurePolicy, 'Ignore');
    assert.deepEqual(specOf(binding).validationActions, ['Warn']);
  });

  it('has no field for variables where there are none', () => {
    assert.ok(!('variables' in specOf(admissionPolicy('a', RULE)[0])));
    const variables = [{ name: 'v', expression: '1' }];
    assert.deepEqual(specOf(admissionPolicy('a', { ...RULE, variables })[0]).variables, variables);
  });

  it('selects namespaces by labels where it says so', () => {
    const namespaceSelector = { matchExpressions: [] };
    const [policy] = admissionPolicy('a', { ...RULE, namespaceSelector });
    assert.deepEqual(specOf(policy).matchConstraints, { resourceRules: [], namespaceSelector });
    assert.deepEqual(specOf(admissionPolicy('a', RULE)[0]).matchConstraints, { resourceRules: [] });
  });

  it('may have several bindings, each for some requests, whose names begin with its own', () => {
    const parts = [{ suffix: '', matchResources: { a: 1 } }, { suffix: '-b', matchResources: { b: 1 } }];
    const [, ...bindings] = admissionPolicy('a', { ...RULE, bindings: parts });
    assert.deepEqual(bindings.map(({ metadata }) => metadata.name), ['a', 'a-b']);
    assert.deepEqual(
      bindings.map(specOf),
      parts.map(({ matchResources }) => ({ policyName: 'a', validationActions: ['Deny'], matchResources })),
    );
  });

  it('can end where no validation is broken', () => {
    assert.equal(breaksOneOf([{ expression: 'a || b' }, { expression: 'c' }]), '!((a || b) && (c))');
  });

  it('has a binding of its own name, whichever it is', () => {
    const all = [discoveryPolicy, peeringPolicies, proxyPolicyManifests, sourcePolicies].flatMap((of) => of('i'));
    const policies = all.filter((object) => specOf(object).policyName === undefined);
    for (const { metadata: { name = '' } } of policies) {
      const named = all.filter((object) => specOf(object).policyName === name).map(({ metadata }) => metadata.name);
      assert.ok(named.includes(name), name);
      assert.ok(named.every((binding) => binding?.startsWith(name)), name);
    }
    for (const { metadata } of all) assert.equal(metadata.labels?.['app.kubernetes.io/part-of'], 'isthmus');
  });
});
