import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  policiesFor, readPolicyManifest, readWritten, supposePolicyApplies, type WhatIfPolicies, type WrittenPolicy,
} from '../../../../cli/placement/what-if-policy.ts';
import { rulesFor, type KnownPolicy, type PolicyIndex } from '../../../../scheduler/snapshot/placement-rules.ts';
import { aPolicyIndex, aClusterPolicy, aPolicy } from '../../../support/objects/placement.ts';
import { WRITTEN_CASES } from '../../../support/objects/policy-specs.ts';

const EU = { matchLabels: { region: 'eu' } };
const US = { matchLabels: { region: 'us' } };
const OTHERS = { podSelector: { matchLabels: { app: 'db' } } };
const pod = { namespace: 'team-a', labels: { app: 'web' } };
const named = (kind: WrittenPolicy['kind'], name: string, spec?: unknown): WrittenPolicy =>
  ({ kind, name, ...(spec !== undefined && { written: { kind: 'spec', spec } }) });
const own = (name: string, spec?: unknown) => named('PlacementPolicy', name, spec);

function supposed(policy: WrittenPolicy, ...policies: readonly KnownPolicy[]): WhatIfPolicies {
  const found = supposePolicyApplies(pod, aPolicyIndex(...policies), policy);
  assert.ok(found.kind === 'supposed', found.kind === 'impossible' ? found.why : '');
  return found;
}

function refusal(policy: WrittenPolicy, policyIndex: PolicyIndex = aPolicyIndex()): string {
  const found = supposePolicyApplies(pod, policyIndex, policy);
  assert.equal(found.kind, 'impossible');
  return found.kind === 'impossible' ? `${found.why} ${found.advice}` : '';
}

describe('a policy that is supposed to apply to a pod', () => {
  it('takes the place of those of its kind that apply, and leaves the others', () => {
    const { title, replaces, keeps, policyIndex } = supposed(
      own('q'), aPolicy({ require: EU }), aPolicy({ ...OTHERS, require: US }, 'q'), aClusterPolicy({ forbid: US }),
      aClusterPolicy({ namespaceSelector: { matchLabels: { team: 'b' } }, forbid: EU }, 'of-others'),
    );
    assert.deepEqual([title, replaces, keeps], [
      'PlacementPolicy team-a/q', ['PlacementPolicy team-a/p'], ['ClusterPlacementPolicy cp'],
    ]);
    const { require, forbid } = rulesFor(pod, policyIndex);
    assert.deepEqual([require.map(({ value }) => value), forbid.map(({ value }) => value)], [[US], [US]]);
  });

  it('may be one of the cluster, whatever namespaces it is for', () => {
    const policy = aClusterPolicy({ namespaceSelector: { matchLabels: { team: 'b' } }, require: US });
    const { replaces, keeps, policyIndex } =
      supposed(named('ClusterPlacementPolicy', 'cp'), aPolicy({ require: EU }), policy, aClusterPolicy({}, 'other'));
    assert.deepEqual([replaces, keeps], [['ClusterPlacementPolicy other'], ['PlacementPolicy team-a/p']]);
    assert.deepEqual(rulesFor(pod, policyIndex).require.map(({ value }) => value), [US, EU]);
  });

  it('takes its own place alone where it applies already, and is then as it is written', () => {
    const all = [aPolicy({ require: EU }), aPolicy({ forbid: EU }, 'q'), aPolicy({ weights: { cost: 1 } }, 'r')];
    const { replaces, keeps, policyIndex } = supposed(own('q', { forbid: US }), ...all);
    assert.deepEqual([replaces, keeps], [[], ['PlacementPolicy team-a/p', 'PlacementPolicy team-a/r']]);
    assert.deepEqual(rulesFor(pod, policyIndex).forbid.map(({ value }) => value), [US]);
    assert.equal(rulesFor(pod, policyIndex).weights?.by, 'PlacementPolicy team-a/r');
  });

  it('need not exist where its spec is written', () => {
    const { title, replaces, spec } = supposed(own('new', { require: US }), aPolicy({ require: EU }));
    assert.deepEqual([title, replaces, spec], [
      'PlacementPolicy team-a/new', ['PlacementPolicy team-a/p'], { require: US },
    ]);
  });

  it('spreads pods like this one, where it selects others', () => {
    const spread = [{ topologyKey: 'region' }];
    const rules = rulesFor(pod, supposed(own('q'), aPolicy({ ...OTHERS, spread }, 'q')).policyIndex);
    assert.deepEqual(rules.spreadSelector, { matchLabels: { app: 'web' } });
    const selected = rulesFor(pod, supposed(own('q'), aPolicy({ podSelector: {}, spread }, 'q')).policyIndex);
    assert.deepEqual(selected.spreadSelector, {}, 'its own selector stays where it selects the pod');
  });

  it('changes nothing for a policy that applies already and is not edited', () => {
    const specs = fc.constantFrom({ require: EU }, { forbid: US }, { weights: { cost: 2 } }, OTHERS, {});
    const some = fc.array(specs, { minLength: 1, maxLength: 4 });
    fc.assert(fc.property(some, fc.array(specs, { maxLength: 3 }), (a, b) => {
      const policies = [
        ...a.map((spec, index) => aPolicy(spec, `own-${index}`)),
        ...b.map((spec, index) => aClusterPolicy(spec, `all-${index}`)),
      ];
      const found = supposed(own('own-0'), ...policies);
      if (a[0] !== OTHERS) assert.deepEqual(rulesFor(pod, found.policyIndex), rulesFor(pod, aPolicyIndex(...policies)));
    }));
  });

  it('selects the pod in any case, and is the only one of its name', () => {
    const labels = fc.dictionary(fc.constantFrom('app', 'tier', 'team'), fc.constantFrom('web', 'db'));
    fc.assert(fc.property(labels, labels, (podLabels, selected) => {
      const some = { ...pod, labels: podLabels };
      const q = aPolicy({ podSelector: { matchLabels: selected }, require: US }, 'q');
      const found = supposePolicyApplies(some, aPolicyIndex(q, aPolicy({ require: EU })), own('q'));
      assert.ok(found.kind === 'supposed');
      const { require } = rulesFor(some, found.policyIndex);
      assert.equal(require.filter(({ by }) => by === 'PlacementPolicy team-a/q').length, 1);
      assert.equal(found.policyIndex.policies.filter(({ title }) => title === 'PlacementPolicy team-a/q').length, 1);
    }));
  });
});

