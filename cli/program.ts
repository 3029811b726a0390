// The command tree of `isthmus`, for the program and for the test that compares the documentation with it.
import { Command } from 'commander';
import { version } from '../process/version.ts';
import { adoptCommand } from './takeover/adopt.ts';
import { approveCommand } from './join/approve.ts';
import { checkUninstallCommand } from './install/check-uninstall.ts';
import { completionCommand } from './completion.ts';
import { cordonCommand, drainCommand, uncordonCommand } from './pods/drain.ts';
import { bundleCommand } from './doctor/bundle.ts';
import { brokerCommand } from './gateway/broker.ts';
import { failbackCommand } from './pods/failback-command.ts';
import { gatewayCommand } from './gateway/gateway.ts';
import { doctorCommand } from './doctor/doctor.ts';
import { addExamples } from './examples.ts';
import { explainCommand } from './placement/explain-command.ts';
import { getCommand } from './get/get.ts';
import { installCommand } from './install/install.ts';
import { inviteCommand } from './join/invite.ts';
import { joinCommand } from './join/join.ts';
import { migrateCommand } from './migrate/migrate.ts';
import { moveCommand } from './pods/move.ts';
import { allowCommand, disallowCommand } from './join/allow.ts';
import { offloadCommand, unoffloadCommand } from './pods/offload.ts';
import { peerCommand } from './join/peer.ts';
import { planCommand } from './plan/plan.ts';
import { replayCommand } from './placement/replay.ts';
import { execCommand, logsCommand, portForwardCommand } from './streams/pod-streams.ts';
import { runCommand } from './run/run.ts';
import { serviceCommand } from './services/service.ts';
import { requireLabel } from './output/object-names.ts';
import { statusCommand } from './doctor/status.ts';
import { uninstallCommand } from './install/uninstall.ts';
import { unpeerCommand } from './unpeer/unpeer.ts';
import { verifyCommand } from './pods/verify.ts';

/**
 * The command `isthmus` with all subcommands, and those of floors above this one; has no side effects before it parses.
 */
export function program(above: readonly Command[] = []): Command {
  const isthmus = new Command('isthmus')
    .description('Annotate a pod and it runs in whichever Kubernetes cluster has room.')
    .version(version(), '--version', 'print the version')
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
    .addCommand(serviceCommand());
  for (const command of above) isthmus.addCommand(command);
  isthmus.addCommand(
    new Command('version').description('print the version').action(() => console.log(version())),
  );
  requireNamespaces(isthmus);
  addExamples(isthmus);
  return isthmus;
}

/** Names of namespaces are checked before anything is sent, whatever command takes them. */
function requireNamespaces(command: Command): void {
  for (const option of command.options) {
    const { long } = option;
    if (option.parseArg !== undefined || (long !== '--namespace' && long !== '--install-namespace')) continue;
    option.argParser((text) => {
      requireLabel(long, text);
      return text;
    });
  }
  for (const nested of command.commands) requireNamespaces(nested);
}
