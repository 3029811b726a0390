// The shared informer of a source's elected pods, with the indexes that its components need: a cluster may have
// 100,000. What controllers use beside it, and the eviction of a pod.
import type { Logger } from 'pino';
import type { Pod } from '../api/objects/core.ts';
import { PODS } from '../api/resource-types.ts';
import { isThrottled } from '../kubernetes/flow/api-error.ts';
import { toProxyPodRecord, type ProxyPod } from '../model/proxy/proxy-pod.ts';
import { PROXY_PODS } from '../model/proxy/proxy-selection.ts';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import { Informer } from '../kubernetes/watch/informer.ts';
import type { TargetClusters } from './target-clusters.ts';

/** What a controller of the source works with. */
export interface SourceControllerOptions {
  readonly source: ClusterClient;
  /** Proxy pods of the source. */
  readonly proxies: Informer<Pod, ProxyPod>;
  readonly targets: TargetClusters;
  readonly logger: Logger;
}

const AWAY = 'away';
const WAITING = 'waiting';

/** An informer of all proxy pods of a source; call run yourself. */
export function proxyPods(
  { client, logger }: { readonly client: ClusterClient; readonly logger: Logger },
): Informer<Pod, ProxyPod> {
  return new Informer({
    client, logger, type: PODS, selection: PROXY_PODS,
    project: toProxyPodRecord,
    indexes: {
      node: ({ nodeName }) => nodeName, away: ({ lostTargets }) => (lostTargets === undefined ? undefined : AWAY),
      waiting: ({ nodeName }) => (nodeName === undefined ? WAITING : undefined),
    },
  });
}

/** Pods bound to a virtual node. */
export function boundTo(proxies: Informer<Pod, ProxyPod>, nodeName: string): readonly ProxyPod[] {
  return proxies.by('node', nodeName);
}

/** Pods that are bound to no virtual node yet. */
export function unbound(proxies: Informer<Pod, ProxyPod>): readonly ProxyPod[] {
  return proxies.by(WAITING, WAITING);
}

/** Pods whose placement record names a target that was lost. */
export function remotelyPlaced(proxies: Informer<Pod, ProxyPod>): readonly ProxyPod[] {
  return proxies.by('away', AWAY);
}

/**
 * Evicts the pod of this UID, unless a PodDisruptionBudget forbids it for now: then it returns false (`policy/v1`
 * Eviction). Throws what the call throws, a conflict for another pod of that name.
 */
export async function evictPod(
  source: ClusterClient, { namespace, name, uid }: Pick<ProxyPod, 'namespace' | 'name' | 'uid'>, signal: AbortSignal,
): Promise<boolean> {
  const eviction = {
    apiVersion: 'policy/v1', kind: 'Eviction', metadata: { namespace, name }, deleteOptions: { preconditions: { uid } },
  };
  try {
    await source.post(PODS, { namespace, name, subresource: 'eviction' }, eviction, signal);
    return true;
  } catch (error) {
    if (isThrottled(error)) return false;
    throw error;
  }
}
