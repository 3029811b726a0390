// `isthmus plan -f app.yaml`: where pods would be placed, without creating them; on a live or a recorded snapshot.
// Exits with 1 when one would stay pending.
import { readFile, writeFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { Command, Option } from 'commander';
import { DEFAULT_INSTALL_NAMESPACE } from '../../api/objects/keys.ts';
import { AppError, messageOf } from '../../process/errors.ts';
import { exitWith, untilStopped } from '../../process/lifecycle.ts';
import { parseRecordText, recordTarget, toRecordText } from '../../scheduler/explain/recorded-world.ts';
import { explanationText } from './explanation-text.ts';
import { inFlightLines } from './in-flight-pods.ts';
import { withLiveWorld } from './live-world.ts';
import { plannedPods } from './planned-pods.ts';
import { simulate, type PlannedPod, type RecordedWorld } from './plan-simulation.ts';
import { parseAdd, suppose, type AddedNodes } from './what-if.ts';

interface PlanFlags {
  readonly filename?: string;
  readonly namespace: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly installNamespace: string;
  readonly without: readonly string[];
  readonly add: readonly AddedNodes[];
  readonly snapshot?: string;
  readonly record?: string;
  readonly output?: 'json' | 'wide';
}

/** The command for commander. */
export function planCommand(): Command {
  return new Command('plan')
    .description(
      'Show where the elected pods of a manifest would run. Creates nothing. Exits with 1 when a pod would wait.',
    )
    .option('-f, --filename <file>', 'manifest, - for standard input')
    .option('-n, --namespace <name>', 'namespace of objects that name none', 'default')
    .option('--kubeconfig <file>', 'kubeconfig of the source cluster; the kubectl default when left out')
    .option('--context <name>', 'context within the kubeconfig')
    .option('--install-namespace <name>', 'namespace that Isthmus is installed in', DEFAULT_INSTALL_NAMESPACE)
    .option(
      '--without <target>', 'assume that a target is unavailable; can be repeated',
      (name: string, before: readonly string[]) => [...before, name], [],
    )
    .option(
      '--add <nodes>', 'assume additional nodes: 4xH100, 3xcpu=16,memory=64Gi@TARGET; can be repeated',
      (text: string, before: readonly AddedNodes[]) => [...before, parseAdd(text)], [],
    )
    .option('--snapshot <file>', 'plan on a file written by --record instead of the live clusters')
    .option('--record <file>', 'write the state that the plan is based on')
    .addOption(new Option('-o, --output <format>', 'wide: every check; json: for programs').choices(['json', 'wide']))
    .action((flags: PlanFlags) => plan(flags, untilStopped()));
}

async function plan(flags: PlanFlags, signal: AbortSignal): Promise<void> {
  if (flags.filename === undefined && flags.record === undefined) {
    throw new AppError('BadInput', 'plan needs -f FILE, or --record FILE to write the world down.');
  }
  const world = flags.snapshot === undefined ? await recordLive(flags, signal) : await readWorld(flags.snapshot);
  if (flags.record !== undefined) await writeFile(flags.record, `${toRecordText(world)}\n`);
  if (flags.filename === undefined) return;
  const manifest = flags.filename === '-' ? await readAll(process.stdin) : await readNamed(flags.filename);
  const { pods, skipped } = plannedPods(manifest, flags.namespace);
  const planned = simulate(pods, { ...world, targets: suppose(world.targets, flags.without, flags.add) });
  console.log(
    flags.output === 'json'
      ? JSON.stringify({ pods: planned, skipped, inFlight: world.inFlight ?? [] }, undefined, 2)
      : [planText(planned, skipped, flags.output === 'wide'), ...inFlightLines(world.inFlight ?? [])].join('\n'),
  );
  if (planned.some(({ kind }) => kind !== 'placed')) exitWith(1);
}

function recordLive(flags: PlanFlags, signal: AbortSignal): Promise<RecordedWorld> {
  return withLiveWorld(flags, async ({ targets, world, inFlight }) => ({
    targets: targets.map(recordTarget),
    policies: world.policies,
    placed: [...world.placed.classes()],
    ...(inFlight.length > 0 && { inFlight }),
    ...(world.weights && { weights: world.weights }),
    ...(world.location && { location: world.location }),
  }), signal);
}

async function readWorld(path: string): Promise<RecordedWorld> {
  try {
    const world = parseRecordText(await readNamed(path));
    if (typeof world === 'object' && world !== null && 'targets' in world && 'policies' in world) {
      return world as RecordedWorld;
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
  }
  throw new AppError('BadInput', `${path} is not a snapshot; write one with "isthmus plan --record ${path}".`);
}

async function readNamed(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new AppError('BadInput', `${path} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

/** One line per target with its number of pods, and one explanation per group of pending pods with the same reasons. */
export function planText(planned: readonly PlannedPod[], skipped: readonly string[], wide: boolean): string {
  const lines = [...new Set(planned.map((pod) => outcomeOf(pod, wide)))].map((outcome) => {
    const alike = planned.filter((pod) => outcomeOf(pod, wide) === outcome);
    return `${alike.length} ${alike.length === 1 ? 'pod' : 'pods'} ` +
      `(${alike[0]?.pod ?? ''}${alike.length > 1 ? ', …' : ''}) ${outcome}`;
  });
  const placed = planned.filter(({ kind }) => kind === 'placed').length;
  return [`${placed} of ${planned.length} pods would be placed.`, ...lines, ...skipped].join('\n');
}

function outcomeOf(pod: PlannedPod, wide: boolean): string {
  if (pod.kind === 'denied') return `would be refused: ${pod.message}`;
  if (pod.kind === 'waits') return `would wait: ${explanationText(pod.explanation, wide)}`;
  const notes =
    [...(pod.afterSeconds > 0 ? [`after ${pod.afterSeconds} s`] : []), ...(pod.afterScaleUp ? ['after scale-up'] : [])];
  return `→ ${pod.target}${notes.length > 0 ? ` (${notes.join(', ')})` : ''}`;
}
