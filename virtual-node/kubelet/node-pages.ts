// Pages of virtual nodes: `/metrics/resource`, `/stats/summary`, `/pods`. All virtual nodes share one port, so a page
// is requested below `/nodes/NAME`; without that it is the page of the only one.
import type { ServerResponse } from 'node:http';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { openExchange } from '../../kubernetes/stream/stream-exchange.ts';
import type { TargetCluster } from '../../targets/target-cluster.ts';
import type { TargetClusters } from '../../targets/target-clusters.ts';
import { refused, type NodeRequest, type Refusal } from './kubelet-request.ts';
import type { PodUsages, TargetUsage } from '../usage/pod-usage-cache.ts';
import { nodeUsageAt, toResourceMetrics, toStatsSummary } from '../usage/pod-usage.ts';
import { relayAnswer, type IdleLimits } from '../streams/stream-relay.ts';

/** Sources of the pages' data. */
export interface NodePages {
  readonly source: ClusterClient;
  readonly targets: TargetClusters;
  readonly usages: PodUsages;
  readonly limits: IdleLimits;
}

/** Content type of Prometheus' text format. */
const TEXT_FORMAT = 'text/plain; version=0.0.4; charset=utf-8';

/** Responds, or says why not. Throws what calls to the source throw. */
export async function answerNodePage(
  asked: NodeRequest, pages: NodePages, reply: ServerResponse, signal: AbortSignal,
): Promise<Refusal | undefined> {
  const nodes = nodesOf(asked, pages.targets);
  const [node, ...others] = nodes;
  if (asked.page === 'metrics' && asked.node === undefined) return answerMetrics(nodes, pages, reply);
  if (node === undefined) return refused(
    404, asked.node === undefined ? 'there is no virtual node' : `there is no virtual node ${asked.node}`,
  );
  if (others.length > 0) return refused(
    400, `${nodes.length} virtual nodes are served here; ask for /nodes/${node.nodeName}/${PATHS[asked.page]}`,
  );
  switch (asked.page) {
    case 'metrics':
      return answerMetrics([node], pages, reply);
    case 'stats':
      return answerStats(node, pages, reply);
    case 'pods':
      return answerPods(node.nodeName, pages, reply, signal);
  }
}

const PATHS: Readonly<Record<NodeRequest['page'], string>> =
  { pods: 'pods', stats: 'stats/summary', metrics: 'metrics/resource' };

function nodesOf({ node }: NodeRequest, targets: TargetClusters): readonly TargetCluster[] {
  if (node === undefined) return [...targets.all()];
  const target = targets.byNode(node);
  return target === undefined ? [] : [target];
}

const UNREACHED: TargetUsage = { pods: [], failed: true };

function usagesOf(nodes: readonly TargetCluster[], usages: PodUsages): Promise<readonly TargetUsage[]> {
  return Promise.all(nodes.map(async ({ session }) => (session === undefined ? UNREACHED : usages.of(session))));
}

async function answerMetrics(
  nodes: readonly TargetCluster[], { usages }: NodePages, reply: ServerResponse,
): Promise<undefined> {
  const found = await usagesOf(nodes, usages);
  const node = found.length === 1 ? found[0]?.node : undefined;
  reply.writeHead(200, { 'content-type': TEXT_FORMAT })
    .end(toResourceMetrics(found.flatMap(({ pods }) => pods), node, found.some(({ failed }) => failed)));
}

async function answerStats(node: TargetCluster, { usages }: NodePages, reply: ServerResponse): Promise<undefined> {
  const [usage = UNREACHED] = await usagesOf([node], usages);
  const summary = toStatsSummary(node.nodeName, usage.pods, usage.node ?? nodeUsageAt([], undefined, Date.now()));
  reply.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(summary));
}

/** From the API server's cache. */
async function answerPods(
  nodeName: string, { source, limits }: NodePages, reply: ServerResponse, signal: AbortSignal,
): Promise<undefined> {
  const query = [['fieldSelector', `spec.nodeName=${nodeName}`], ['resourceVersion', '0']] as const;
  const answer = await openExchange(
    source.transport, { method: 'GET', path: '/api/v1/pods', query, headersTimeoutMs: 30_000 }, signal,
  );
  await relayAnswer(answer.response, reply, limits);
}
