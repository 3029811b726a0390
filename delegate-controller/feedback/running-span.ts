// The end of a pod's trace: its proxy is no longer Pending. Pure.
import type { Pod } from '../../api/objects/core.ts';
import { podAttributes, traceOf, type Span } from '../../model/proxy/trace.ts';

/**
 * The root span, once the written proxy is not Pending; undefined before that, and without tracing. `now` is in ms
 * since the epoch.
 */
export function shownSpan(written: Pod | undefined, now: number): Span | undefined {
  const trace = traceOf(written?.metadata.annotations);
  const phase = written?.status?.phase ?? 'Pending';
  if (written === undefined || trace === undefined || phase === 'Pending') return undefined;
  return {
    name: 'elected pod', traceId: trace.traceId, spanId: trace.rootId, startMs: trace.startedAt, endMs: now,
    attributes: { ...podAttributes(written.metadata), 'isthmus.phase': phase },
  };
}
