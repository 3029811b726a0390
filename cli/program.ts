// The command tree of `isthmus`, for the program and for the test that compares the documentation with it.
import { Command } from 'commander';
import { version } from '../process/version.ts';
import { addExamples } from './examples.ts';
import { requireLabel } from './output/object-names.ts';

/** Commands by their names, in the order of the help. Each is loaded once it is asked for. */
export type LazyCommands = Readonly<Record<string, () => Promise<Command>>>;

const COMMANDS: LazyCommands = {
  install: async () => (await import('./install/install.ts')).installCommand(),
  'check-uninstall': async () => (await import('./install/check-uninstall.ts')).checkUninstallCommand(),
  uninstall: async () => (await import('./install/uninstall.ts')).uninstallCommand(),
  run: async () => (await import('./run/run.ts')).runCommand(),
  peer: async () => (await import('./join/peer.ts')).peerCommand(),
  invite: async () => (await import('./join/invite.ts')).inviteCommand(),
  join: async () => (await import('./join/join.ts')).joinCommand(),
  approve: async () => (await import('./join/approve.ts')).approveCommand(),
  adopt: async () => (await import('./takeover/adopt.ts')).adoptCommand(),
  migrate: async () => (await import('./migrate/migrate.ts')).migrateCommand(),
  unpeer: async () => (await import('./unpeer/unpeer.ts')).unpeerCommand(),
  cordon: async () => (await import('./pods/drain.ts')).cordonCommand(),
  drain: async () => (await import('./pods/drain.ts')).drainCommand(),
  uncordon: async () => (await import('./pods/drain.ts')).uncordonCommand(),
  allow: async () => (await import('./join/allow.ts')).allowCommand(),
  disallow: async () => (await import('./join/allow.ts')).disallowCommand(),
  offload: async () => (await import('./pods/offload.ts')).offloadCommand(),
  unoffload: async () => (await import('./pods/offload.ts')).unoffloadCommand(),
  move: async () => (await import('./pods/move.ts')).moveCommand(),
  failback: async () => (await import('./pods/failback-command.ts')).failbackCommand(),
  status: async () => (await import('./doctor/status.ts')).statusCommand(),
  doctor: async () => (await import('./doctor/doctor.ts')).doctorCommand(),
  get: async () => (await import('./get/get.ts')).getCommand(),
  export: async () => (await import('./export/export.ts')).exportCommand(),
  explain: async () => (await import('./placement/explain-command.ts')).explainCommand(),
  logs: async () => (await import('./streams/pod-streams.ts')).logsCommand(),
  exec: async () => (await import('./streams/pod-streams.ts')).execCommand(),
  'port-forward': async () => (await import('./streams/pod-streams.ts')).portForwardCommand(),
  plan: async () => (await import('./plan/plan.ts')).planCommand(),
  lint: async () => (await import('./lint/lint.ts')).lintCommand(),
  convert: async () => (await import('./convert/convert.ts')).convertCommand(),
  replay: async () => (await import('./placement/replay.ts')).replayCommand(),
  verify: async () => (await import('./pods/verify.ts')).verifyCommand(),
  bundle: async () => (await import('./doctor/bundle.ts')).bundleCommand(),
  completion: async () => (await import('./completion.ts')).completionCommand(),
  gateway: async () => (await import('./gateway/gateway.ts')).gatewayCommand(),
  broker: async () => (await import('./gateway/broker.ts')).brokerCommand(),
  service: async () => (await import('./services/service.ts')).serviceCommand(),
};

const versionCommand = (): Command =>
  new Command('version').description('print the version').action(() => console.log(version()));

/**
 * The command `isthmus`, with the subcommands of folders `above` this one; has no side effects before it parses. Loads
 * only the subcommand that `words` begin with, because importing all of them takes most of a second; loads all if
 * `words` name none.
 */
export async function program(above: LazyCommands = {}, words: readonly string[] = []): Promise<Command> {
  const isthmus = new Command('isthmus')
    .description('Annotate a pod and it runs in whichever Kubernetes cluster has room.')
    .version(version(), '--version', 'print the version')
    .option('--debug', 'show where an error came from');
  const commands: LazyCommands = { ...COMMANDS, ...above, version: async () => versionCommand() };
  for (const command of await Promise.all(commandsFor(words, commands).map((load) => load()))) {
    isthmus.addCommand(command);
  }
  requireNamespaces(isthmus);
  addExamples(isthmus);
  return isthmus;
}

/** No option in front of a subcommand takes a value. */
function commandsFor(words: readonly string[], commands: LazyCommands): readonly (() => Promise<Command>)[] {
  const asked = words.find((word) => !word.startsWith('-')) ?? '';
  const load = Object.hasOwn(commands, asked) ? commands[asked] : undefined;
  return load === undefined ? Object.values(commands) : [load];
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
