// Shell that looks at each virtual node once in a while for pods that Isthmus did not place there. A watch of them would cost more than
// this seldom case is worth: one small list, which the API server answers from its cache by an index.
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

/** How often a virtual node is looked at, in ms: the targets share it evenly. */
const EVERY_MS = 30_000;

/** What the controller works with. */
export interface MisplacedPodsOptions {
  readonly source: ClusterClient;
  readonly targets: TargetClusters;
  readonly logger: Logger;
  /** Work waits for this. */
  readonly ready: Promise<unknown>;
  /** How often a virtual node is looked at, in ms; {@link EVERY_MS} when missing. */
  readonly everyMs?: number;
}

/** Looks until `signal` is aborted. Never throws. */
export async function followMisplacedPods({ source, targets, logger, ready, everyMs = EVERY_MS }: MisplacedPodsOptions, signal: AbortSignal): Promise<void> {
  await ready.catch(() => undefined);
  while (!signal.aborted) {
    const nodes = [...targets.all()].map(({ nodeName }) => nodeName);
    for (const nodeName of nodes) {
      await endMisplacedPods(source, nodeName, signal).catch((error: unknown) => {
        if (!signal.aborted) logger.debug({ node: nodeName, error: messageOf(error) }, 'could not look for pods that are not ours on a virtual node');
      });
      await delay(everyMs / nodes.length, signal);
    }
    if (nodes.length === 0) await delay(everyMs, signal);
  }
}

async function endMisplacedPods(source: ClusterClient, nodeName: string, signal: AbortSignal): Promise<void> {
  const fieldSelector = `spec.nodeName=${nodeName},spec.schedulerName!=${PROXY_SCHEDULER}`;
  const plan = planMisplacedPodRemoval(await source.list(PODS, { fieldSelector }, signal));
  for (const command of plan) await executePlan(source, [command], signal).catch(ignoreStale);
}
