#!/usr/bin/env node
// The command `isthmus`: puts the subcommands together and turns what they throw into a message and an exit code.
import { Command } from 'commander';
import { ApiError, UnreachableError } from '../kubernetes/api-error.ts';
import { AppError, messageOf } from '../process/errors.ts';
import { exitWith, interruptedExitCode } from '../process/lifecycle.ts';
import { version } from '../process/version.ts';
import { startIsthmus } from '../sandbox/isthmus-in-sandbox.ts';
import { sandboxCommand } from '../sandbox/sandbox-command.ts';
import { approveCommand } from './approve.ts';
import { checkUninstallCommand } from './check-uninstall.ts';
import { completionCommand, completionText, wordsToComplete } from './completion.ts';
import { cordonCommand, drainCommand, uncordonCommand } from './drain.ts';
import { bundleCommand } from './bundle.ts';
import { brokerCommand } from './broker.ts';
import { gatewayCommand } from './gateway.ts';
import { explainCommand } from './explain.ts';
import { getCommand } from './get.ts';
import { installCommand } from './install.ts';
import { inviteCommand } from './invite.ts';
import { joinCommand } from './join.ts';
import { offloadCommand, unoffloadCommand } from './offload.ts';
import { peerCommand } from './peer.ts';
import { planCommand } from './plan.ts';
import { replayCommand } from './replay.ts';
import { execCommand, logsCommand, portForwardCommand } from './pod-streams.ts';
import { runCommand } from './run.ts';
import { uninstallCommand } from './uninstall.ts';
import { unpeerCommand } from './unpeer.ts';
import { verifyCommand } from './verify.ts';

function program(): Command {
  return new Command('isthmus')
    .description('Annotate a pod and it runs in whichever Kubernetes cluster has room.')
    .option('--debug', 'show where an error came from')
    .addCommand(installCommand())
    .addCommand(checkUninstallCommand())
    .addCommand(uninstallCommand())
    .addCommand(runCommand())
    .addCommand(peerCommand())
    .addCommand(inviteCommand())
    .addCommand(joinCommand())
    .addCommand(approveCommand())
    .addCommand(unpeerCommand())
    .addCommand(cordonCommand())
    .addCommand(drainCommand())
    .addCommand(uncordonCommand())
    .addCommand(offloadCommand())
    .addCommand(unoffloadCommand())
    .addCommand(getCommand())
    .addCommand(explainCommand())
    .addCommand(logsCommand())
    .addCommand(execCommand())
    .addCommand(portForwardCommand())
    .addCommand(planCommand())
    .addCommand(replayCommand())
    .addCommand(verifyCommand())
    .addCommand(bundleCommand())
    .addCommand(completionCommand())
    .addCommand(gatewayCommand())
    .addCommand(brokerCommand())
    .addCommand(sandboxCommand({ startIsthmus }))
    .addCommand(new Command('version').description('print the version').action(() => console.log(version())));
}

/** Whether this is the reason of the signal that `untilStopped` gives: a call was cut short because the user asked for the end. */
function isStopSignal(thrown: unknown): thrown is string {
  return typeof thrown === 'string' && thrown.startsWith('SIG');
}

/** Errors meant for people are shown as they are; anything else is a fault of this program, and says so. */
function report(error: unknown, debug: boolean): void {
  if (isStopSignal(error)) {
    console.error(`isthmus: stopped by ${error}`);
    return exitWith(interruptedExitCode);
  }
  const isMeant = error instanceof AppError || error instanceof ApiError || error instanceof UnreachableError;
  console.error(`isthmus: ${isMeant ? '' : 'unexpected error: '}${messageOf(error)}`);
  if (debug && error instanceof Error) console.error(error.stack);
  exitWith(1);
}

const isthmus = program();
const words = wordsToComplete(process.argv);
try {
  if (words === undefined) await isthmus.parseAsync();
  else console.log(completionText(isthmus, words));
} catch (error) {
  report(error, isthmus.opts<{ readonly debug?: true }>().debug === true);
}