describe('a policy that cannot be supposed', () => {
  it('is one that is not there and not written: those of other namespaces are not there', () => {
    const elsewhere = aPolicyIndex({ ...aPolicy({}, 'x'), namespace: 'team-b', title: 'PlacementPolicy team-b/x' });
    assert.equal(
      refusal(own('x'), elsewhere),
      'There is no PlacementPolicy team-a/x. Choose one of those that there are, or write a spec.',
    );
  });

  it('is any while policies could not be read: what applies beside it is not known', () => {
    assert.match(refusal(own('x', {}), { ...aPolicyIndex(), isComplete: false }), /cannot be read.*permission to list/);
  });

  it('is one that is stored and invalid', () => {
    const wrong = aPolicyIndex(aPolicy({ wrong: 1 } as never));
    assert.match(refusal(own('p'), wrong), /team-a\/p has a field wrong.*Correct/);
  });

  it('is one whose text is no YAML, has a key twice, or is too deep', () => {
    for (const [text, problem] of [
      ['require: {', /is not valid YAML/], ['require: {}\nrequire: {}', /is not valid YAML: Map keys must be unique/],
      ['a: 1\n---\nb: 2', /is not valid YAML/], ['['.repeat(100), /too large or too deeply nested/],
      ['a: &a [1]\nb: *a', /is not valid YAML/], ['x: '.repeat(20_000), /too large or too deeply nested/],
    ] as const) {
      const policy: WrittenPolicy = { kind: 'PlacementPolicy', name: 'p', written: readWritten(text) };
      assert.match(refusal(policy), problem, text.slice(0, 40));
    }
  });

  for (const { what, kind, spec, problem } of WRITTEN_CASES) {
    it(`${problem === undefined ? 'is not' : 'is'} one with ${what}`, () => {
      if (problem === undefined) return assert.ok(supposed(named(kind, 'written', spec)));
      const told = refusal(named(kind, 'written', spec));
      assert.match(told, problem);
      assert.match(told, /^(?:Cluster)?PlacementPolicy \S+ .*\. Correct the spec\.$/);
    });
  }

  it('never ends in an exception, and tells in a few words, whatever is written', () => {
    const kinds = fc.constantFrom<WrittenPolicy['kind']>('PlacementPolicy', 'ClusterPlacementPolicy');
    fc.assert(fc.property(fc.jsonValue(), kinds, (spec, kind) => {
      const found = supposePolicyApplies(pod, aPolicyIndex(), named(kind, 'x', spec));
      if (found.kind === 'impossible') assert.ok(found.why.length < 1_000);
    }));
    fc.assert(fc.property(fc.string(), (text) => void readWritten(text)));
  });
});

describe('policies to choose from', () => {
  it('are those of the namespace and of the cluster, by name', () => {
    const elsewhere = { ...aPolicy({}, 'x'), namespace: 'team-b', title: 'PlacementPolicy team-b/x' };
    const policyIndex = aPolicyIndex(aClusterPolicy({}), aPolicy({}, 'z'), aPolicy({}), elsewhere);
    assert.deepEqual(policiesFor('team-a', policyIndex).map(({ kind, name }) => `${kind}/${name}`), [
      'PlacementPolicy/p', 'PlacementPolicy/z', 'ClusterPlacementPolicy/cp',
    ]);
  });
});

describe('the manifest of a policy', () => {
  const read = (text: string) => readPolicyManifest(text);

  it('is read with its kind, its name and its spec', () => {
    const text = 'apiVersion: isthmus.dev/v1alpha1\nkind: ClusterPlacementPolicy\nmetadata: {name: x}\n';
    assert.deepEqual(read(`${text}spec: {require: {}}`), {
      kind: 'policy',
      policy: { kind: 'ClusterPlacementPolicy', name: 'x', written: { kind: 'spec', spec: { require: {} } } },
    });
  });

  for (const [what, text, problem] of [
    ['a policy of another group', 'apiVersion: policy.karmada.io/v1alpha1\nkind: PlacementPolicy', /isthmus\.dev/],
    ['another kind', 'apiVersion: isthmus.dev/v1alpha1\nkind: TargetDiscovery', /PlacementPolicy or/],
    ['no name', 'apiVersion: isthmus.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {}', /needs metadata\.name/],
    ['a list', '- 1', /must be one/], ['nothing', '', /must be one/], ['no YAML', '{', /is not valid YAML/],
  ] as const) {
    it(`is not ${what}`, () => {
      const found = read(text);
      assert.match(found.kind === 'invalid' ? found.problem : '', problem);
    });
  }
});
