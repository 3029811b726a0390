// How the scheduler would place a pod now, by its own functions on a snapshot of its state.
import type { Pod } from '../../api/objects/core.ts';
import { PODS } from '../../api/resource-types.ts';
import type { OpenCluster } from '../../kubernetes/client/open-cluster.ts';
import { toPodChaperon } from '../../model/delegate/pod-chaperon.ts';
import { restoreSourcePod } from '../../model/proxy/admission-record.ts';
import { toProxyPodRecord, type ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { AppError } from '../../process/errors.ts';
import { toPodToSchedule } from '../../scheduler/decision/placement-constraints.ts';
import { explainPod, type Explanation } from '../../scheduler/explain/explain.ts';
import type { Rejection } from '../../scheduler/snapshot/rejection.ts';
import type { PodToSchedule } from '../../scheduler/snapshot/snapshot.ts';
import { rejectionOf, type PodToExplain } from './dry-run.ts';
import type { LiveState } from './live-state.ts';
import { orNotFound } from '../clusters/served-objects.ts';

/** Reads a pod. Throws AppError `NotFound` that names it. */
export async function readPod(
  { client }: Pick<OpenCluster, 'client'>, at: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<Pod> {
  return client.get(PODS, at, signal).catch(orNotFound(`There is no pod ${at.name} in namespace ${at.namespace}.`));
}

/** The decision for the pod as its targets are now, without asking them. Throws AppError `BadInput`. */
export function explainNow(pod: Pod, live: LiveState): Explanation {
  return explainPod(toQuestion(toPodToExplain(pod), live, new Map()), live.targetsWithout(pod.metadata.uid ?? ''));
}

/**
 * The same, but the target that comes first is asked whether it would take the pod; one that would not is ranked no
 * more. Throws AppError `BadInput`.
 */
export async function explainWithDryRun(pod: Pod, live: LiveState, signal: AbortSignal): Promise<Explanation> {
  const asked = toPodToExplain(pod);
  const targets = live.targetsWithout(pod.metadata.uid ?? '');
  const rejectedBy = new Map<string, Rejection>();
  for (;;) {
    const explanation = explainPod(toQuestion(asked, live, rejectedBy), targets);
    const rejection =
      explanation.chosen === undefined ? undefined : await rejectionOf(live, explanation.chosen, asked, signal);
    if (explanation.chosen === undefined || rejection === undefined) return explanation;
    rejectedBy.set(explanation.chosen, rejection);
  }
}

/** A bound pod is evaluated as if it had no node yet. */
function toPodToExplain(pod: Pod): PodToExplain & { readonly proxy: ProxyPod } {
  const { nodeName: _bound, ...spec } = pod.spec;
  const proxy = toProxyPodRecord({ ...pod, spec });
  const restored = restoreSourcePod(pod);
  if (proxy !== undefined && restored.kind !== 'invalid') return { proxy, sourcePod: restored.pod };
  throw new AppError(
    'BadInput',
    `Pod ${pod.metadata.name ?? ''} is not an elected pod: annotate it with multicluster.admiralty.io/elect in a ` +
      'namespace labelled multicluster-scheduler=enabled.',
  );
}

function toQuestion(
  { proxy, sourcePod }: ReturnType<typeof toPodToExplain>, { context, targets, sourceId }: LiveState,
  rejectedBy: ReadonlyMap<string, Rejection>,
): PodToSchedule {
  const { namespace, name, uid, labels } = proxy;
  const chaperon = toPodChaperon(sourcePod, { clusterId: sourceId, namespace, name, uid, labels });
  return toPodToSchedule({ proxy, sourcePod, chaperon, now: Date.now() }, context, targets, { rejectedBy });
}
