import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Argument, Command, Option } from 'commander';
import { completionsOf, completionText, wordsToComplete } from '../../../cli/completion.ts';

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

  it('is asked for by a word, or by the name of the program', () => {
    assert.deepEqual(wordsToComplete(['node', '/usr/bin/isthmus', '__complete', 'get', '']), ['get', '']);
    assert.deepEqual(wordsToComplete(['node', '/usr/bin/kubectl_complete-isthmus', 'get', '']), ['get', '']);
    assert.equal(wordsToComplete(['node', '/usr/bin/isthmus', 'get', 'pods']), undefined);
  });
});
