import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Argument, Command, Option } from 'commander';
import { completionsOf, completionText, questionOf, wordsToComplete } from '../../../cli/completion.ts';
import { program as isthmusProgram } from '../../../cli/program.ts';
import { AnsweringApiServer } from '../../support/doubles/answering-api-server.ts';
import { aProxy } from '../../support/objects/builders.ts';
import { isthmusHere } from '../../support/processes/command-in-process.ts';
import { servedSource, servedTarget } from '../../support/doubles/served-source.ts';

const program = new Command('isthmus')
  .option('--debug')
  .addCommand(
    new Command('get').addArgument(
      new Argument('<kind>').choices(['targets', 'pods']),
    ).option('-n, --namespace <name>').addOption(new Option('-o, --output <format>').choices(['wide', 'json'])),
  )
  .addCommand(new Command('gateway').addCommand(new Command('run').option('--listen <address>')).addCommand(
    new Command('status'),
  ));

describe('completion', () => {
  const rows: readonly (readonly [words: string, choices: readonly string[]])[] = [
    ['', ['gateway', 'get']],
    ['ge', ['get']],
    ['--', ['--debug']],
    ['get |', ['pods', 'targets']],
    ['get p', ['pods']],
    ['get pods |', []],
    ['get --', ['--namespace', '--output']],
    ['get -o |', ['json', 'wide']],
    ['get pods --output w', ['wide']],
    ['get -n team-a |', ['pods', 'targets']],
    ['get -n |', []],
    ['gateway |', ['run', 'status']],
    ['gateway run --l', ['--listen']],
    ['--debug gate', ['gateway']],
    ['nonsense |', []],
  ];
  for (const [words, choices] of rows) {
    it(`of "${words}" gives ${choices.join(' ') || 'nothing'}`, () => assert.deepEqual(
      completionsOf(program, words.split(' ').map((word) => word.replace('|', ''))), choices,
    ));
  }

  it('tells kubectl a line for each choice, and that there are no files to choose from', () => assert.equal(
    completionText(program, ['get', '']), 'pods\ntargets\n:4',
  ));

  const questions: readonly (readonly [words: string, what: string | undefined, flags?: object])[] = [
    ['get targets |', 'targets'], ['get pod w', 'pods'], ['get nodes a |', 'nodes'], ['get |', undefined],
    ['drain |', 'targets'],
    ['logs -n shop |', 'pods', { namespace: 'shop' }], ['logs pod/w', 'pods'], ['logs -', undefined],
    ['explain --kubeconfig k.yaml --context c |', 'pods', { kubeconfig: 'k.yaml', context: 'c' }],
    ['move web --to |', 'targets'], ['get pods -n |', 'namespaces'], ['get pods --context |', 'contexts'],
    ['approve |', 'invitations'],
    ['allow namespace |', 'namespaces'], ['verify us |', 'targets'], ['status |', undefined],
  ];
  for (const [words, what, flags = {}] of questions) {
    it(`of "${words}" asks the cluster for ${what ?? 'nothing'}`, async () => assert.deepEqual(
      questionOf(await isthmusProgram(), words.split(' ').map((word) => word.replace('|', ''))),
      what === undefined ? undefined : { what, flags },
    ));
  }

  it('offers kinds, targets and pods', async () => {
    const server = await AnsweringApiServer.start(
      servedSource([servedTarget('us', ''), servedTarget('eu', '')], { pods: [aProxy()] }),
    );
    const flags = ['--kubeconfig', await server.kubeconfig()];
    const offered = async (...words: string[]) =>
      (await isthmusHere('__complete', ...words)).stdout.trim().split('\n').slice(0, -1);
    assert.deepEqual(await offered('get', 't'), ['targets']);
    assert.deepEqual(await offered('drain', ...flags, ''), ['eu', 'us']);
    assert.deepEqual(await offered('get', 'targets', ...flags, 'e'), ['eu']);
    assert.deepEqual(await offered('explain', ...flags, 'pod/'), ['pod/web']);
    assert.deepEqual(await offered('explain', '--kubeconfig', '/nowhere', ''), []);
    await server.stop();
  });

  it('is asked for by a word, or by the name of the program', () => {
    assert.deepEqual(wordsToComplete(['node', '/usr/bin/isthmus', '__complete', 'get', '']), ['get', '']);
    assert.deepEqual(wordsToComplete(['node', '/usr/bin/kubectl_complete-isthmus', 'get', '']), ['get', '']);
    assert.equal(wordsToComplete(['node', '/usr/bin/isthmus', 'get', 'pods']), undefined);
  });
});
