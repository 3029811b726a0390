#!/usr/bin/env node
// The command `isthmus`: the command tree with what only this folder can put into it, run on the words of the process.
import { escapeControlCharacters, failOnLostOutput, runCommandLine } from './command-line.ts';
import { wordsToComplete } from './completion.ts';
import { program, type LazyCommands } from './program.ts';

const ABOVE: LazyCommands = {
  ui: async () => (await import('../dashboard/ui-command.ts')).uiCommand(),
  'ui-server': async () => (await import('../dashboard/ui-server-command.ts')).uiServerCommand(),
  sandbox: async () => {
    const { sandboxCommand } = await import('../sandbox/sandbox-command.ts');
    return sandboxCommand({
      startIsthmus: async (...to) => (await import('../sandbox/isthmus-in-sandbox.ts')).startIsthmus(...to),
    });
  },
};

failOnLostOutput();
escapeControlCharacters();
const words = wordsToComplete(process.argv)?.slice(0, -1) ?? process.argv.slice(2);
await runCommandLine(await program(ABOVE, words), process.argv);
