// The command group `isthmus sandbox build|up|down`. Results go to standard output, progress to standard error.
import { resolve, join } from 'node:path';
import { Command, Option } from 'commander';
import { DEFAULT_INSTALL_NAMESPACE } from '../api/objects/keys.ts';
import { wholeNumber } from '../cli/clusters/run-flags.ts';
import { servePage } from '../dashboard/ui-command.ts';
import { openCluster, userAgent } from '../kubernetes/client/open-cluster.ts';
import { environment } from '../process/config.ts';
import { AppError, messageOf } from '../process/errors.ts';
import {
  aborted, exitWith, interruptedExitCode, Shutdown, untilStopped, type ShutdownStep,
} from '../process/lifecycle.ts';
import { ensureBinaries } from './build/build-binaries.ts';
import { maxTargets } from './plan/cluster-plan.ts';
import { nodeChoices, nodeChoiceText, parseNodeChoice, type NodeChoice } from './plan/node-choice.ts';
import { ensureNodePrograms } from './real-nodes/node-programs.ts';
import { startDetached, supervisorChannel, supervisorLogPath } from './detached-sandbox.ts';
import { showElectedPods } from './demo.ts';
import type { OnProgress } from '../process/programs/go-build.ts';
import { ensurePackagingTools } from './build/packaging-tools.ts';
import { noProgress, showProgress } from './processes/progress.ts';
import { pointingKubectl, shellWord } from './processes/shell-word.ts';
import { startSandbox, type Sandbox } from './sandbox.ts';
import { nodesAsTheyAre } from './simulated.ts';
import { stopSandbox } from './stop-sandbox.ts';

/**
 * Starts Isthmus inside a sandbox; resolves once it works. The returned step stops it, before the clusters stop.
 */
export type StartIsthmus = (sandbox: Sandbox, signal: AbortSignal) => Promise<ShutdownStep>;

/** What the commands are given by their composition. */
export interface SandboxDependencies {
  /** Used by `up` without `--bare`. */
  readonly startIsthmus?: StartIsthmus;
}

interface UpOptions {
  readonly targets: number;
  readonly nodes: NodeChoice;
  readonly gpus: number;
  readonly dir: string;
  readonly audit?: true;
  readonly bare?: true;
  readonly detach?: true;
  readonly json?: true;
  readonly supervised?: true;
}

function progressPrinter(): OnProgress {
  let state = noProgress;
  return (text) => {
    const shown = showProgress(state, text, process.stderr.isTTY);
    state = shown.state;
    process.stderr.write(shown.output);
  };
}

/** What `up` prints once ready: for people, or with `json` one object with the paths of all kubeconfigs. */
export function describeSandbox(sandbox: Pick<Sandbox, 'clusters' | 'dir' | 'registry'>, json: boolean): string {
  const [source, ...targets] = sandbox.clusters;
  const audited =
    sandbox.clusters.flatMap(({ name, auditLog }) => (auditLog === undefined ? [] : [[name, auditLog] as const]));
  if (json) {
    return JSON.stringify({
      source: source?.kubeconfigPath,
      targets: targets.map((target) => target.kubeconfigPath),
      dir: sandbox.dir,
      ...(audited.length > 0 ? { auditLogs: Object.fromEntries(audited) } : {}),
    });
  }
  const lines = sandbox.clusters.map(pointingKubectl);
  return ['The sandbox is ready. To point kubectl at a cluster:', ...lines, ...audited.map(
    ([name, path]) => `  audit log of ${name}: ${path}`,
  ), nodesAsTheyAre(sandbox.registry !== undefined)].join('\n');
}

/** The arguments of the detached child: the same sandbox, supervised. */
export function supervisedArguments(options: UpOptions): readonly string[] {
  const { targets, nodes, gpus, dir, audit, bare, json } = options;
  const numbers = ['--targets', String(targets), '--nodes', nodeChoiceText(nodes), '--gpus', String(gpus)];
  const flags = [audit ? '--audit' : '', bare ? '--bare' : '', json ? '--json' : ''].filter((flag) => flag !== '');
  return ['sandbox', 'up', ...numbers, '--dir', dir, ...flags, '--supervised'];
}

interface UpRun {
  readonly options: UpOptions;
  readonly dependencies: SandboxDependencies;
  readonly onProgress: OnProgress;
  readonly onReady: (output: string) => void;
  /** Done once everything works, while the sandbox stays up. */
  readonly whenReady?: (sandbox: Sandbox, signal: AbortSignal) => Promise<void>;
}

