// Controller that publishes a target's ClusterSummary: about a second after a change, five seconds after one that
// matters little, and every minute without one. A target does this itself; for a Pod-mode target the source computes it
// and stores it in its own cluster.
import type { Logger } from 'pino';
import { STOPS_UNCONFIRMED_ANNOTATION, TRUE } from '../../api/objects/keys.ts';
import { CLUSTER_SUMMARY_NAME } from '../../api/objects/own-names.ts';
import type { ClusterSummary } from '../../api/kinds/cluster-summary.ts';
import type { Node, Pod } from '../../api/objects/core.ts';
import { CLUSTER_SUMMARIES, NODES } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { startController, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import { toClusterSummary } from './cluster-summary.ts';
import { NodeGrouper } from './node-groups.ts';
import { NodeLedger } from './node-ledger.ts';
import { isSmallChange } from './small-change.ts';
import { toTargetNodeRecord, type TargetNode } from '../target-cache/target-node.ts';
import type { ResourceShares } from '../resource-shares/resource-share-controller.ts';
import type { TargetPod } from '../target-cache/target-pod.ts';

/** What the reporter works with. */
export interface SummaryOptions {
  /** Of the target. */
  readonly client: ClusterClient;
  /** All pods of the target. */
  readonly pods: Informer<Pod, TargetPod>;
  /** ResourceShares that are published to sources; missing where the target reports none. */
  readonly resourceShares?: ResourceShares;
  /** Where the summary is stored in the source; in the target when missing. */
  readonly storedInSource?: { readonly source: ClusterClient; readonly name: string };
  readonly logger: Logger;
}

const FIELD_MANAGER = 'isthmus-summary';
/**
 * How long changes are collected before they are published, in ms. It also lets a source observe a delegate's node
 * before the summary counts it: in the other order it would count the delegate twice for a moment.
 */
const GATHER_MS = 1_300;
/**
 * How long small changes are collected, in ms; they are looked at again each {@link GATHER_MS}. A source counts its own
 * candidates itself meanwhile. A burst of 200 pods over ten targets costs one or two writes a target instead of four.
 */
const GATHER_SMALL_MS = 5_200;
/** Longest interval between two summaries, in ms: the time in the summary is the delegate controller's heartbeat. */
const HEARTBEAT_MS = 60_000;

/**
 * Starts the controller. The first summary is published when nodes and pods are synced. Returns a check whether the
 * nodes are.
 */
export function startSummary(options: SummaryOptions, signal: AbortSignal): () => boolean {
  const { client, pods, resourceShares, storedInSource, logger } = options;
  const nodes =
    new Informer<Node, TargetNode>({ client, logger, type: NODES, selection: {}, project: toTargetNodeRecord });
  const reporter = new SummaryReporter({
    client: storedInSource?.source ?? client, name: storedInSource?.name ?? CLUSTER_SUMMARY_NAME, resourceShares,
    deletesUnconfirmed: storedInSource === undefined, podsResourceVersion: () => pods.resourceVersion,
  });
  const ready = Promise.all([nodes.synced, pods.synced]);
  const controller = startController(
    { name: 'summary', reconcile: () => reporter.publish(signal), concurrency: 1, logger, ready }, signal,
  );
  const changed = () => controller.enqueue(CLUSTER_SUMMARY_NAME);
  nodes.onChange((name, _before, after) => {
    reporter.ledger.setNode(name, after);
    changed();
  });
  pods.onChange((_key, before, after) => {
    if (reporter.observe(before, after)) changed();
  });
  resourceShares?.onChange(changed);
  changed(); // publish also for a cluster without nodes and pods
  void nodes.run(signal);
  return () => nodes.hasSynced;
}

interface Publication {
  readonly client: ClusterClient;
  readonly name: string;
  readonly resourceShares: ResourceShares | undefined;
  /** Whether the cluster's own delegate controller publishes it, which deletes candidates that no source confirms. */
  readonly deletesUnconfirmed: boolean;
  readonly podsResourceVersion: () => string;
}

class SummaryReporter {
  readonly ledger = new NodeLedger();
  readonly #grouper = new NodeGrouper();
  readonly #publication: Publication;
  #published: ClusterSummary | undefined;
  #publishedAt = 0;
  /** Start of the current collection, and when what it holds is looked at next, in ms of a monotonic clock. */
  #gatheringSince = 0;
  #lookAt: number | undefined;
  /** A source waits until the summary counts a delegate that has its node now; publish even if it is unchanged. */
  #delegateGotNode = false;

  constructor(publication: Publication) {
    this.#publication = publication;
  }

  /** Applies a change of a pod. Returns whether it changes free capacity. */
  observe(before: TargetPod | undefined, after: TargetPod | undefined): boolean {
    if (!this.ledger.changePod(before, after)) return false;
    if (after?.chaperonUid !== undefined && after.occupies !== undefined) this.#delegateGotNode = true;
    return true;
  }

  async publish(signal: AbortSignal): Promise<ReconcileResult> {
    const ms = this.#msToLook();
    if (ms > 0) return { kind: 'requeue-after', ms };
    const now = performance.now();
    const summary = this.#summary();
    const restMs = this.#publishedAt + HEARTBEAT_MS - now;
    const change = this.#changeTo(summary);
    if (restMs > 0 && change === 'small' && now < this.#gatheringSince + GATHER_SMALL_MS) {
      this.#lookAt = now + GATHER_MS;
      return { kind: 'requeue-after', ms: GATHER_MS };
    }
    this.#lookAt = undefined;
    if (restMs > 0 && change === 'none') return { kind: 'requeue-after', ms: restMs };
    this.#delegateGotNode = false; // another one may get its node during this write
    try {
      await this.#publication.client.metadataOnly().apply(CLUSTER_SUMMARIES, summary, FIELD_MANAGER, signal);
    } catch (error) {
      this.#delegateGotNode = true;
      throw error;
    }
    this.#published = summary;
    this.#publishedAt = now;
    return { kind: 'requeue-after', ms: HEARTBEAT_MS };
  }

  #summary(): ClusterSummary {
    const { name, resourceShares, podsResourceVersion } = this.#publication;
    const summary = toClusterSummary(
      this.ledger, this.#grouper, { podsResourceVersion: podsResourceVersion(), time: new Date().toISOString() },
    );
    const annotations = this.#publication.deletesUnconfirmed ? { [STOPS_UNCONFIRMED_ANNOTATION]: TRUE } : {};
    const capacity = { ...summary, metadata: { ...summary.metadata, name, annotations } };
    resourceShares?.ledger.setTotal(capacity.allocatable ?? {});
    const published = resourceShares?.ledger.published() ?? [];
    return published.length === 0 ? capacity : { ...capacity, shares: published };
  }

  #changeTo(summary: ClusterSummary): 'none' | 'small' | 'large' {
    const before = this.#published;
    if (before === undefined) return 'large';
    if (sameCapacity(before, summary)) return this.#delegateGotNode ? 'small' : 'none';
    return isSmallChange(before, summary) ? 'small' : 'large';
  }

  /** Begins to gather with the first call after a publication. */
  #msToLook(): number {
    if (this.#published === undefined) return 0;
    const now = performance.now();
    if (this.#lookAt === undefined) [this.#gatheringSince, this.#lookAt] = [now, now + GATHER_MS];
    return this.#lookAt - now;
  }
}

function sameCapacity({ observed: _before, ...one }: ClusterSummary, { observed: _after, ...other }: ClusterSummary) {
  return JSON.stringify(one) === JSON.stringify(other);
}
