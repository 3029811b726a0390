// `npm run soak -- random-faults [minutes] [seed]`: the random-fault run of ten minutes. Prints its figures as JSON;
// fails when anything was lost.
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import { untilStopped } from '../../../process/lifecycle.ts';
import { runRandomFaults } from '../../support/faults/random-faults.ts';
import { startTestSandbox } from '../../support/processes/stopped-with-process.ts';

const minutes = Number(process.argv[2] ?? 10);
const seed = Number(process.argv[3] ?? Math.floor(Math.random() * 1e9));
const signal = untilStopped();
const dir = await mkdtemp(join(tmpdir(), 'isthmus-soak-'));
const sandbox = await startTestSandbox({ dir, targets: 1, nodes: 0, gpus: 0, audit: false }, signal);
try {
  const [cluster] = sandbox.clusters;
  if (cluster === undefined) throw new Error('the sandbox lacks a cluster');
  const { client } = await openCluster({ kubeconfigPath: cluster.kubeconfigPath, userAgent: 'isthmus-soak' });
  process.stdout.write(
    `${JSON.stringify(await runRandomFaults(cluster, client, { ms: minutes * 60_000, seed }), undefined, 2)}\n`,
  );
  await client.transport.close();
} finally {
  await sandbox.stop();
  await rmdir(dir);
}
