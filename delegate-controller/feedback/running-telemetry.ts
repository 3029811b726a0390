// Metrics and traces of a proxy that has left Pending, the end of an elected pod's placement.
import type { Pod } from '../../api/objects/core.ts';
import { observeShown } from '../../process/placement-metrics.ts';
import { isTracing, recordSpan } from '../../process/tracing.ts';
import { rootSpan } from '../../model/proxy/trace.ts';

/** Records a proxy that was Pending before this write; nothing while it still is. `now` is in ms since the epoch. */
export function recordShown(written: Pod | undefined, now: number): void {
  if (written === undefined || (written.status?.phase ?? 'Pending') === 'Pending') return;
  observeShown(now - Date.parse(written.metadata.creationTimestamp ?? ''));
  const span = isTracing() ? rootSpan(written, now) : undefined;
  if (span !== undefined) recordSpan(span);
}
