// The shape of the policies about proxy pods; what they allow and refuse is held by integration tests.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { breaksOneOf } from '../../../../manifests/policies/admission-policy.ts';
import { PROXY_POLICY_NAMES, proxyPolicyManifests } from '../../../../manifests/policies/proxy-policy.ts';
import { NOT_OPTED_IN } from '../../../../manifests/policies/election-policy.ts';

interface Policy {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly matchConstraints: { readonly namespaceSelector?: unknown };
    readonly matchConditions: readonly { readonly expression: string }[];
    readonly validations: readonly { readonly expression: string }[];
  };
}

const policies = (proxyPolicyManifests('ns') as unknown as readonly Policy[]).filter(
  ({ kind, metadata }) => kind === 'ValidatingAdmissionPolicy' && PROXY_POLICY_NAMES.includes(metadata.name),
);

const [ofNamespaces, ofPods] = policies;

describe('the policies about proxy pods', () => {
  it('are the two that a migration takes away, that of namespaces first: the other one had its rule before', () => {
    assert.deepEqual(PROXY_POLICY_NAMES, ['isthmus-proxy-namespaces', 'isthmus-proxy-pods']);
    assert.deepEqual(policies.map(({ metadata }) => metadata.name), PROXY_POLICY_NAMES);
  });

  it('end early only for a pod that breaks none of the rules', () => {
    const { matchConditions: [only, ...more], validations } = ofPods!.spec;
    assert.deepEqual(more, []);
    const expression = only?.expression ?? '';
    assert.ok(expression.endsWith(` && ${breaksOneOf(validations)}`), expression);
    assert.ok(!expression.includes('namespaceObject'), 'it is not known there');
  });

  it('deny every proxy pod that is created in a namespace that has not opted in', () => {
    const { matchConstraints: { namespaceSelector }, validations } = ofNamespaces!.spec;
    assert.deepEqual(namespaceSelector, { matchExpressions: NOT_OPTED_IN });
    assert.deepEqual(validations.map(({ expression }) => expression), ['false']);
  });
});
