// The shared informer of a source's elected pods, with the indexes that its components need: a cluster may have
// 100,000.
import type { Logger } from 'pino';
import { PROXY_SCHEDULER } from '../api/objects/keys.ts';
import type { Pod } from '../api/objects/core.ts';
import { PODS } from '../api/resource-types.ts';
import { toProxyPodRecord, type ProxyPod } from '../model/proxy/proxy-pod.ts';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import { Informer } from '../kubernetes/watch/informer.ts';

const AWAY = 'away';
const WAITING = 'waiting';

/** An informer of all proxy pods of a source; call run yourself. */
export function proxyPods(
  { client, logger }: { readonly client: ClusterClient; readonly logger: Logger },
): Informer<Pod, ProxyPod> {
  return new Informer({
    client, logger, type: PODS,
    selection: { fieldSelector: `spec.schedulerName=${PROXY_SCHEDULER}` },
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
