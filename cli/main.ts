#!/usr/bin/env node
// The command `isthmus`: the command tree with what only this floor can put into it, run on the words of the process.
import { uiCommand } from '../dashboard/ui-command.ts';
import { startIsthmus } from '../sandbox/isthmus-in-sandbox.ts';
import { sandboxCommand } from '../sandbox/sandbox-command.ts';
import { failOnLostOutput, runCommandLine } from './command-line.ts';
import { program } from './program.ts';

failOnLostOutput();
await runCommandLine(program([uiCommand(), sandboxCommand({ startIsthmus })]), process.argv);
