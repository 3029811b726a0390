// Shell that publishes the target's ClusterSummary: on change, at most twice a second, and nothing when nothing changed.
import type { Logger } from 'pino';
import { CLUSTER_SUMMARY_NAME } from '../api/keys.ts';
import type { Node, Pod } from '../api/core.ts';
import { CLUSTER_SUMMARIES, NODES } from '../api/resource-types.ts';
import type { ClusterClient } from '../kubernetes/cluster-client.ts';
import { DONE, startController } from '../kubernetes/controller.ts';
import { Informer } from '../kubernetes/informer.ts';
import { nodeUsage, toClusterSummary, toTargetNodeRecord, type TargetNode } from './cluster-summary.ts';
import type { TargetPod } from './target-pod.ts';

/** What the reporter works with. */
export interface SummaryOptions {
  readonly client: ClusterClient;
  /** All pods of the target. */
  readonly pods: Informer<Pod, TargetPod>;
  readonly logger: Logger;
}

const FIELD_MANAGER = 'isthmus-summary';
/** Shortest time between two publications in ms. */
const PUBLISH_INTERVAL_MS = 500;

/** Starts the reporter. The first summary is published as soon as nodes and pods are known. */
export function startSummary(options: SummaryOptions, signal: AbortSignal): void {
  const { client, pods, logger } = options;
  const nodes = new Informer<Node, TargetNode>({ client, logger, type: NODES, selection: {}, project: toTargetNodeRecord });
  let published = '';
  /** A source waits to hear that the figures count a delegate that has its node now, even when they come out the same. */
  let delegateGotNode = false;
  let publishedAt = -Infinity;
  const publish = async () => {
    const wait = publishedAt + PUBLISH_INTERVAL_MS - performance.now();
    if (wait > 0) return { kind: 'requeue-after', ms: wait } as const;
    const summary = toClusterSummary(nodes.records(), nodeUsage(pods.records()), pods.resourceVersion);
    const { observed: _observed, ...figures } = summary;
    if (JSON.stringify(figures) === published && !delegateGotNode) return DONE;
    delegateGotNode = false;
    publishedAt = performance.now();
    await client.apply(CLUSTER_SUMMARIES, summary, FIELD_MANAGER, signal);
    published = JSON.stringify(figures);
    return DONE;
  };
  const ready = Promise.all([nodes.synced, pods.synced]);
  const controller = startController({ name: 'summary', reconcile: publish, concurrency: 1, logger, ready }, signal);
  const changed = () => controller.enqueue(CLUSTER_SUMMARY_NAME);
  nodes.onChange(changed);
  pods.onChange((_key, before, after) => {
    if (before?.occupies?.nodeName === after?.occupies?.nodeName) return;
    if (after?.chaperonUid !== undefined && after.occupies !== undefined) delegateGotNode = true;
    changed();
  });
  changed(); // a cluster without nodes and pods says so, too
  void nodes.run(signal);
}
