// `npm run soak -- real-smoke`: the shortest trip through real nodes, for continuous integration: a source, a target
// with one node, an elected pod whose container runs there, its log read in the source, and nothing left at the end.
// Where the machine cannot run real nodes the test is skipped, and says why.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { Pod } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE } from '../../../api/objects/keys.ts';
import { NAMESPACES, PODS } from '../../../api/resource-types.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { isProxyPod } from '../../../model/pod/pod.ts';
import { environment } from '../../../process/config.ts';
import { AppError } from '../../../process/errors.ts';
import { ensureBinaries } from '../../../sandbox/build/build-binaries.ts';
import { machineFacts } from '../../../sandbox/real-nodes/machine-facts.ts';
import { ensureNodePrograms } from '../../../sandbox/real-nodes/node-programs.ts';
import { nodeSupportOf } from '../../../sandbox/real-nodes/node-requirements.ts';
import { DetachedSandbox } from '../../support/worlds/detached-sandbox.ts';
import { eventually } from '../../support/history/eventually.ts';
import { BUSYBOX } from '../../support/real-nodes/real-node-cases.ts';

const NAMESPACE = 'smoke';
const NAME = 'hello';
const TIMEOUT_MS = 120_000;
const BUILD_MS = 1_500_000;
const tell = (line: string): void => void process.stdout.write(`${line}\n`);

/** Builds what is missing. Why the machine cannot run real nodes; undefined when it can. */
async function obstacle(): Promise<string | undefined> {
  const support = nodeSupportOf(await machineFacts(environment().cacheFolder));
  if (support.kind === 'cannot-run') return support.reasons.join('; ');
  const signal = AbortSignal.timeout(BUILD_MS);
  try {
    await ensureBinaries(environment(), tell, signal);
    await ensureNodePrograms(environment(), tell, signal);
  } catch (error) {
    if (error instanceof AppError && error.code === 'ToolMissing') return error.message;
    throw error;
  }
  return undefined;
}

const why = await obstacle();
if (why !== undefined) tell(`skipped: ${why}`);
const sandbox = await DetachedSandbox.make();
after(() => sandbox.remove());

/** The elected pod once its container has started. */
async function startPod(client: ClusterClient): Promise<Pod> {
  const metadata = { name: NAMESPACE, labels: { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE } };
  await client.apply(NAMESPACES, { metadata }, 'isthmus-test');
  const command = ['sh', '-c', 'echo "hello from $(hostname)"; sleep 3600'];
  await client.create(PODS, {
    metadata: { name: NAME, namespace: NAMESPACE, annotations: { [ELECT_ANNOTATION]: '' } },
    spec: {
      terminationGracePeriodSeconds: 1, hostname: 'smoke', containers: [{ name: 'main', image: BUSYBOX, command }],
    },
  } as unknown as Pod);
  return eventually('the elected pod runs', async () => {
    const pod = await client.get(PODS, { namespace: NAMESPACE, name: NAME });
    return pod.status?.phase === 'Running' && pod;
  }, TIMEOUT_MS);
}

function logOf(client: ClusterClient): Promise<string> {
  return client.transport.call<string>({
    method: 'GET', path: `/api/v1/namespaces/${NAMESPACE}/pods/${NAME}/log`, read: (body) => body.toString('utf8'),
  });
}

describe('a source and a target with a real node', { skip: why }, () => {
  it('run an elected pod, show its log in the source, and leave nothing', async () => {
    const begin = performance.now();
    const lap = (what: string): void => tell(`${what} after ${((performance.now() - begin) / 1_000).toFixed(1)} s`);
    await sandbox.up(['--targets', '1', '--nodes', 'real']);
    lap('the clusters are ready');
    const record = await sandbox.record();
    const [source, target] = await Promise.all(record.clusters.map(
      ({ kubeconfig }) => openCluster({ kubeconfigPath: kubeconfig, userAgent: 'isthmus-test' }),
    ));
    assert.ok(source !== undefined && target !== undefined);
    await target.client.apply(NAMESPACES, { metadata: { name: NAMESPACE } }, 'isthmus-test');
    assert.ok(isProxyPod(await startPod(source.client)));
    lap('the elected pod runs');
    assert.equal(await eventually('its log', () => logOf(source.client)), 'hello from smoke\n');
    await Promise.all([source, target].map(({ client }) => client.transport.close()));
    await sandbox.down();
    lap('all is down');
    assert.deepEqual(await sandbox.leftovers(record), []);
  });
});
