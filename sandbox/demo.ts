// The demo of `npm start`: a source and two targets, six elected pods, and what kubectl would show of them on both
// sides.
import type { KubernetesObject, Pod } from '../api/objects/core.ts';
import { ELECT_ANNOTATION, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE } from '../api/objects/keys.ts';
import { PODS } from '../api/resource-types.ts';
import { applyObjects } from '../cli/clusters/apply-objects.ts';
import { delay } from '../kubernetes/flow/backoff.ts';
import type { Informer } from '../kubernetes/watch/informer.ts';
import { fullInformersOf } from '../kubernetes/watch/full-objects.ts';
import { openCluster, userAgent, type OpenCluster } from '../kubernetes/client/open-cluster.ts';
import { createLogger } from '../process/logger.ts';
import type { Cluster } from './control-plane/control-plane.ts';
import { toPodTables } from './pod-table.ts';
import { drawInPlace } from './processes/progress.ts';
import { pointingKubectl } from './processes/shell-word.ts';
import { nodesAsTheyAre } from './simulated.ts';
import type { Sandbox } from './sandbox.ts';

const NAMESPACE = 'production';
const REPLICAS = 6;
/** Shortest time between two pictures of the tables, in ms. */
const PRINT_INTERVAL_MS = 250;

/** What is applied: the namespace everywhere, opted in at the source, and the Deployment there. */
export function sampleObjects(): {
  readonly namespace: KubernetesObject; readonly optedInNamespace: KubernetesObject;
  readonly deployment: KubernetesObject
} {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } };
  const labels = { app: 'payment-api' };
  const container = {
    name: 'api', image: 'myregistry.example/payment-api:v2.1',
    resources: { requests: { cpu: '500m', memory: '256Mi' } },
  };
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'payment-api', namespace: NAMESPACE },
    spec: {
      replicas: REPLICAS,
      selector: { matchLabels: labels },
      template: { metadata: { labels, annotations: { [ELECT_ANNOTATION]: '' } }, spec: { containers: [container] } },
    },
  };
  return {
    namespace,
    optedInNamespace:
      { ...namespace, metadata: { name: NAMESPACE, labels: { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE } } },
    deployment,
  };
}

/**
 * Applies the sample and shows the pods of all clusters until all are Running, on a terminal as they change; then
 * prints how to continue.
 */
export async function showElectedPods(
  sandbox: Sandbox, write: (characters: string) => void, signal: AbortSignal,
): Promise<void> {
  const opened = await Promise.all(sandbox.clusters.map(open));
  const stopped = new AbortController();
  const either = AbortSignal.any([signal, stopped.signal]);
  try {
    const startedAt = performance.now();
    const views = await follow(opened, either);
    await applySample(opened, either);
    await drawUntilRunning(views, write, either);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    write(`All ${REPLICAS} pods run, ${seconds} s after they were created.\n\n${howToGoOn(sandbox)}\n`);
  } finally {
    stopped.abort();
    await Promise.all(opened.map(({ client }) => client.transport.close()));
  }
}

interface OpenedCluster extends OpenCluster {
  readonly name: string;
}

interface ClusterView {
  readonly cluster: string;
  readonly pods: Informer<Pod, Pod>;
}

async function open({ name, kubeconfigPath }: Cluster): Promise<OpenedCluster> {
  return { name, ...(await openCluster({ kubeconfigPath, userAgent: userAgent('demo') })) };
}

async function follow(clusters: readonly OpenedCluster[], signal: AbortSignal): Promise<readonly ClusterView[]> {
  const logger = createLogger('silent');
  const views = clusters.map(({ name, client }) => (
    { cluster: name, pods: fullInformersOf({ client, logger })(PODS, { namespace: NAMESPACE }) }
  ));
  for (const { pods } of views) void pods.run(signal);
  await Promise.all(views.map(({ pods }) => pods.synced));
  return views;
}

async function applySample([source, ...targets]: readonly OpenedCluster[], signal: AbortSignal): Promise<void> {
  const { namespace, optedInNamespace, deployment } = sampleObjects();
  const progress = { tell: () => undefined, signal };
  for (const { client } of targets) await applyObjects(client, [namespace], 'isthmus-demo', progress);
  if (source !== undefined) await applyObjects(source.client, [optedInNamespace, deployment], 'isthmus-demo', progress);
}

async function drawUntilRunning(
  views: readonly ClusterView[], write: (characters: string) => void, signal: AbortSignal,
): Promise<void> {
  let drawnLines = 0;
  for (let running = 0; running < REPLICAS; ) {
    await delay(PRINT_INTERVAL_MS, signal);
    const { isTTY: isTerminal, columns, rows } = process.stdout;
    const clusters = views.map(({ cluster, pods }) => ({ cluster, pods: [...pods.records()] }));
    running = clusters[0]?.pods.filter((pod) => pod.status?.phase === 'Running').length ?? 0;
    const picture = toPodTables(clusters, Date.now(), columns || 160);
    const drawn = drawInPlace(drawnLines, picture, { isTerminal, rows }, running === REPLICAS);
    write(drawn.output);
    ({ drawnLines } = drawn);
  }
}

function howToGoOn({ clusters, registry }: Sandbox): string {
  const lines = clusters.map(pointingKubectl);
  return [
    'To look around with kubectl:', ...lines, '',
    `Try: kubectl -n ${NAMESPACE} scale deployment payment-api --replicas=20`,
    nodesAsTheyAre(registry !== undefined), '',
  ].join('\n');
}