/** Runs a sandbox until the signal aborts or a program of it fails; everything is stopped when this ends. */
async function runSandbox(
  { options, dependencies, onProgress, onReady, whenReady }: UpRun, signal: AbortSignal,
): Promise<void> {
  const { targets, nodes, gpus, dir, audit = false, bare = false, json = false } = options;
  const kind = { nodes: nodes.count, real: nodes.kind === 'real' };
  const sandbox = await startSandbox({ targets, ...kind, gpus, dir, audit, onProgress }, signal);
  const shutdown = new Shutdown();
  shutdown.add({ name: 'sandbox', stop: () => sandbox.stop() });
  const either = AbortSignal.any([signal, sandbox.failed]);
  try {
    if (!bare && dependencies.startIsthmus !== undefined) {
      shutdown.add(await dependencies.startIsthmus(sandbox, either));
    }
    onReady(describeSandbox(sandbox, json));
    await whenReady?.(sandbox, either);
    await aborted(either);
    if (signal.aborted) onProgress('Stopping the sandbox.');
  } finally {
    await shutdown.run();
  }
  if (sandbox.failed.aborted) throw sandbox.failed.reason;
}

async function upInForeground(
  options: UpOptions, dependencies: SandboxDependencies, signal: AbortSignal,
): Promise<void> {
  const onReady = (output: string): void => {
    process.stdout.write(`${output}\n`);
    if (!options.json) process.stderr.write('Press Ctrl-C to stop it.\n');
  };
  await runSandbox({ options, dependencies, onProgress: progressPrinter(), onReady }, signal);
}

/** The sandbox with Isthmus and six elected pods in it, which are shown as they get Running. */
async function demo(directory: string, nodes: NodeChoice, dependencies: SandboxDependencies): Promise<void> {
  const write = (characters: string): void => void process.stdout.write(characters);
  const options: UpOptions = { targets: 2, nodes, gpus: 0, dir: directory };
  await untilInterrupted((signal) =>
    runSandbox(
      {
        options,
        dependencies,
        onProgress: progressPrinter(),
        onReady: () => undefined,
        whenReady: async (sandbox, either) => {
          await showElectedPods(sandbox, write, either);
          const page = await demoPage(sandbox, either);
          write(`To see them in a browser, open ${page.address}\nIt stays up until Ctrl-C.\n`);
          await aborted(either);
          await page.stop();
        },
      },
      signal,
    ),
  );
}

/** The page of `isthmus ui` for the source, on any free port. */
async function demoPage(
  { clusters: [source] }: Sandbox, signal: AbortSignal,
): Promise<{ readonly address: string; stop(): Promise<void> }> {
  const kubeconfigPath = source?.kubeconfigPath ?? '';
  const cluster = await openCluster({ kubeconfigPath, userAgent: userAgent('ui') });
  const shutdown = new Shutdown();
  shutdown.add({ name: 'connection', stop: () => cluster.client.transport.close() });
  const flags = { kubeconfig: kubeconfigPath, installNamespace: DEFAULT_INSTALL_NAMESPACE, port: 0 };
  return { address: await servePage(cluster, flags, { shutdown, signal }), stop: () => shutdown.run() };
}

async function upSupervised(options: UpOptions, dependencies: SandboxDependencies, signal: AbortSignal): Promise<void> {
  const channel = supervisorChannel();
  let ready = false;
  const lost = new AbortController();
  channel.parentGone.addEventListener('abort', () => {
    if (!ready) lost.abort(channel.parentGone.reason);
  });
  const onProgress = (text: string): void => {
    if (ready) process.stderr.write(`${text}\n`);
    else channel.tell({ kind: 'progress', text });
  };
  const onReady = (output: string): void => {
    ready = true;
    channel.tell({ kind: 'ready', output });
  };
  try {
    await runSandbox({ options, dependencies, onProgress, onReady }, AbortSignal.any([signal, lost.signal]));
  } catch (error) {
    const code = error instanceof AppError ? error.code : 'StartFailed';
    if (!ready) channel.end({ kind: 'failed', code, message: messageOf(error) });
    throw error;
  }
}

async function upDetached(options: UpOptions, signal: AbortSignal): Promise<void> {
  const logPath = supervisorLogPath(environment().cacheFolder, options.dir);
  const output =
    await startDetached({ args: supervisedArguments(options), logPath, onProgress: progressPrinter() }, signal);
  process.stdout.write(`${output}\n`);
  if (!options.json) process.stdout.write(`To stop it: isthmus sandbox down --dir ${shellWord(options.dir)}\n`);
}

