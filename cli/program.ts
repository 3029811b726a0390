// All commands of `isthmus` in one tree, for the program itself and for the test that holds the documentation against it.
import { Command } from 'commander';
import { version } from '../process/version.ts';
import { startIsthmus } from '../sandbox/isthmus-in-sandbox.ts';
import { sandboxCommand } from '../sandbox/sandbox-command.ts';
import { adoptCommand } from './adopt.ts';
import { approveCommand } from './approve.ts';
import { checkUninstallCommand } from './check-uninstall.ts';
import { completionCommand } from './completion.ts';
import { cordonCommand, drainCommand, uncordonCommand } from './drain.ts';
import { bundleCommand } from './bundle.ts';
import { brokerCommand } from './broker.ts';
import { failbackCommand } from './failback.ts';
import { gatewayCommand } from './gateway.ts';
import { doctorCommand } from './doctor.ts';
import { explainCommand } from './explain.ts';
import { getCommand } from './get.ts';
import { installCommand } from './install.ts';
import { inviteCommand } from './invite.ts';
import { joinCommand } from './join.ts';
import { migrateCommand } from './migrate.ts';
import { moveCommand } from './move.ts';
import { allowCommand, disallowCommand } from './allow.ts';
import { offloadCommand, unoffloadCommand } from './offload.ts';
import { peerCommand } from './peer.ts';
import { planCommand } from './plan.ts';
import { replayCommand } from './replay.ts';
import { execCommand, logsCommand, portForwardCommand } from './pod-streams.ts';
import { runCommand } from './run.ts';
import { serviceCommand } from './service.ts';
import { statusCommand } from './status.ts';
import { uninstallCommand } from './uninstall.ts';
import { unpeerCommand } from './unpeer.ts';
import { verifyCommand } from './verify.ts';

/** The command `isthmus` with its subcommands; nothing runs before it is asked to parse. */
export function program(): Command {
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
    .addCommand(adoptCommand())
    .addCommand(migrateCommand())
    .addCommand(unpeerCommand())
    .addCommand(cordonCommand())
    .addCommand(drainCommand())
    .addCommand(uncordonCommand())
    .addCommand(allowCommand())
    .addCommand(disallowCommand())
    .addCommand(offloadCommand())
    .addCommand(unoffloadCommand())
    .addCommand(moveCommand())
    .addCommand(failbackCommand())
    .addCommand(statusCommand())
    .addCommand(doctorCommand())
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
    .addCommand(serviceCommand())
    .addCommand(sandboxCommand({ startIsthmus }))
    .addCommand(new Command('version').description('print the version').action(() => console.log(version())));
}
