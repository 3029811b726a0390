// Tells metrics and traces that a proxy shows what became of its pod: the end of the way of an elected pod.
import type { Pod } from '../../api/objects/core.ts';
import { observeShown } from '../../process/placement-metrics.ts';
import { isTracing, recordSpan } from '../../process/tracing.ts';
import { shownSpan } from './running-span.ts';

/** Tells of a proxy that was Pending, as it was written; nothing while it still is. `now` is in ms since the epoch. */
export function recordShown(written: Pod | undefined, now: number): void {
  if (written === undefined || (written.status?.phase ?? 'Pending') === 'Pending') return;
  observeShown(now - Date.parse(written.metadata.creationTimestamp ?? ''));
  const span = isTracing() ? shownSpan(written, now) : undefined;
  if (span !== undefined) recordSpan(span);
}
