import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { wholeProgram } from '../../support/processes/whole-program.ts';

const namesOf = async (...words: readonly string[]): Promise<readonly string[]> =>
  (await wholeProgram(words)).commands.map((command) => command.name());

describe('the tree of commands', async () => {
  const all = await namesOf();

  for (const name of all) {
    it(`has only "${name}" where it is asked for`, async () => {
      assert.deepEqual(await namesOf(name, 'get', '--help'), [name]);
      assert.deepEqual(await namesOf('--debug', name), [name]);
    });
  }

  for (const words of [['--help'], ['help', 'status'], ['statsu'], ['constructor'], ['__complete', 'status'], ['']]) {
    it(`is whole for "${words.join(' ')}"`, async () => assert.deepEqual(await namesOf(...words), all));
  }
});
