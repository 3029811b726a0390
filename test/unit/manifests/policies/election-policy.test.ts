// Which pods the election policy is evaluated for; what it says is held by an integration test on a real API server.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { StringMap } from '../../../../api/objects/core.ts';
import { ELECT_ANNOTATION, NAMESPACE_ELECT_LABEL, NAMESPACE_OPT_IN_LABEL } from '../../../../api/objects/keys.ts';
import type { LabelSelector } from '../../../../api/objects/selectors.ts';
import { electionPolicy } from '../../../../manifests/policies/election-policy.ts';
import { matchesLabelSelector } from '../../../../model/objects/label-selector.ts';

interface Binding {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly matchResources: {
      readonly resourceRules: readonly { readonly resources: readonly string[] }[];
      readonly namespaceSelector?: LabelSelector;
      readonly objectSelector?: LabelSelector;
    };
  };
}

const INSTALLED_IN = 'here';
const [policy, ...bindings] = electionPolicy(INSTALLED_IN) as unknown as readonly [
  { readonly spec: { readonly matchConstraints: Binding['spec']['matchResources'] } }, ...Binding[],
];
const resourcesOf = ({ resourceRules }: Binding['spec']['matchResources']): readonly string[] =>
  resourceRules.flatMap(({ resources }) => resources);

function evaluations(namespace: string, namespaceLabels: StringMap, podLabels: StringMap): readonly string[] {
  const labels = { 'kubernetes.io/metadata.name': namespace, ...namespaceLabels };
  const matching = bindings.filter(({ spec: { matchResources } }) =>
    resourcesOf(matchResources).includes('pods') && matchesLabelSelector(matchResources.namespaceSelector ?? {}, labels)
      && matchesLabelSelector(matchResources.objectSelector ?? {}, podLabels));
  return matching.map(({ metadata }) => metadata.name);
}

const OPTED_IN: readonly StringMap[] = [
  { [NAMESPACE_OPT_IN_LABEL]: 'enabled' }, { [NAMESPACE_ELECT_LABEL]: 'all' }, { 'liqo.io/enabled': 'true' },
  { 'liqo.io/scheduling-enabled': 'true' },
];
const NOT_OPTED_IN: readonly StringMap[] = [{}, { [NAMESPACE_OPT_IN_LABEL]: 'true' }, { 'liqo.io/enabled': 'no' }];
const LABELLED = { [ELECT_ANNOTATION]: '' };

describe('the election policy', () => {
  it('is about each of its kinds by one binding, pods aside', () => {
    const kinds = bindings.map(({ spec }) => resourcesOf(spec.matchResources));
    assert.deepEqual(
      [...new Set(kinds.flat())].toSorted(), [...resourcesOf(policy.spec.matchConstraints)].toSorted(),
    );
    const others = kinds.flat().filter((kind) => kind !== 'pods');
    assert.equal(new Set(others).size, others.length);
  });

  it('is not evaluated for pods in namespaces that opted in', () => {
    for (const labels of OPTED_IN) assert.deepEqual(evaluations('team', labels, { app: 'x' }), []);
  });

  it('is evaluated once for all other pods of users, also in system namespaces that opted in, and where the ' +
    'annotation was made a label', () => {
    for (const labels of NOT_OPTED_IN) assert.equal(evaluations('team', labels, {}).length, 1);
    for (const labels of [...OPTED_IN, ...NOT_OPTED_IN]) {
      for (const system of ['kube-system', INSTALLED_IN]) assert.equal(evaluations(system, labels, {}).length, 1);
      assert.equal(evaluations('team', labels, LABELLED).length, 1);
    }
  });

  it('is not evaluated for pods of controllers', () => {
    for (const label of ['pod-template-hash', 'controller-revision-hash', 'batch.kubernetes.io/controller-uid']) {
      assert.deepEqual(evaluations('team', {}, { [label]: 'x' }), []);
    }
  });

  it('is never evaluated twice for a pod', () => {
    const namespace = fc.constantFrom('team', 'kube-system', INSTALLED_IN);
    const labels = fc.constantFrom(...OPTED_IN, ...NOT_OPTED_IN);
    const podLabels = fc.subarray([ELECT_ANNOTATION, 'pod-template-hash', 'app'])
      .map((keys) => Object.fromEntries(keys.map((key) => [key, 'x'])));
    fc.assert(fc.property(namespace, labels, podLabels, (...of) => evaluations(...of).length <= 1));
  });
});
