// Controller in the source that computes the free capacity of Pod-mode targets, which run none of our components. It
// watches the target's nodes and pods and stores the ClusterSummary in the source under the name of the target's
// virtual node, where all components of the source read it.
import type { Logger } from 'pino';
import type { Pod } from '../../api/objects/core.ts';
import { PARENT_CLUSTER_LABEL } from '../../api/objects/keys.ts';
import { CLUSTER_SUMMARIES, PODS } from '../../api/resource-types.ts';
import { isNotFound } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { DONE, startController, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import type { TargetClusters } from '../../targets/target-clusters.ts';
import type { TargetSession } from '../../targets/target-session.ts';
import type { FieldsOf } from '../../model/objects/fields.ts';
import { startSummary } from './summary-controller.ts';
import { TARGET_POD_FIELDS, toTargetPodRecord, type TargetPod } from '../target-cache/target-pod.ts';

/** What the controller works with. */
export interface PodModeSummaryOptions {
  readonly source: ClusterClient;
  /** UID of the source's kube-system Namespace. */
  readonly sourceId: string;
  readonly targets: TargetClusters;
  readonly logger: Logger;
}

/** Starts the controller. */
export function startPodModeSummaries(
  { source, sourceId, targets, logger }: PodModeSummaryOptions, signal: AbortSignal,
): void {
  const begun = new WeakSet<TargetSession>();
  const reconcile = (name: string) => removeOf(source, targets, name, signal);
  const removal =
    startController({ name: 'kept-summary', reconcile, concurrency: 1, logger, ready: targets.untilSynced() }, signal);
  targets.listen({
    changed: ({ session, nodeName, key }) => {
      if (session === undefined || begun.has(session) || !session.publishesNoSummary) return;
      begun.add(session);
      logger.info({ target: key }, 'the source computes the free capacity of this target');
      const pods = podsOf(session, sourceId, logger);
      const storedInSource = { source, name: nodeName };
      startSummary({ client: session.client, pods, storedInSource, logger }, session.signal);
      void pods.run(session.signal);
    },
    removed: ({ nodeName }) => removal.enqueue(nodeName),
  });
}

async function removeOf(
  source: ClusterClient, targets: TargetClusters, name: string, signal: AbortSignal,
): Promise<ReconcileResult> {
  if (targets.byNode(name) !== undefined) return DONE;
  try {
    const { metadata } = await source.get(CLUSTER_SUMMARIES, { name }, signal);
    await source.delete(CLUSTER_SUMMARIES, { name }, { preconditions: { uid: metadata.uid ?? '' } }, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  return DONE;
}

const FIELDS: FieldsOf<Pod> = {
  ...TARGET_POD_FIELDS,
  metadata: { ...(TARGET_POD_FIELDS.metadata as object), labels: { [PARENT_CLUSTER_LABEL]: true } } as never,
};

function podsOf({ client }: TargetSession, sourceId: string, logger: Logger): Informer<Pod, TargetPod> {
  return new Informer(
    { client, logger, type: PODS, selection: {}, fields: FIELDS, project: (pod) => toDirectTargetPod(pod, sourceId) },
  );
}

/**
 * A Pod-mode delegate has no chaperon. It stands for its own, so that the summary is published again when it counts the
 * delegate.
 */
function toDirectTargetPod(pod: Pod, sourceId: string): TargetPod {
  const record = toTargetPodRecord(pod);
  return pod.metadata.labels?.[PARENT_CLUSTER_LABEL] === sourceId ? { ...record, chaperonUid: record.uid } : record;
}
