// The shape of the policies; what they allow and refuse is held by integration tests on a real API server.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { rbacManifests } from '../../../../manifests/objects/rbac.ts';
import { clusterRoles } from '../../../support/worlds/cluster-roles.ts';
import { breaksOneOf } from '../../../../manifests/policies/admission-policy.ts';
import { sourcePolicies } from '../../../../manifests/policies/source-policy.ts';
import { CLUSTER_SUMMARY_VIEWER_ROLE } from '../../../../model/access/component-accounts.ts';

interface Policy {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly policyName?: string;
    readonly failurePolicy?: string;
    readonly validationActions?: readonly string[];
    readonly matchConditions: readonly { readonly expression: string }[];
    readonly validations: readonly { readonly expression: string; readonly message: string; readonly reason: string }[];
    readonly matchConstraints: {
      readonly resourceRules: readonly {
        readonly operations: readonly string[]; readonly resources: readonly string[]
      }[]
    };
  };
}

const objects = sourcePolicies('ns') as unknown as readonly Policy[];
const policies = objects.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy');
const guarded = new Set(policies[0]?.spec.matchConstraints.resourceRules.flatMap(
  ({ resources, operations }) =>
    resources.flatMap((resource) => operations.map((operation) => `${operation} ${resource}`)),
));
/** They are connections, which admission sees without the pod. */
const STREAM_SUBRESOURCES = ['pods/exec', 'pods/attach', 'pods/portforward'];
const OPERATIONS: Readonly<Record<string, string>> =
  { create: 'CREATE', update: 'UPDATE', patch: 'UPDATE', delete: 'DELETE', deletecollection: 'DELETE' };

describe('the policies about sources', () => {
  it('deny, also when they cannot be evaluated', () => {
    for (const { spec } of policies) assert.equal(spec.failurePolicy, 'Fail');
    const bindings = objects.filter(({ kind }) => kind === 'ValidatingAdmissionPolicyBinding');
    assert.deepEqual(
      bindings.map(({ metadata, spec }) => [metadata.name, spec.policyName, spec.validationActions]),
      policies.map(({ metadata: { name } }) => [name, name, ['Deny']]),
    );
  });

  it('say what is wrong in one line', () => {
    for (const { message, reason } of policies.flatMap(({ spec }) => spec.validations)) {
      assert.ok(message.length > 20 && !message.includes('\n'));
      assert.equal(reason, 'Forbidden');
    }
  });

  it('end early for a candidate only if it breaks none of the rules', () => {
    const [ofObjects] = policies;
    const [, early] = ofObjects?.spec.matchConditions ?? [];
    const rules = ofObjects?.spec.validations ?? [];
    assert.ok(rules.length > 5);
    assert.ok(early?.expression.endsWith(breaksOneOf(rules.toReversed())), early?.expression);
  });

  for (const role of ['isthmus-source', 'isthmus-source-elsewhere', 'isthmus-source-pod-mode']) {
    it(`guard every write that ${role} allows, and know its holders by a mark in the same role`, () => {
      const rules = clusterRoles().find(({ metadata }) => metadata.name === role)?.rules ?? [];
      const writes =
        rules.flatMap(({ verbs, resources }) => resources.flatMap(
          (resource) => STREAM_SUBRESOURCES.includes(resource) ? [] :
            verbs.flatMap((verb) => (OPERATIONS[verb] === undefined ? [] : [`${OPERATIONS[verb]} ${resource}`])),
        ));
      assert.deepEqual(writes.filter((write) => !guarded.has(write)), []);
      assert.ok(
        rules.some(({ resources, verbs }) => resources.includes('sourceidentities') && verbs.includes('confined')),
      );
    });
  }

  it('are about nobody else: no component and no viewer has the mark', () => {
    const marked = clusterRoles().filter(({ rules }) => rules.some(({ verbs }) => verbs.includes('confined')))
      .map(({ metadata }) => metadata.name ?? '');
    assert.ok(marked.length > 0 && marked.every((name) => name.startsWith('isthmus-source')), marked.join());
    assert.ok(!marked.includes(CLUSTER_SUMMARY_VIEWER_ROLE));
    assert.ok(
      clusterRoles().every(({ rules }) => rules.every(({ verbs }) => !verbs.includes('unconfined'))),
      'a right that nobody gives tells administrators with wildcards',
    );
  });

  it('are installed before any right that they limit', () => {
    const kinds = rbacManifests('ns').map(({ kind }) => kind);
    assert.ok(kinds.lastIndexOf('ValidatingAdmissionPolicyBinding') < kinds.indexOf('ClusterRole'));
  });
});
