// The end of a pod's trace: its proxy shows that it is not Pending any more. Pure.
import type { Pod } from '../../api/objects/core.ts';
import { podAttributes, traceOf, type Span } from '../../model/proxy/trace.ts';

/** The root of the trace, once the proxy as it was written is not Pending; undefined before, and where nobody traces. `now` is in ms since the epoch. */
export function shownSpan(written: Pod | undefined, now: number): Span | undefined {
  const trace = traceOf(written?.metadata.annotations);
  const phase = written?.status?.phase ?? 'Pending';
  if (written === undefined || trace === undefined || phase === 'Pending') return undefined;
  return { name: 'elected pod', traceId: trace.traceId, spanId: trace.rootId, startMs: trace.startedAt, endMs: now, attributes: { ...podAttributes(written.metadata), 'isthmus.phase': phase } };
}
