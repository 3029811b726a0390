// `npm run soak -- node-fit [cases] [seed]`: "fits now" against the real kube-scheduler. Prints figures as JSON; the
// exit code is 1 for any false yes.
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import { untilStopped } from '../../../process/lifecycle.ts';
import { runFitCases } from '../../support/worlds/random-fit.ts';
import { startTestSandbox } from '../../support/processes/stopped-with-process.ts';

const ROUND = 250;
const count = Number(process.argv[2] ?? 1_000);
const seed = Number(process.argv[3] ?? 1);
const signal = untilStopped();
const figures = { cases: 0, fit: 0, falseYes: [] as unknown[], falseNo: [] as unknown[] };
for (let round = 0; figures.cases < count; round += 1) {
  const dir = await mkdtemp(join(tmpdir(), 'isthmus-fit-'));
  // a fresh one, so that no round's nodes grow old
  const sandbox =
    await startTestSandbox({ dir, targets: 1, nodes: 0, gpus: 0, audit: false, clientQps: 2_000 }, signal);
  try {
    const { client } =
      await openCluster({ kubeconfigPath: sandbox.clusters[0]?.kubeconfigPath ?? '', userAgent: 'isthmus-soak' });
    for (const { nodes, bound, pod, ours, real } of await runFitCases(
      client, { count: Math.min(ROUND, count - figures.cases), seed: seed * 1_000 + round }, signal,
    )) {
      figures.cases += 1;
      if (real === 'fits') figures.fit += 1;
      if (ours === 'fits' && real !== 'fits') figures.falseYes.push({ ours, real, pod, nodes, bound });
      if (ours !== 'fits' && real === 'fits') figures.falseNo.push({ ours, real, pod, nodes, bound });
    }
    await client.transport.close();
  } finally {
    await sandbox.stop();
    await rmdir(dir);
  }
}
process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`);
if (figures.falseYes.length > 0) process.exitCode = 1;
