import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sourcePolicy } from '../../../peering/source-policy.ts';

interface Policy {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly policyName?: string;
    readonly failurePolicy?: string;
    readonly validationActions?: readonly string[];
    readonly matchConditions: readonly { readonly expression: string }[];
    readonly validations: readonly { readonly expression: string }[];
    readonly matchConstraints: { readonly resourceRules: readonly { readonly operations: readonly string[]; readonly resources: readonly string[] }[] };
  };
}

describe('sourcePolicy', () => {
  const [policy, binding] = sourcePolicy({ policyName: 'p', account: { namespace: 'ns', name: 'source' }, sourceId: 'uid-1' }) as unknown as [Policy, Policy];

  it('is about that one identity', () => {
    assert.deepEqual(policy.spec.matchConditions.map(({ expression }) => expression), ['request.userInfo.username in ["system:serviceaccount:ns:source"]']);
  });

  it('guards every write to what a source may write', () => {
    const guarded = policy.spec.matchConstraints.resourceRules.map(({ resources, operations }) => `${operations.join()} ${resources.join()}`);
    assert.deepEqual(guarded, ['podchaperons', 'pods,configmaps,secrets,services', 'ingresses', 'sourceleases'].map((resources) => `CREATE,UPDATE,DELETE ${resources}`));
  });

  it('asks for the identity of the source before and after', () => {
    const [{ expression } = { expression: '' }] = policy.spec.validations;
    assert.match(expression, /request\.operation == 'DELETE' \|\| \(has\(object\.metadata\.labels\).*object\.metadata\.labels\['multicluster\.admiralty\.io\/parent-cluster-name'\] == "uid-1"/);
    assert.match(expression, /request\.operation == 'CREATE' \|\| \(has\(oldObject\.metadata\.labels\).*== "uid-1"/);
  });

  it('of a user guards that user', () => {
    const [ofUser] = sourcePolicy({ policyName: 'p', userName: 'o"brien', sourceId: 'uid-1' }) as unknown as [Policy];
    assert.deepEqual(ofUser.spec.matchConditions.map(({ expression }) => expression), ['request.userInfo.username in ["o\\"brien"]']);
  });

  it('denies, also when it cannot be evaluated', () => {
    assert.equal(policy.spec.failurePolicy, 'Fail');
    assert.deepEqual([binding.spec.policyName, binding.spec.validationActions], ['p', ['Deny']]);
  });
});
