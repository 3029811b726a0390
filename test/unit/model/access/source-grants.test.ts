import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { SourceGrants } from '../../../../api/kinds/cluster-source.ts';
import { DEFAULT_GRANTS, isAllowedIn, takesAllNamespaces } from '../../../../model/access/source-grants.ts';

const letInto = (name: string, labels: Record<string, string>, grants: SourceGrants, source = 'berlin') =>
  isAllowedIn({ name, labels }, { name: source, grants, installNamespace: 'ours' });
const byTeam: SourceGrants = { namespaceSelector: { matchLabels: { team: 'a' } } };

describe('a source', () => {
  const rows: readonly [string, boolean, [string, Record<string, string>, SourceGrants, string?]][] = [
    ['of Admiralty\'s form is let into any namespace', true, ['shop', {}, {}]],
    ['of Admiralty\'s form is not let into kube-system', false, ['kube-system', {}, {}]],
    ['that may go everywhere is not let into a namespace of kube- that is not there yet', false, [
      'kube-future', {}, { namespaces: 'All' },
    ]],
    ['that may go everywhere is not let into the install namespace', false, [
      'ours', { 'isthmus.dev/sources': 'all' }, { namespaces: 'All' },
    ]],
    ['that may go everywhere is not let to the keys of Isthmus', false, ['ours-keys', {}, { namespaces: 'All' }]],
    ['that may go everywhere is not let to the kubeconfigs of discovered targets', false, [
      'ours-targets', { 'isthmus.dev/sources': 'all' }, { namespaces: 'All' },
    ]],
    ['is not let into a namespace without labels', false, ['shop', {}, DEFAULT_GRANTS]],
    ['is let in where all are', true, ['shop', { 'isthmus.dev/sources': 'all' }, DEFAULT_GRANTS]],
    ['is let in by its name', true, ['shop', { 'isthmus.dev/sources': 'berlin' }, DEFAULT_GRANTS]],
    ['is let in by its name among others', true, [
      'shop', { 'isthmus.dev/sources': 'paris_berlin_rome' }, DEFAULT_GRANTS,
    ]],
    ['is not let in by the name of another', false, [
      'shop', { 'isthmus.dev/sources': 'paris_berlin-2' }, DEFAULT_GRANTS,
    ]],
    ['is not let in where nobody is', false, ['shop', { 'isthmus.dev/sources': 'none' }, DEFAULT_GRANTS]],
    ['is let in where pods are elected', true, ['shop', { 'multicluster-scheduler': 'enabled' }, DEFAULT_GRANTS]],
    ['is not let in where pods are elected and sources are named, not this one', false, [
      'shop', { 'multicluster-scheduler': 'enabled', 'isthmus.dev/sources': 'none' }, DEFAULT_GRANTS,
    ]],
    ['with a selector alone is let in where it matches', true, ['shop', { team: 'a' }, byTeam]],
    ['with a selector alone is not let in where all sources are', false, [
      'shop', { 'isthmus.dev/sources': 'all' }, byTeam,
    ]],
    ['with a selector beside is let in where all sources are, and where it matches', true, [
      'shop', { team: 'a' }, { ...DEFAULT_GRANTS, ...byTeam },
    ]],
    ['with a selector is not let into kube-system that matches', false, ['kube-system', { team: 'a' }, byTeam]],
    ['with an empty selector is let in everywhere else', true, ['shop', {}, { namespaceSelector: {} }]],
  ];
  for (const [what, expected, [name, labels, grants, source]] of rows) {
    it(what, () => assert.equal(letInto(name, labels, grants, source), expected));
  }

  it('is let into no system namespace, whatever is granted and labelled', () => {
    const grants = fc.record(
      {
        namespaces: fc.constantFrom('All' as const, 'OptedIn' as const),
        namespaceSelector: fc.constantFrom({}, { matchLabels: {} }),
      },
      { requiredKeys: [] },
    );
    const labels = fc.dictionary(
      fc.constantFrom('isthmus.dev/sources', 'multicluster-scheduler', 'team'),
      fc.constantFrom('all', 'enabled', 'berlin', 'a'),
    );
    fc.assert(fc.property(
      grants, labels, fc.constantFrom('ours', 'kube-system', 'kube-public', 'kube-x'),
      (granted, labelled, name) => !letInto(name, labelled, granted),
    ));
  });

  it('that is let into all namespaces is let into each', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.string()), (labels) => letInto('shop', labels, { namespaces: 'All' })),
    );
    assert.deepEqual(
      [{}, { podSecurity: 'baseline' }, byTeam, DEFAULT_GRANTS].map(
        (grants) => takesAllNamespaces(grants as SourceGrants),
      ),
      [true, true, false, false],
    );
  });
});
