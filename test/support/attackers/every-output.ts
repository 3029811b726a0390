// All that Isthmus says in a world, in one list: logs, events, objects, metrics, the support archive, and what commands
// print when they fail.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import {
  CLUSTER_SOURCES, CLUSTER_SUMMARIES, CLUSTER_TARGETS, CONFIG_MAPS, INVITATIONS, MUTATING_WEBHOOK_CONFIGURATIONS, NODES,
  POD_CHAPERONS, PODS, SECRET_COPIES, SERVICE_ACCOUNTS,
} from '../../../api/resource-types.ts';
import { fileOutput, outputsOf, type Output } from './canaries.ts';
import { isthmusHere } from '../processes/command-in-process.ts';
import type { IsthmusWorld } from '../worlds/isthmus-world.ts';

const TYPES = [
  CLUSTER_TARGETS, CLUSTER_SOURCES, CLUSTER_SUMMARIES, INVITATIONS, NODES, POD_CHAPERONS, PODS, CONFIG_MAPS,
  SECRET_COPIES, SERVICE_ACCOUNTS, MUTATING_WEBHOOK_CONFIGURATIONS,
];

/** Gathers; `work` is a folder for what has to be written on the way. */
export async function everyOutput(
  { sandbox, source, targets }: IsthmusWorld, work: string,
): Promise<readonly Output[]> {
  const kubeconfig = source.cluster.kubeconfigPath;
  const archive = join(work, 'bundle.tar.gz');
  const printed: Output[] = [];
  const commands = [
    ['bundle', '--kubeconfig', kubeconfig, '--output', archive], [
      'get', 'targets', '-o', 'yaml', '--kubeconfig', kubeconfig,
    ], ['get', 'pods', '-o', 'wide', '--kubeconfig', kubeconfig],
    ...[kubeconfig, ...targets.map(({ cluster }) => cluster.kubeconfigPath)].flatMap(
      (file) => [['status', '-o', 'yaml', '--kubeconfig', file], ['doctor', '-o', 'json', '--kubeconfig', file]],
    ),
    ['join', 'eyJhbGciOiJIUzI1NiJ9.e30.x', '--kubeconfig', kubeconfig, '--debug'],
    ['unpeer', 'not-there', '--kubeconfig', kubeconfig],
  ];
  for (const command of commands) {
    const { stdout, stderr } = await isthmusHere(...command);
    printed.push({ name: `isthmus ${command[0]} ${command[1]}`, text: stdout + stderr });
  }
  const objects =
    await Promise.all([source, ...targets].map(({ client, cluster }) => outputsOf(client, cluster.name, TYPES)));
  const logs = await Promise.all(sandbox.clusters.map(
    async ({ directory }) => (await readdir(directory)).filter((name) => name === 'isthmus.log')
      .map((name) => join(directory, name)),
  ));
  return [
    ...printed, ...objects.flat(), ...(await Promise.all([...logs.flat(), archive].map(fileOutput))),
    await metricsOf(source),
  ];
}

/** The webhook serves the metrics of the source's process, at the address that its configuration names. */
async function metricsOf({ client }: IsthmusWorld['source']): Promise<Output> {
  const [configuration] = await client.list(MUTATING_WEBHOOK_CONFIGURATIONS);
  const { url = '', caBundle = '' } = configuration?.webhooks?.[0]?.clientConfig ?? {};
  const dispatcher = new Agent({ connect: { ca: Buffer.from(caBundle, 'base64').toString() } });
  const { body } = await request(new URL('/metrics', url), { dispatcher });
  const text = await body.text();
  await dispatcher.close();
  return { name: 'metrics', text };
}
