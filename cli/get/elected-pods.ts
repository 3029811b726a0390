// The table of elected pods, with their delegates as their targets show them now.
import type { KubernetesObject, Pod } from '../../api/objects/core.ts';
import { PARENT_CLUSTER_LABEL } from '../../api/objects/keys.ts';
import { PODS } from '../../api/resource-types.ts';
import type { TargetCluster } from '../../targets/target-cluster.ts';
import type { LiveState } from '../placement/live-state.ts';
import { delegateKey, podTable, statusOf, type DelegateView, type Table } from './pod-table.ts';
import type { TableOptions } from './tables.ts';

/** Timeout of a target in ms. */
const DELEGATES_MS = 5_000;

/**
 * One row for each pod. A target that does not answer has delegates of unknown status, and so has every target without
 * a live state.
 */
export async function electedPodRows(
  live: LiveState | undefined, found: readonly KubernetesObject[], { wide, signal }: TableOptions,
): Promise<Table> {
  const pods = found as readonly Pod[];
  const targets = live === undefined ? [] : [...live.sessions.all()];
  const lists = await Promise.all(targets.map((target) => delegatesOf(target, live?.sourceId ?? '', signal)));
  signal.throwIfAborted(); // an interrupted list is no target that does not answer
  const views = new Map(lists.flatMap((list) => list ?? []));
  const answered = new Set(targets.filter((_target, index) => lists[index] !== undefined).map(({ key }) => key));
  const delegates = new Map(pods.flatMap((pod) => {
    const key = delegateKey(pod);
    if (key === undefined) return [];
    const otherwise: DelegateView = { kind: answered.has(key.split(' ')[0] ?? '') ? 'missing' : 'unknown' };
    return [[key, views.get(key) ?? otherwise] as const];
  }));
  return podTable(pods, delegates, { now: Date.now(), wide });
}

/** A source's delegates in a target, by {@link delegateKey}; undefined when the target does not respond. */
async function delegatesOf(
  { key, session }: TargetCluster, sourceId: string, signal: AbortSignal,
): Promise<readonly (readonly [string, DelegateView])[] | undefined> {
  const selection = { labelSelector: `${PARENT_CLUSTER_LABEL}=${sourceId}` };
  const client = session?.client.withoutRateLimit(DELEGATES_MS);
  const pods = await client?.list(PODS, selection, signal).catch(() => undefined);
  return pods?.map((pod) => [
    `${key} ${pod.metadata.namespace}/${pod.metadata.name}`,
    { kind: 'found', node: pod.spec.nodeName, phase: statusOf(pod) },
  ]);
}
