// Trace spans of placement: the whole, and each target that was tried. Pure.
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { podAttributes, type Span, type TraceContext } from '../../model/proxy/trace.ts';

/** A part of placement. Times are in ms since the epoch; `error` is why the target rejected the pod. */
export interface PlacementPart {
  readonly name: 'schedule' | 'candidate';
  readonly spanId: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly target: string;
  readonly error?: string;
}

/** The span of one part of the pod's placement. */
export function placementSpan(
  proxy: ProxyPod, { traceId, rootId }: TraceContext, { target, error, ...part }: PlacementPart,
): Span {
  return {
    ...part, traceId, parentId: rootId, attributes: { ...podAttributes(proxy), 'isthmus.target': target },
    ...(error !== undefined && { error }),
  };
}
