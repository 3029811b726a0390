// Every command has examples, and each can be typed: the parser takes it.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Command } from 'commander';
import { EXAMPLES } from '../../../cli/examples.ts';
import { wholeProgram } from '../../support/processes/whole-program.ts';
import { leavesOf } from '../../support/docs/wrong-inputs.ts';

/** The words of a line as a shell would split it. */
const wordsOf = (line: string) => line.includes('jsonpath=')
  ? [...line.slice(0, line.indexOf('jsonpath=')).trim().split(' '), line.slice(line.indexOf('jsonpath='))]
  : line.split(' ');

function strictly(command: Command): void {
  command.exitOverride().configureOutput({ writeErr: () => undefined });
  for (const nested of command.commands) strictly(nested);
}

describe('examples', () => {
  it('are of every command, and of no other', async () => {
    const leaves = leavesOf(await wholeProgram());
    assert.deepEqual(Object.keys(EXAMPLES).toSorted(), leaves.map(([name]) => name).toSorted());
  });

  for (const [name, examples] of Object.entries(EXAMPLES)) {
    for (const [what, line] of examples) {
      it(`${line} (${what})`, async () => {
        const isthmus = await wholeProgram(wordsOf(line).slice(1));
        strictly(isthmus);
        const [, command] = leavesOf(isthmus).find(([known]) => known === name) ?? [];
        let ran = false;
        command?.action(() => void (ran = true));
        await isthmus.parseAsync(wordsOf(line).slice(1), { from: 'user' });
        assert.ok(ran, 'it is another command');
      });
    }
  }

  it('stand in the help', async () => {
    const [get] = (await wholeProgram(['get'])).commands;
    let help = '';
    get?.configureOutput({ writeOut: (text) => void (help += text) }).outputHelp();
    assert.match(help, /^Examples:\n {2}# List targets\n {2}isthmus get targets$/m);
    assert.match(help, /jsonpath='\{range/);
  });

  it('"exec" shows where the command begins', async () => {
    const [exec] = (await wholeProgram(['exec'])).commands;
    assert.match(exec?.helpInformation() ?? '', /^Usage: isthmus exec \[options\] <pod> -- <command\.\.\.>/);
  });
});
