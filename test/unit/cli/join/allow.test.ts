import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StringMap } from '../../../../api/objects/core.ts';
import { AnsweringApiServer } from '../../../support/doubles/answering-api-server.ts';
import { isthmusHere } from '../../../support/processes/command-in-process.ts';
import { status } from '../../../support/doubles/scripted-api-server.ts';

const SOURCES = ['a', 'b', 'c'].map((name) => ({ metadata: { name }, spec: { namespaces: 'OptedIn' } }));

/** What `isthmus allow namespace shop` prints, with these labels on the namespace before. */
async function allowed(labels: StringMap, ...words: readonly string[]): Promise<string> {
  return allowedOn(await AnsweringApiServer.start(
    { namespaces: [{ metadata: { name: 'shop', labels } }], clustersources: SOURCES, sources: [] },
    () => [200, { metadata: { name: 'shop' } }],
  ), ['allow', ...words]);
}

/** Sources that take more namespaces than those whose label names them. */
const EXEMPT = {
  clustersources: [
    ...SOURCES,
    { metadata: { name: 'every' }, spec: {} },
    { metadata: { name: 'east' }, spec: { namespaceSelector: { matchLabels: { region: 'east' } } } },
    { metadata: { name: 'west' }, spec: { namespaceSelector: { matchLabels: { region: 'west' } } } },
  ],
  sources: [{ metadata: { namespace: 'shop', name: 'team' }, spec: {} }],
};

/** What a command prints where there are such sources. */
async function exempting(...words: readonly string[]): Promise<string> {
  const labels = { region: 'east', 'isthmus.dev/sources': 'a_every' };
  return allowedOn(await AnsweringApiServer.start(
    { namespaces: [{ metadata: { name: 'shop', labels } }], ...EXEMPT },
    () => [200, { metadata: { name: 'shop', labels } }],
  ), words);
}

async function allowedOn(
  server: AnsweringApiServer, [command = '', ...words]: readonly string[],
): Promise<string> {
  try {
    const { stdout, stderr } =
      await isthmusHere(command, 'namespace', 'shop', ...words, '--kubeconfig', await server.kubeconfig());
    assert.equal(stderr, '');
    return stdout;
  } finally {
    await server.stop();
  }
}

describe('isthmus allow namespace', () => {
  it('says who may not run pods there any more, and how to allow all', async () => assert.equal(
    await allowed({ 'isthmus.dev/sources': 'a_b' }, '--source', 'b', 'c'),
    'Pods of b, c may run in namespace shop. New ones of a may not any more; to allow all of them: isthmus allow ' +
      'namespace shop --source a b c\n',
  ));

  for (const [what, labels] of [
    ['by name', { 'isthmus.dev/sources': 'all' }],
    ['because its own pods may be elected', { 'multicluster-scheduler': 'enabled' }],
  ] as const) {
    it(`says so where all sources were allowed until now, ${what}`, async () => assert.equal(
      await allowed(labels, '--source', 'b'),
      'Pods of b may run in namespace shop. Until now all sources could: the others run no new ones there.\n',
    ));
  }

  for (const [what, labels] of [
    ['those that were', { 'isthmus.dev/sources': 'b' }], ['none', { 'isthmus.dev/sources': 'none' }], ['any', {}],
  ] as const) {
    it(`says nothing more where nobody is excluded who was allowed: ${what}`, async () => assert.equal(
      await allowed(labels, '--source', 'b'), 'Pods of b may run in namespace shop.\n',
    ));
  }

  it('needs no permission to read the namespace', async () => {
    const server = await AnsweringApiServer.start((method, { pathname }) => {
      if (pathname.includes('clustersources')) return [200, { metadata: {}, items: SOURCES }];
      return method === 'GET'
        ? [403, status(403, 'Forbidden', 'it cannot get namespaces')]
        : [200, { metadata: { name: 'shop' } }];
    });
    assert.equal(await allowedOn(server, ['allow', '--source', 'b']), 'Pods of b may run in namespace shop.\n');
  });

  it('names those that may whatever the label, of which none is excluded', async () => assert.equal(
    await exempting('allow', '--source', 'b'),
    'Pods of b may run in namespace shop, and those of every, east, shop/team, whatever its labels. New ones of a ' +
      'may not any more; to allow all of them: isthmus allow namespace shop --source a b\n',
  ));

  it('excludes nobody where all are allowed', async () => assert.equal(
    await allowed({ 'isthmus.dev/sources': 'a' }), 'Pods of all sources may run in namespace shop.\n',
  ));
});

describe('isthmus disallow namespace', () => {
  it('names the sources that may run pods there whatever its labels', async () => assert.equal(
    await exempting('disallow'),
    'Only every, east, shop/team may run new pods in namespace shop, whatever its labels: to end that, change or ' +
      'delete the ClusterSource or Source ("isthmus get sources").\n',
  ));

  it('does not say that none may to somebody who may not list sources', async () => assert.match(
    await allowedOn(await AnsweringApiServer.start((method) => (
      method === 'GET' ? [403, status(403, 'Forbidden', 'no')] : [200, { metadata: { name: 'shop' } }]
    )), ['disallow']),
    /^The label of namespace shop allows no source\. You may not list/,
  ));

  it('says that none may where there is no such source', async () => assert.equal(
    await allowedOn(await AnsweringApiServer.start(
      { clustersources: SOURCES, sources: [] }, () => [200, { metadata: { name: 'shop' } }],
    ), ['disallow']), 'No source may run new pods in namespace shop.\n',
  ));
});
