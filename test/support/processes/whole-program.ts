// The whole tree of commands, as users have it.
import type { Command } from 'commander';
import { program, type LazyCommands } from '../../../cli/program.ts';
import { uiCommand } from '../../../dashboard/ui-command.ts';
import { uiServerCommand } from '../../../dashboard/ui-server-command.ts';
import { sandboxCommand } from '../../../sandbox/sandbox-command.ts';

const ABOVE: LazyCommands = {
  ui: async () => uiCommand(), 'ui-server': async () => uiServerCommand(), sandbox: async () => sandboxCommand({}),
};

/** The command `isthmus` with the commands of all floors; with one of them where `words` ask for it. */
export const wholeProgram = (words: readonly string[] = []): Promise<Command> => program(ABOVE, words);
