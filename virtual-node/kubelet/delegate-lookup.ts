// Finds the delegate of a source pod in its target from the current caches of both clusters. A name from the request
// never becomes part of a path in the target: only the delegate's name as the target reported it does.
import type { DelegatePod } from '../../model/delegate/cached-delegate.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { refused, type PodRequest, type Refusal } from './kubelet-request.ts';

/** The cached state of a pod and its delegate. */
export interface KnownPod {
  readonly proxy: ProxyPod | undefined;
  /** Whether its target has a session. */
  readonly reachable: boolean;
  readonly delegate: Pick<DelegatePod, 'key'> | undefined;
}

/** Where to send a request: a path in the target's API. */
export interface DelegateLocation {
  readonly kind: 'located';
  readonly path: string;
  /** Query parameters, including the container. */
  readonly query: readonly (readonly [name: string, value: string])[];
}

/** Finds the delegate of a request. */
export function locateDelegate(request: PodRequest, { proxy, reachable, delegate }: KnownPod): DelegateLocation
  | Refusal {
  const { container, operation, parameters } = request;
  if (proxy?.nodeName === undefined) {
    return refused(404, `pod ${request.namespace}/${request.name} is on no virtual node`);
  }
  if (container !== undefined && proxy.containers?.includes(container) !== true) {
    return refused(404, `pod ${proxy.key} has no container ${container}`);
  }
  if (!reachable) return refused(503, `the target of virtual node ${proxy.nodeName} is not connected`);
  const [namespace, name] = delegate?.key.split('/') ?? [];
  if (namespace === undefined || name === undefined) {
    return refused(404, `the delegate of pod ${proxy.key} is not there`);
  }
  const query = container === undefined ? parameters : [['container', container] as const, ...parameters];
  return { kind: 'located', path: `/api/v1/namespaces/${namespace}/pods/${name}/${operation}`, query };
}
