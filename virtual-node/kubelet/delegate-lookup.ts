// From a pod of the source to the pod in its target that does the work, by what both clusters' caches say now. A user's name never becomes a
// part of a path in the target: only the name under which the target itself has told of the delegate does.
import type { DelegatePod } from '../../model/delegate/remembered-delegate.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { refused, type PodRequest, type Refusal } from './kubelet-request.ts';

/** What is known of a pod and of where it runs. */
export interface KnownPod {
  readonly proxy: ProxyPod | undefined;
  /** Whether its target has a session at all. */
  readonly reachable: boolean;
  readonly delegate: Pick<DelegatePod, 'key'> | undefined;
}

/** Where to send a request: a path in the target's API. */
export interface DelegateLocation {
  readonly kind: 'located';
  readonly path: string;
  /** Parameters, the container among them. */
  readonly query: readonly (readonly [name: string, value: string])[];
}

/** Finds the delegate that a request is about. */
export function locateDelegate(request: PodRequest, { proxy, reachable, delegate }: KnownPod): DelegateLocation | Refusal {
  const { container, operation, parameters } = request;
  if (proxy?.nodeName === undefined) return refused(404, `pod ${request.namespace}/${request.name} is on no virtual node`);
  if (container !== undefined && proxy.containers?.includes(container) !== true) return refused(404, `pod ${proxy.key} has no container ${container}`);
  if (!reachable) return refused(503, `the target of virtual node ${proxy.nodeName} is not connected`);
  const [namespace, name] = delegate?.key.split('/') ?? [];
  if (namespace === undefined || name === undefined) return refused(404, `the delegate of pod ${proxy.key} is not there`);
  const query = container === undefined ? parameters : [['container', container] as const, ...parameters];
  return { kind: 'located', path: `/api/v1/namespaces/${namespace}/pods/${name}/${operation}`, query };
}
