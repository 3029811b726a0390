// A world with one elected pod, kubectl against its source alone, and a look at the process that carries the streams.
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Pod } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION, PARENT_UID_LABEL } from '../../../api/objects/keys.ts';
import { PODS } from '../../../api/resource-types.ts';
import { freePorts } from '../../../sandbox/processes/free-ports.ts';
import { startIsthmus } from '../../../sandbox/isthmus-in-sandbox.ts';
import type { ToolCommand } from '../../../sandbox/build/packaging-tools.ts';
import {
  inNamespace, isRunning, makeNamespace, startWorld, type IsthmusWorld, type WorldCluster,
} from './isthmus-world.ts';

/** A kubectl that runs, and all that it has said on both outputs. */
export interface RunningKubectl {
  readonly child: ChildProcess;
  readonly said: () => string;
}

/** The world of pod `demo/web`. */
export interface StreamsWorld {
  readonly world: IsthmusWorld;
  readonly web: Pod;
  /** Where its delegate runs. */
  readonly home: WorldCluster;
  /** Appends records to the log of every container there, as the CRI writes them: `F` ends a line, `P` does not. */
  readonly writeLog: (lines: readonly string[], tag?: 'F' | 'P') => void;
  /** Runs kubectl in namespace `demo` and gives what it printed. */
  readonly kubectl: (...args: string[]) => Promise<string>;
  /** Starts kubectl. */
  readonly begin: (...args: string[]) => RunningKubectl;
  /** Command line of kubectl, for a shell. */
  readonly commandLine: (...args: string[]) => string;
  /** Memory of the source's process now, in MB. */
  readonly memory: () => Promise<number>;
  /** Streams that it has open. */
  readonly openStreams: () => Promise<number>;
  stop(): Promise<void>;
}

/** Starts it. */
export async function startStreamsWorld([program, tool]: ToolCommand): Promise<StreamsWorld> {
  const [healthPort = 0] = await freePorts(1);
  const world = await startWorld(
    { nodes: 1 }, (sandbox, signal) => startIsthmus(sandbox, signal, ['--health-port', String(healthPort)]),
  );
  await makeNamespace(world, 'demo');
  const spec = { containers: [{ name: 'main', image: 'example/main:1' }, { name: 'side', image: 'example/side:1' }] };
  await world.source.client.create(
    PODS, { metadata: { namespace: 'demo', name: 'web', annotations: { [ELECT_ANNOTATION]: '' } }, spec } as Pod,
  );
  const [web] = inNamespace(
    await world.source.pods.until('web runs', (all) => inNamespace(all, 'demo').some(isRunning), 120_000), 'demo',
  );
  const home = world.targets.find(
    ({ pods }) => pods.objects.some(({ metadata }) => metadata.labels?.[PARENT_UID_LABEL] === web?.metadata.uid),
  );
  if (web === undefined || home === undefined) throw new Error('demo/web has no delegate');
  const logFile = join(home.cluster.directory, 'container.log');
  const toArguments = (args: readonly string[]) =>
    [tool, '--kubeconfig', world.source.cluster.kubeconfigPath, '-n', 'demo', ...args];
  const children: ChildProcess[] = [];
  return {
    world, web, home,
    writeLog: (lines, tag = 'F') =>
      appendFileSync(logFile, lines.map((line) => `${new Date().toISOString()} stdout ${tag} ${line}\n`).join('')),
    kubectl: async (...args) => (await promisify(execFile)(program, toArguments(args), { timeout: 60_000 })).stdout,
    begin: (...args) => {
      const child = spawn(program, toArguments(args), { stdio: ['pipe', 'pipe', 'pipe'] });
      children.push(child);
      let said = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (said += data.toString()));
      return { child, said: () => said };
    },
    commandLine: (...args) => [program, ...toArguments(args)].map((word) => `'${word}'`).join(' '),
    memory: async () => Number(
      /VmRSS:\s+(\d+)/.exec(
        await readFile(`/proc/${world.isthmus.processes.get('source')?.identity.pid}/status`, 'utf8'),
      )?.[1],
    ) / 1_024,
    openStreams: async () => {
      const page = await (await fetch(`http://127.0.0.1:${healthPort}/metrics`)).text();
      return [...page.matchAll(/^isthmus_kubelet_streams\{[^}]*\} (\d+)$/gm)].reduce(
        (sum, [, count]) => sum + Number(count), 0,
      );
    },
    stop: async () => {
      for (const child of children) child.kill();
      await world.stop();
    },
  };
}

/** Looks every 50 ms, and fails after `ms`. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, ms = 60_000): Promise<void> {
  const end = performance.now() + ms;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`waited in vain for ${what}`);
    await delay(50);
  }
}
