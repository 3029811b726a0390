// Controller that periodically lists each virtual node for pods that Isthmus did not place there. One small list, which
// the API server answers from an index of its cache, costs less than a watch for this rare case.
import type { Logger } from 'pino';
import { PROXY_SCHEDULER } from '../../api/objects/keys.ts';
import { PODS } from '../../api/resource-types.ts';
import { ignoreStale } from '../../kubernetes/flow/api-error.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { executePlan } from '../../kubernetes/controller/execute-plan.ts';
import type { TargetClusters } from '../../targets/target-clusters.ts';
import { messageOf } from '../../process/errors.ts';
import { planMisplacedPodRemoval } from './misplaced-pods.ts';

/** List interval of each virtual node, in ms; the targets are spread evenly over it. */
const EVERY_MS = 30_000;
/** Least pause between two lists, in ms: beyond 150 targets each virtual node is listed less often. */
const LEAST_PAUSE_MS = 200;

/** What the controller works with. */
export interface MisplacedPodsOptions {
  readonly source: ClusterClient;
  readonly targets: TargetClusters;
  readonly logger: Logger;
  /** Reconciling starts when this resolves. */
  readonly ready: Promise<unknown>;
  /** List interval of each virtual node, in ms; {@link EVERY_MS} when missing. */
  readonly everyMs?: number;
}

/** Runs until `signal` is aborted. Never throws. */
export async function followMisplacedPods(
  { source, targets, logger, ready, everyMs = EVERY_MS }: MisplacedPodsOptions, signal: AbortSignal,
): Promise<void> {
  await ready.catch(() => undefined);
  while (!signal.aborted) {
    const nodes = [...targets.all()].map(({ nodeName }) => nodeName);
    for (const nodeName of nodes) {
      await endMisplacedPods(source, nodeName, signal).catch((error: unknown) => {
        if (!signal.aborted) logger.debug(
          { node: nodeName, error: messageOf(error) }, 'could not list pods of others on a virtual node',
        );
      });
      await delay(Math.max(LEAST_PAUSE_MS, everyMs / nodes.length), signal);
    }
    if (nodes.length === 0) await delay(everyMs, signal);
  }
}

async function endMisplacedPods(source: ClusterClient, nodeName: string, signal: AbortSignal): Promise<void> {
  const fieldSelector = `spec.nodeName=${nodeName},spec.schedulerName!=${PROXY_SCHEDULER}`;
  const plan = planMisplacedPodRemoval(await source.list(PODS, { fieldSelector }, signal));
  for (const command of plan) await executePlan(source, [command], signal).catch(ignoreStale);
}
