// What must be there before a sandbox with real nodes starts: a machine that can run them, their programs, free
// address ranges, and images.
import { execFile } from 'node:child_process';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Environment } from '../../process/config.ts';
import { AppError } from '../../process/errors.ts';
import { busyboxImage, makeImage, pauseImageOf, programImage, type ImageRecipe } from '../images/own-images.ts';
import { openRegistry, type Registry } from '../images/registry.ts';
import { pauseImage } from '../plan/real-node-files.ts';
import { freeSlots, slotOf } from '../plan/real-node-plan.ts';
import { corednsImage } from './cluster-dns.ts';
import { findProgram, machineFacts } from './machine-facts.ts';
import type { NodePrograms } from './node-programs.ts';
import { nodeSupportOf, refusal, type NodeMachine } from './node-requirements.ts';

const run = promisify(execFile);

/** What the nodes of a sandbox are made with. */
export interface PreparedNodes {
  readonly machine: NodeMachine;
  readonly programs: NodePrograms;
  /** Absolute paths. */
  readonly runc: string;
  readonly busybox: string;
  /** The first of the slots for the clusters' networks. */
  readonly firstSlot: number;
}

/** Destinations of this machine's routes, `default` or ranges. */
async function routes(): Promise<readonly string[]> {
  const { stdout } = await run('ip', ['-j', '-4', 'route', 'show', 'table', 'main']);
  return (JSON.parse(stdout) as readonly { readonly dst: string }[]).map(({ dst }) => dst);
}

async function slotsFor(clusters: number): Promise<number> {
  const taken = Object.keys(networkInterfaces()).flatMap((name) => slotOf(name) ?? []);
  const first = freeSlots(clusters, { routes: await routes(), taken }, process.pid % 128);
  if (first !== undefined) return first;
  throw new AppError(
    'BadInput',
    `This machine routes too much of 10.128.0.0/9 and 198.18.0.0/15 for ${clusters} clusters with real nodes.`,
  );
}

/**
 * How real nodes run here. It takes no time, so it is asked before anything is built.
 * @throws AppError `ToolMissing` with every reason why they cannot.
 */
export async function requireNodeMachine({ cacheFolder }: Environment): Promise<NodeMachine> {
  const support = nodeSupportOf(await machineFacts(cacheFolder));
  if (support.kind === 'cannot-run') throw new AppError('ToolMissing', refusal(support.reasons));
  return support.machine;
}

/**
 * Finds the machine's own programs and chooses free ranges for so many clusters.
 * @throws AppError `BadInput` when there are no free ranges.
 */
export async function prepareNodes(
  machine: NodeMachine, programs: NodePrograms, clusters: number,
): Promise<PreparedNodes> {
  const [runc = '', busybox = ''] = [await findProgram('runc'), await findProgram('busybox')];
  return { machine, programs, runc, busybox, firstSlot: await slotsFor(clusters) };
}

/** What the demo's pods and people's first pods ask for. */
function recipes({ busybox, programs }: PreparedNodes): readonly ImageRecipe[] {
  const server = ['httpd', '-f', '-p', '8080', '-h', '/etc'];
  return [
    pauseImageOf(pauseImage, busybox),
    busyboxImage('docker.io/library/busybox:1.36', busybox, ['sh']),
    busyboxImage('docker.io/library/busybox:latest', busybox, ['sh']),
    busyboxImage('myregistry.example/payment-api:v2.1', busybox, server),
    programImage(corednsImage, programs.coredns, 'coredns'),
  ];
}

/** Makes the sandbox's images in a folder of its own, and a registry that has them. */
export async function openImages(prepared: PreparedNodes, directory: string): Promise<Registry> {
  const layout = join(directory, 'images');
  const registry = openRegistry(layout);
  for (const recipe of recipes(prepared)) registry.add(await makeImage(recipe, layout));
  return registry;
}
