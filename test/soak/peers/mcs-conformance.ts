// `npm run soak -- mcs-conformance -- PROGRAM [FOLDER [WORDS]]`: SIG Multicluster's conformance suite of the MCS API
// (KEP-1645), built elsewhere, against service discovery and the pod plane between two clusters of real nodes. WORDS
// choose specs by their names. Its `report.yaml` is left in FOLDER, else in docs/results/mcs-conformance.yaml.
// Ends with the suite's exit code.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { version } from '../../../process/version.ts';
import { addConformanceImages } from '../../support/real-nodes/conformance-images.ts';
import { CHART } from '../../support/peers/packaging.ts';
import { RealClusterset } from '../../support/real-nodes/real-clusterset.ts';

const [program, folder, words] = process.argv.slice(2);
if (program === undefined) {
  process.stderr.write(
    "This needs SIG Multicluster's conformance suite, which is not in this repository: give the program that " +
      '`go test -c` makes of the folder "conformance" of kubernetes-sigs/mcs-api.\n',
  );
  process.exit(1);
}
const RESULT = join(dirname(dirname(dirname(CHART))), 'docs', 'results', 'mcs-conformance.yaml');
const LIMIT_MS = 1_500_000;

/** Exit code of the suite, whose reports are left in `cwd`. */
async function runSuite(suite: string, { members }: RealClusterset, cwd: string): Promise<number> {
  const of = { organization: 'Isthmus', project: 'Isthmus', version: version() };
  const child = spawn(suite, [
    `-contexts=${members.map(({ cluster }) => cluster.name).join(',')}`,
    ...Object.entries(of).map(([key, value]) => `-${key}=${value}`),
    '-ginkgo.v', '-ginkgo.no-color', `-test.timeout=${LIMIT_MS}ms`,
    ...(words === undefined ? [] : [`-ginkgo.focus=${words}`]),
  ], {
    cwd, stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, KUBECONFIG: members.map(({ cluster }) => cluster.kubeconfigPath).join(':') },
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return code ?? 1;
}

const dir = await mkdtemp(join(tmpdir(), 'isthmus-mcs-'));
const world = await RealClusterset.start(AbortSignal.timeout(LIMIT_MS), { add: addConformanceImages });
try {
  process.exitCode = await runSuite(program, world, dir);
  await copyFile(join(dir, 'report.yaml'), folder === undefined ? RESULT : join(folder, 'report.yaml'));
} finally {
  await world.stop();
  await rm(dir, { recursive: true });
}
