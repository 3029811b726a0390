// `npm run soak -- real-footprint`: what a source and two targets with real nodes cost: seconds until they are ready,
// memory, and what is left; and how long after its native like an elected Job ends whose pod was deleted. Prints a
// table; the exit code is 1 when anything is left. Times and memory are judged by whoever reads them: the machine may
// have other work.
import { cpus, loadavg } from 'node:os';
import type { Pod } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE } from '../../../api/objects/keys.ts';
import { NAMESPACES, PODS } from '../../../api/resource-types.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import { environment } from '../../../process/config.ts';
import { ensureBinaries } from '../../../sandbox/build/build-binaries.ts';
import { ensureNodePrograms } from '../../../sandbox/real-nodes/node-programs.ts';
import { DetachedSandbox } from '../../support/worlds/detached-sandbox.ts';
import { eventually } from '../../support/history/eventually.ts';
import { BUSYBOX } from '../../support/real-nodes/real-node-cases.ts';
import { KINDS, type AnyObject } from '../../support/real-nodes/real-world.ts';
import { stopWithProcess } from '../../support/processes/stopped-with-process.ts';
import { peakTreeMiB, treeSeconds } from '../../support/processes/tree-memory.ts';

const NAMESPACE = 'jobs';
const ROUNDS = 3;
const TIMEOUT_MS = 120_000;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const secondsSince = (begin: number): number => (performance.now() - begin) / 1_000;
const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;

/** A Job that waits for the end of its deleted pod, which takes 3 s and succeeds. */
function jobOf(name: string): AnyObject {
  const container = {
    name: 'main', image: BUSYBOX, command: ['sh', '-c', 'trap "sleep 3; exit 0" TERM; sleep 3600 & wait'],
  };
  return {
    metadata: { name, namespace: NAMESPACE },
    spec: {
      backoffLimit: 0, podReplacementPolicy: 'Failed', template: {
        metadata: { annotations: { [ELECT_ANNOTATION]: '' } },
        spec: { restartPolicy: 'Never', containers: [container] },
      },
    },
  };
}

function hasEnded({ status }: AnyObject): boolean {
  const conditions = (status?.['conditions'] ?? []) as readonly { readonly type: string; readonly status: string }[];
  return conditions.some(({ type, status: value }) => ['Complete', 'Failed'].includes(type) && value === 'True');
}

/** Seconds from the deletion of a Job's pod until the Job has ended. */
async function endOfJob(client: ClusterClient, name: string): Promise<number> {
  await client.create(KINDS.jobs, jobOf(name));
  const at = { namespace: NAMESPACE, labelSelector: `job-name=${name}` };
  const pod: Pod = await eventually(`the pod of ${name}`, async () =>
    (await client.list(PODS, at)).find(({ status }) => status?.phase === 'Running'), TIMEOUT_MS);
  const begin = performance.now();
  await client.delete(PODS, { namespace: NAMESPACE, name: pod.metadata.name ?? '' });
  await eventually(`the end of ${name}`, async () =>
    hasEnded(await client.get(KINDS.jobs, { namespace: NAMESPACE, name })), TIMEOUT_MS);
  return secondsSince(begin);
}

/** The Job in the source, elected, and natively in a target, in turn. */
async function compareJobs(kubeconfigs: readonly string[]): Promise<readonly [elected: number, native: number]> {
  const [source, target] = await Promise.all(kubeconfigs.slice(0, 2).map(
    async (kubeconfigPath) => (await openCluster({ kubeconfigPath, userAgent: 'isthmus-soak' })).client,
  ));
  if (source === undefined || target === undefined) throw new Error('a cluster is missing');
  const labels = { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE };
  await source.apply(NAMESPACES, { metadata: { name: NAMESPACE, labels } }, 'isthmus-soak');
  await target.apply(NAMESPACES, { metadata: { name: NAMESPACE } }, 'isthmus-soak');
  const [elected, native]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    elected.push(await endOfJob(source, `elected-${round}`));
    native.push(await endOfJob(target, `native-${round}`));
  }
  await Promise.all([source, target].map((client) => client.transport.close()));
  return [median(elected), median(native)];
}

const signal = AbortSignal.timeout(1_500_000);
await ensureBinaries(environment(), say, signal);
await ensureNodePrograms(environment(), say, signal);
const sandbox = await DetachedSandbox.make();
stopWithProcess(() => sandbox.remove());
try {
  const ended = new AbortController();
  const peak = peakTreeMiB(async () => (await sandbox.record()).supervisor.pid, ended.signal);
  const begin = performance.now();
  const tell = (line: string): void => say(`${secondsSince(begin).toFixed(1)} s: ${line}`);
  await sandbox.up(['--targets', '2', '--nodes', 'real'], tell);
  const ready = secondsSince(begin);
  const record = await sandbox.record();
  const work = await treeSeconds(record.supervisor.pid);
  const [elected, native] = await compareJobs(record.clusters.map(({ kubeconfig }) => kubeconfig));
  ended.abort();
  const memory = await peak / 1_024;
  const stopping = performance.now();
  await sandbox.down();
  const down = secondsSince(stopping);
  const left = await sandbox.leftovers(record);
  say(`
A source and two targets with a real node each, Isthmus in them; load average ${loadavg()[0]?.toFixed(1)}.

| what | seen | asked |
|---|---|---|
| \`sandbox up\` until ready, all programs built before | ${ready.toFixed(1)} s | 40 s |
| processor time of all its processes until then, on ${cpus().length} processors | ${work.toFixed(1)} s | |
| most memory of all its processes | ${memory.toFixed(1)} GiB | 6 GiB |
| \`sandbox down\` | ${down.toFixed(1)} s | |
| left on the machine | ${left.length === 0 ? 'nothing' : left.join(', ')} | nothing |
| a Job that waits for its deleted pod: natively | ${native.toFixed(1)} s | |
| the same elected (medians of ${ROUNDS}) | ${elected.toFixed(1)} s | ${(native + 2).toFixed(1)} s |`);
  if (left.length > 0) process.exitCode = 1;
} finally {
  await sandbox.remove();
}