/**
 * Runs a command until it ends or is interrupted; an interruption by the user is not an error, but shows in the exit
 * code.
 */
async function untilInterrupted(run: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const signal = untilStopped();
  try {
    await run(signal);
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error;
    exitWith(interruptedExitCode);
  }
}

async function up(given: UpOptions, dependencies: SandboxDependencies): Promise<void> {
  if (!given.bare && dependencies.startIsthmus === undefined) {
    throw new AppError(
      'BadInput', 'This program cannot start Isthmus in a sandbox; use --bare for the clusters alone.',
    );
  }
  const options = { ...given, dir: resolve(given.dir) };
  await untilInterrupted((signal) => {
    if (options.supervised) return upSupervised(options, dependencies, signal);
    return options.detach ? upDetached(options, signal) : upInForeground(options, dependencies, signal);
  });
}

async function down(directory: string): Promise<void> {
  await untilInterrupted(async (signal) => {
    const outcome = await stopSandbox(directory, signal);
    const texts = {
      stopped: `The sandbox in ${directory} is stopped.`,
      cleared: `The sandbox in ${directory} had died; its leftovers are removed.`,
      'nothing-there': `No sandbox runs in ${directory}.`,
    };
    process.stdout.write(`${texts[outcome]}\n`);
  });
}

async function build({ tools, nodes }: { readonly tools?: true; readonly nodes?: true }): Promise<void> {
  await untilInterrupted(async (signal) => {
    await ensureBinaries(environment(), progressPrinter(), signal);
    if (nodes) await ensureNodePrograms(environment(), progressPrinter(), signal);
    if (tools) await ensurePackagingTools(environment(), progressPrinter(), signal);
  });
}

/** Real nodes take the machine's kernel in use: see docs/sandbox.md. */
function nodesOption(): Option {
  return new Option('--nodes <number>', 'nodes of each target; real or real:2 for kubelets with containers')
    .default({ kind: 'simulated', count: 3 } satisfies NodeChoice, '3')
    .argParser(toNodeChoice);
}

function toNodeChoice(text: string): NodeChoice {
  const choice = parseNodeChoice(text);
  if (choice === undefined) throw new AppError('BadInput', `--nodes must be ${nodeChoices}, not "${text}".`);
  return choice;
}

function upCommand(dependencies: SandboxDependencies, defaultDir: string): Command {
  return new Command('up')
    .description('start a source and its target clusters, and run until Ctrl-C')
    .option('--targets <number>', 'target clusters', wholeNumber('--targets', 1, maxTargets), 2)
    .addOption(nodesOption())
    .option('--gpus <number>', 'nvidia.com/gpu of each node', wholeNumber('--gpus', 0, 1_024), 0)
    .option('--dir <folder>', 'where kubeconfigs, logs and data go', defaultDir)
    .option('--detach', 'return once it is ready; stop it with `sandbox down`')
    .option('--json', 'print one JSON object with the paths of the kubeconfigs')
    .option('--bare', 'control planes and nodes only, without Isthmus')
    .option('--audit', 'let the API servers write audit logs')
    .addOption(new Option('--supervised').hideHelp())
    .action((options: UpOptions) => up(options, dependencies));
}

/** The command `sandbox` with its subcommands. */
export function sandboxCommand(dependencies: SandboxDependencies = {}): Command {
  const defaultDir = join(environment().cacheFolder, 'sandbox');
  return new Command('sandbox')
    .description('real control planes and simulated kubelets on this machine, to try Isthmus and to test it')
    .addCommand(
      new Command('build')
        .description('build the control planes into the cache directory, unless they are there')
        .option('--tools', 'build helm and kubectl for tests as well')
        .option('--nodes', 'build the programs of real nodes as well')
        .action(build),
    )
    .addCommand(upCommand(dependencies, defaultDir))
    .addCommand(
      new Command('demo')
        .description('start a source and two targets, run six elected pods in them, and wait for Ctrl-C')
        .option('--dir <folder>', 'where kubeconfigs, logs and data go', defaultDir)
        .addOption(nodesOption())
        .action(({ dir, nodes }: Pick<UpOptions, 'dir' | 'nodes'>) => demo(resolve(dir), nodes, dependencies)),
    )
    .addCommand(
      new Command('down')
        .description('stop the sandbox of a directory and remove its files')
        .option('--dir <folder>', 'the folder given to `sandbox up`', defaultDir)
        .action((options: { readonly dir: string }) => down(resolve(options.dir))),
    );
}
