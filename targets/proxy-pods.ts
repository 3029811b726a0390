// The elected pods of a source as all its components follow them, found by what they are looked for by: a cluster may have 100,000.
import type { Logger } from 'pino';
import { PROXY_SCHEDULER } from '../api/objects/keys.ts';
import type { Pod } from '../api/objects/core.ts';
import { PODS } from '../api/resource-types.ts';
import { toProxyPodRecord, type ProxyPod } from '../model/proxy/proxy-pod.ts';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import { Informer } from '../kubernetes/watch/informer.ts';

const AWAY = 'away';

/** A follower of all proxy pods of a source; it is yet to be run. */
export function proxyPods({ client, logger }: { readonly client: ClusterClient; readonly logger: Logger }): Informer<Pod, ProxyPod> {
  return new Informer({
    client, logger, type: PODS,
    selection: { fieldSelector: `spec.schedulerName=${PROXY_SCHEDULER}` },
    project: toProxyPodRecord,
    indexes: { node: ({ nodeName }) => nodeName, away: ({ awayFrom }) => (awayFrom === undefined ? undefined : AWAY) },
  });
}

/** Those that are bound to a virtual node. */
export function boundTo(proxies: Informer<Pod, ProxyPod>, nodeName: string): readonly ProxyPod[] {
  return proxies.by('node', nodeName);
}

/** Those that some target was lost to when they were placed. */
export function remotelyPlaced(proxies: Informer<Pod, ProxyPod>): readonly ProxyPod[] {
  return proxies.by('away', AWAY);
}
