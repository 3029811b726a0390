import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sourcesLabel } from '../../../../cli/join/allow.ts';
import { grantsOf, type GrantFlags } from '../../../../cli/join/grant-flags.ts';
import { sourceTable } from '../../../../cli/get/source-table.ts';

describe('the flags about what a source may do', () => {
  const rows: readonly [string, GrantFlags, string | undefined, object][] = [
    ['let it in by label, at baseline, when left out', {}, undefined, {
      namespaces: 'OptedIn', podSecurity: 'baseline',
    }],
    ['let it in everywhere', { allNamespaces: true, podSecurity: 'privileged' }, undefined, {
      namespaces: 'All', podSecurity: 'privileged',
    }],
    ['let it into named namespaces besides', { allowNamespace: ['a', 'b'] }, undefined, {
      namespaces: 'OptedIn', podSecurity: 'baseline',
      namespaceSelector:
        { matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'In', values: ['a', 'b'] }] },
    }],
    ['let it in by labels besides', { namespaceSelector: 'team=a' }, undefined, {
      namespaces: 'OptedIn', podSecurity: 'baseline',
      namespaceSelector: { matchExpressions: [{ key: 'team', operator: 'In', values: ['a'] }] },
    }],
    ['say nothing of namespaces where there is one', { podSecurity: 'restricted' }, 'team', {
      podSecurity: 'restricted',
    }],
  ];
  for (const [what, flags, namespace, expected] of rows) {
    it(what, () => assert.deepEqual(grantsOf(flags, namespace), expected));
  }

  it('that contradict one another are refused by name', () => {
    assert.throws(
      () => grantsOf({ allNamespaces: true, namespaceSelector: 'a=b' }),
      /--all-namespaces and --namespace-selector exclude each other/,
    );
    assert.throws(() => grantsOf({ allowNamespace: ['a'] }, 'team'), /--namespace and --allow-namespace/);
    assert.throws(() => grantsOf({ allowNamespace: ['Not A Name'] }), /--allow-namespace/);
    assert.throws(() => grantsOf({ namespaceSelector: '=' }), /--namespace-selector takes/);
  });
});

describe('isthmus allow', () => {
  const label = (name: string, ...sources: string[]) =>
    sourcesLabel('namespace', name, { installNamespace: 'isthmus-system', sources });
  it('names the sources in the label', () => {
    assert.deepEqual([label('shop', 'all'), label('shop', 'a', 'b', 'a'), label('shop')], ['all', 'a_b', 'none']);
  });

  it('refuses what cannot be let in, and says why', () => {
    assert.throws(() => label('kube-system', 'all'), /never allowed in kube-system/);
    assert.throws(() => label('isthmus-system', 'all'), /install namespace/);
    assert.throws(() => label('Shop', 'all'), /namespace/);
    assert.throws(() => label('shop', 'a'.repeat(40), 'b'.repeat(40)), /63 characters/);
    assert.throws(
      () => sourcesLabel('pod', 'shop', { installNamespace: 'x', sources: [] }),
      /isthmus allow namespace NAME, not "pod"/,
    );
  });
});

describe('isthmus get sources', () => {
  it('shows what each may really do, and what is wrong', () => {
    const condition = (type: string, status: 'True' | 'False', reason: string) =>
      ({ type, status, reason, message: `about ${reason}`, lastTransitionTime: '' });
    const table = sourceTable([
      { metadata: { namespace: 'team', name: 's' }, spec: { clusterID: 'c' } },
      {
        metadata: { name: 'berlin' }, spec: {},
        status: {
          conditions: [condition('Ready', 'True', 'Established'), condition('Guarded', 'False', 'ClusterUnknown')],
          allows: { namespaces: 'shop', podSecurity: 'baseline', streams: 'own' },
        },
      },
    ], { now: 0, wide: true });
    assert.deepEqual(table.rows.map((row) => row.filter((_cell, index) => index !== 6)), [
      ['berlin', 'True', 'False', 'shop', 'baseline', 'own', undefined, 'about ClusterUnknown'],
      ['team/s', 'Unknown', 'Unknown', undefined, undefined, undefined, 'c', undefined],
    ]);
  });
});
