// `npm run soak -- real-first-pod`: from two empty clusters with a real node each to the first remote pod, with the
// chart from a registry that wants a password: as the page on registries says, and with each command interrupted
// half-way at first. Prints where the time went; fails when a way takes more than four commands or 30 s.
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { untilStopped } from '../../../process/lifecycle.ts';
import { HALF_WAY } from '../../support/docs/first-pod.ts';
import { firstPodByChart } from '../../support/docs/first-pod-by-chart.ts';
import { SLEEPER_IMAGE, addSleeperImage, addIsthmusImage } from '../../support/real-nodes/real-images.ts';
import { startTestSandbox } from '../../support/processes/stopped-with-process.ts';

const MAX_COMMANDS = 4;
const MAX_SECONDS = 30;
const IMAGE = { repository: 'private.example/platform/isthmus', tag: 'checkout', credentials: 'reader:let-me-in' };
/** Values that a user may add. */
const WAYS = { 'one Deployment in each cluster': ['deploy=AllInOne'], 'the default values': [] } as const;

const signal = untilStopped();
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const dir = await mkdtemp(join(tmpdir(), 'isthmus-first-pod-'));
const misses: string[] = [];
try {
  for (const [way, values] of Object.entries(WAYS)) {
    await measure(way, values);
    await measure(`${way}, each command interrupted half-way at first`, values, HALF_WAY);
  }
} finally {
  await rmdir(dir);
}
if (misses.length > 0) throw new Error(`more than ${MAX_COMMANDS} commands or ${MAX_SECONDS} s: ${misses.join('; ')}`);

/** Starts two clusters, and lets a user work in them. */
async function measure(
  way: string, values: readonly string[], killedAfter?: Readonly<Record<string, number>>,
): Promise<void> {
  const sandbox = await startTestSandbox(
    { dir: join(dir, 'bare'), targets: 1, nodes: 1, sourceNodes: 1, gpus: 0, audit: false, real: true }, signal,
  );
  try {
    await Promise.all([addIsthmusImage(sandbox, IMAGE), addSleeperImage(sandbox)]);
    const [source = '', target = ''] = sandbox.clusters.map(({ kubeconfigPath }) => kubeconfigPath);
    const clusters = { source, target, name: 'first', image: SLEEPER_IMAGE, ...(killedAfter && { killedAfter }) };
    const { commands, seconds, steps } = await firstPodByChart(clusters, { image: IMAGE, values }, signal);
    const times = steps.map((step) => `${step.what} ${step.seconds.toFixed(1)}`).join(', ');
    const line = `${way}: ${commands.length} commands, ${seconds.toFixed(1)} s (${times})`;
    print(line);
    if (commands.length > MAX_COMMANDS || seconds > MAX_SECONDS) misses.push(line);
  } finally {
    await sandbox.stop();
  }
}
