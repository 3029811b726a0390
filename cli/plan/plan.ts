// `isthmus plan -f app.yaml`: where pods would be placed, without creating them; on a live or a recorded snapshot.
// Exits with 1 when one would stay pending.
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { Command, Option } from 'commander';
import type { Pod } from '../../api/objects/core.ts';
import { AppError } from '../../process/errors.ts';
import { exitWith, untilStopped } from '../../process/lifecycle.ts';
import { parseRecordText, toRecordText } from '../../scheduler/explain/recorded-inputs.ts';
import type { Rejection } from '../../scheduler/snapshot/rejection.ts';
import { structured } from '../output/structured.ts';
import { readNamed } from '../placement/bounded-file.ts';
import { rejectionOf } from '../placement/dry-run.ts';
import { inFlightLines } from '../placement/in-flight-pods.ts';
import { withLiveState, type LiveState, type LiveStateFlags } from '../placement/live-state.ts';
import { readManifests, withFilenames } from './manifest-files.ts';
import { planText } from './plan-text.ts';
import { namespaceIn, withClusterFlags, withInstallNamespace, withNamespace } from '../clusters/cluster-flags.ts';
import { collect } from '../clusters/run-flags.ts';
import { plannedPods } from './planned-pods.ts';
import { admitPlanned, simulate, type PlannedPod, type RecordedState } from './plan-simulation.ts';
import { recordLive } from './record-live.ts';
import { parseAdd, suppose, type AddedNodes } from './what-if.ts';

interface PlanFlags extends LiveStateFlags {
  readonly filename: readonly string[];
  readonly namespace?: string;
  readonly without: readonly string[];
  readonly add: readonly AddedNodes[];
  readonly snapshot?: string;
  readonly record?: string;
  readonly output?: 'json' | 'yaml' | 'wide';
}

/** The command for commander. */
export function planCommand(): Command {
  const command = withFilenames(new Command('plan'))
    .description(
      'Show where the elected pods of a manifest would run. Creates nothing. Exits with 1 if a pod would not be ' +
        'placed.',
    );
  const inSource = withClusterFlags(withNamespace(command, 'of objects that name none'), 'the source cluster');
  return withInstallNamespace(inSource)
    .option('--without <target>', 'assume that a target is unavailable; can be repeated', collect, [])
    .option(
      '--add <nodes>', 'assume additional nodes: 4xH100, 3xcpu=16,memory=64Gi@TARGET; can be repeated',
      (text: string, before: readonly AddedNodes[]) => [...before, parseAdd(text)], [],
    )
    .option(
      '--snapshot <file>',
      'plan on a file written by --record instead of the live clusters; rejections by targets are then unknown',
    )
    .option('--record <file>', 'write the state that the plan is based on')
    .addOption(new Option('-o, --output <format>', 'wide: every check; json, yaml: for programs').choices(
      ['json', 'yaml', 'wide'],
    ))
    .action((flags: PlanFlags) => plan(flags, untilStopped()));
}

async function plan(flags: PlanFlags, signal: AbortSignal): Promise<void> {
  if (flags.filename.length === 0 && flags.record === undefined) {
    throw new AppError('BadInput', 'plan needs -f FILE, or --record FILE to save the current state.');
  }
  const files = await readManifests(flags.filename);
  if (flags.snapshot !== undefined) return planOn(await readState(flags.snapshot), files, flags);
  await withLiveState(
    flags,
    async (live) => {
      const inContext = { ...flags, namespace: namespaceIn(live.cluster, flags.namespace) };
      const ask: Simulate = (pods, state) => simulateAsking(pods, state, live, signal);
      await planOn(await recordLive(live, signal), files, inContext, ask);
    },
    signal,
  );
}

type Simulate = (pods: readonly Pod[], state: RecordedState) => Promise<readonly PlannedPod[]>;

async function planOn(
  state: RecordedState, files: Awaited<ReturnType<typeof readManifests>>, flags: PlanFlags,
  run: Simulate = async (pods, supposed) => simulate(pods, supposed),
): Promise<void> {
  if (flags.record !== undefined) await writeFile(flags.record, `${toRecordText(state)}\n`);
  if (files.length === 0) return;
  const { pods, skipped } =
    plannedPods(files, flags.namespace ?? 'default', (namespace) => state.elections?.has(namespace) === true);
  const planned = await run(pods, { ...state, targets: suppose(state.targets, flags.without, flags.add) });
  const whole = { pods: planned, skipped, inFlight: state.inFlight ?? [] };
  console.log(
    structured(whole, flags.output)
      ?? [planText(planned, skipped, flags.output === 'wide'), ...inFlightLines(whole.inFlight)].join('\n'),
  );
  if (planned.some(({ kind }) => kind !== 'placed')) exitWith(1);
}

/** Simulates until each target that gets pods of a namespace was asked whether it takes one of them. */
async function simulateAsking(
  pods: readonly Pod[], state: RecordedState, live: LiveState, signal: AbortSignal,
): Promise<readonly PlannedPod[]> {
  const rejected = new Map<string, Map<string, Rejection>>();
  const asked = new Set<string>();
  for (;;) {
    const planned = simulate(pods, state, rejected);
    const questions = new Map(planned.flatMap((outcome, index) => {
      if (outcome.kind !== 'placed') return [];
      const namespace = pods[index]?.metadata.namespace ?? '';
      const key = `${namespace} ${outcome.target}`;
      return asked.has(key) ? [] : [[key, { namespace, target: outcome.target, pod: pods[index] }] as const];
    }));
    if (questions.size === 0) return planned;
    await Promise.all([...questions].map(async ([key, { namespace, target, pod }]) => {
      asked.add(key);
      const admitted = pod === undefined ? undefined : admitPlanned(pod, randomUUID(), state);
      const rejection = admitted?.kind === 'admitted' ? await rejectionOf(live, target, admitted, signal) : undefined;
      if (rejection === undefined) return;
      rejected.set(namespace, (rejected.get(namespace) ?? new Map<string, Rejection>()).set(target, rejection));
    }));
  }
}

async function readState(path: string): Promise<RecordedState> {
  try {
    const state = parseRecordText(await readNamed(path));
    if (typeof state === 'object' && state !== null && 'targets' in state && 'policies' in state) {
      return state as RecordedState;
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
  }
  throw new AppError('BadInput', `${path} is not a snapshot; write one with "isthmus plan --record ${path}".`);
}
