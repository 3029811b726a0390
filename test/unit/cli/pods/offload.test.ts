import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { electionOf, parseSelector } from '../../../../cli/pods/offload.ts';
import { AnsweringApiServer } from '../../../support/doubles/answering-api-server.ts';
import { isthmusHere } from '../../../support/processes/command-in-process.ts';

describe('offload', () => {
  const flags = { strategy: 'Remote', mapping: 'EnforceSameName' } as const;

  it('makes the one object of the namespace', () => {
    const { metadata, spec } = electionOf('ns', 'team-a', { ...flags, selector: 'region=eu' });
    assert.deepEqual(metadata, { namespace: 'team-a', name: 'election' });
    assert.deepEqual(
      spec, { ...flags, selector: { matchExpressions: [{ key: 'region', operator: 'In', values: ['eu'] }] } },
    );
  });

  const selectors: readonly (readonly [string, readonly object[]])[] = [
    ['a=b', [{ key: 'a', operator: 'In', values: ['b'] }]],
    ['a==b,c!=d', [{ key: 'a', operator: 'In', values: ['b'] }, { key: 'c', operator: 'NotIn', values: ['d'] }]],
    ['example.com/a, !b', [{ key: 'example.com/a', operator: 'Exists' }, { key: 'b', operator: 'DoesNotExist' }]],
    ['a=', [{ key: 'a', operator: 'In', values: [''] }]],
  ];
  for (const [text, matchExpressions] of selectors) {
    it(`reads ${text}`, () => assert.deepEqual(parseSelector(text), { matchExpressions }));
  }
  for (const text of ['', '=b', 'a in (b)', '!a=b', 'a=b,,c']) {
    it(`refuses the selector "${text}"`, () => assert.throws(() => parseSelector(text), /--selector takes/));
  }

  it('refuses what is no namespace, and what it cannot do', () => {
    assert.throws(() => electionOf('pod', 'x', flags), /isthmus offload namespace NAME/);
    assert.throws(() => electionOf('namespace', 'Not-A-Label', flags), /DNS-1123/);
    assert.throws(
      () => electionOf('namespace', 'x', { ...flags, mapping: 'DefaultName' }), /namespace of the same name/,
    );
  });
});

describe('isthmus unoffload', () => {
  const elected = { 'isthmus.dev/elect': 'all' };
  for (const [which, labels, more] of [
    ['that has opted in', { ...elected, 'multicluster-scheduler': 'enabled' }, ''],
    [
      'that has not opted in, whose annotated pods would run in the source', elected,
      ' once it has opted in: kubectl label namespace team-a multicluster-scheduler=enabled',
    ],
  ] as const) it(`says what elects pods of a namespace ${which}`, async (t) => {
    const server = await AnsweringApiServer.start(
      { namespaces: [{ metadata: { name: 'team-a', labels } }], namespaceelections: [] }, () => [200, {}],
    );
    t.after(() => server.stop());
    const ended = await isthmusHere('unoffload', 'namespace', 'team-a', '--kubeconfig', await server.kubeconfig());
    const stdout = `Pods of namespace team-a are elected by their annotation alone again${more || '.'}\n`;
    assert.deepEqual(ended, { stdout, stderr: '', code: 0 });
  });
});
