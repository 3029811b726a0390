// `npm run soak -- mixed-pairs -- PROGRAMS CHART`: our source with a target of a real Admiralty, built elsewhere, and a
// source of that Admiralty with our target, at the same time: create, status, follow, delete, outage. PROGRAMS is a
// folder with Admiralty's `agent` and `scheduler`, CHART that of its chart. Prints a table for
// docs/results/migration.md; exits with 1 when a step does not hold.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  DEFAULT_INSTALL_NAMESPACE, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE,
} from '../../../api/objects/keys.ts';
import { NAMESPACES } from '../../../api/resource-types.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import { messageOf } from '../../../process/errors.ts';
import { freePorts } from '../../../sandbox/processes/free-ports.ts';
import { AdmiraltyRelease, connectAdmiralty } from '../../support/peers/admiralty-release.ts';
import { isthmus } from '../../support/processes/command-line.ts';
import { KeptDeployments } from '../../support/worlds/kept-deployments.ts';
import { MixedPair, type PairEnd } from '../../support/peers/mixed-pair.ts';
import { CHART, Packaging } from '../../support/peers/packaging.ts';
import { startTestSandbox } from '../../support/processes/stopped-with-process.ts';

const [programs, chart] = process.argv.slice(2);
if (programs === undefined || chart === undefined) {
  process.stderr.write(
    'This needs a real Admiralty, which is not in this repository: give a folder with its programs "agent" and ' +
      '"scheduler", and the folder of its chart.\n',
  );
  process.exit(1);
}
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const dir = await mkdtemp(join(tmpdir(), 'isthmus-mixed-'));
const tools = await Packaging.open(new AbortController().signal);
const sandbox = await startTestSandbox(
  { dir: join(dir, 'sandbox'), targets: 2, nodes: 3, gpus: 0, audit: false }, new AbortController().signal,
);
const stops: (() => Promise<void>)[] = [];
try {
  const ends = await Promise.all(sandbox.clusters.map(async (cluster): Promise<PairEnd> => {
    const opened = await openCluster({ kubeconfigPath: cluster.kubeconfigPath, userAgent: 'isthmus-test' });
    return { cluster, opened };
  }));
  stops.push(async () => void (await Promise.all(ends.map(({ opened }) => opened.client.transport.close()))));
  const [ourSource, admiraltys, ourTarget] = ends as [PairEnd, PairEnd, PairEnd];

  const release =
    await AdmiraltyRelease.install({ cluster: admiraltys.cluster, build: { programs, chart }, tools, isSource: true });
  const [webhook = 0] = await freePorts(1);
  await install(ourSource, ['--set', `webhook.url=https://127.0.0.1:${webhook}`]);
  await install(ourTarget, ['--set', 'source.enabled=false']);
  await namespaces('to-admiralty', ourSource, admiraltys);
  await namespaces('from-admiralty', admiraltys, ourTarget);
  await peer(ourSource, admiraltys);
  await connectAdmiralty(admiraltys.cluster, ourTarget.cluster, 'ours');
  release.run();
  stops.push(() => release.stop());
  for (const { cluster, opened } of [ourSource, ourTarget]) {
    const kept = new KeptDeployments(cluster, opened, new Map([['9443', String(webhook)]]));
    stops.push(() => kept.stop());
  }

  const pairs = [
    new MixedPair(ourSource, admiraltys, 'to-admiralty', say), new MixedPair(
      admiraltys, ourTarget, 'from-admiralty', say,
    ),
  ];
  // One after the other: the target of the first pair is the source of the second.
  await pairs[0]?.run();
  await letReadSecrets(ourTarget, 'default:from-ours');
  await pairs[1]?.run();
  say('\n| step | our source, Admiralty\'s target | Admiralty\'s source, our target |\n|---|---|---|');
  for (const [index, { step, seconds }] of (pairs[0]?.held ?? []).entries()) {
    say(`| ${step} | ${seconds.toFixed(1)} s | ${pairs[1]?.held[index]?.seconds.toFixed(1)} s |`);
  }
} catch (error) {
  say(`PROBLEM ${messageOf(error)}`);
  process.exitCode = 1;
} finally {
  for (const stop of stops.toReversed()) await stop().catch((error: unknown) => say(messageOf(error)));
  if (process.env['KEEP'] === undefined) {
    await sandbox.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

async function install({ cluster }: PairEnd, values: readonly string[]): Promise<void> {
  const args = [
    'upgrade', '--install', 'isthmus', CHART, '--namespace', DEFAULT_INSTALL_NAMESPACE, '--create-namespace',
  ];
  const { code, stderr } = await tools.helm([...args, ...values], { kubeconfig: cluster.kubeconfigPath });
  if (code !== 0) throw new Error(`the chart in ${cluster.name}: ${stderr}`);
}

async function namespaces(name: string, source: PairEnd, target: PairEnd): Promise<void> {
  const labels = { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE };
  await source.opened.client.apply(NAMESPACES, { metadata: { name, labels } }, 'isthmus-test');
  await target.opened.client.apply(NAMESPACES, { metadata: { name } }, 'isthmus-test');
}

/** As docs/from-admiralty.md says: Admiralty compares Secrets with what it reads in the target. */
async function letReadSecrets({ cluster }: PairEnd, serviceAccount: string): Promise<void> {
  const name = 'admiralty-secret-reader';
  for (const args of [
    ['clusterrole', name, '--verb=get,list,watch', '--resource=secrets'],
    ['clusterrolebinding', name, `--clusterrole=${name}`, `--serviceaccount=${serviceAccount}`],
  ]) {
    const { code, stderr } = await tools.kubectl(['create', ...args], { kubeconfig: cluster.kubeconfigPath });
    if (code !== 0) throw new Error(`kubectl create ${args[0]}: ${stderr}`);
  }
}

/** As docs/from-admiralty.md says: our source writes pods there itself. */
async function peer(source: PairEnd, target: PairEnd): Promise<void> {
  const { code, stdout, stderr } = await isthmus(
    'peer', '--delegation', 'Pod', '--all-namespaces', '--name', 'admiraltys',
    '--source-kubeconfig', source.cluster.kubeconfigPath, '--target-kubeconfig', target.cluster.kubeconfigPath,
  );
  say(`${stdout}${stderr}`);
  if (code !== 0) throw new Error('isthmus peer failed');
}
