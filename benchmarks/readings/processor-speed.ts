// The current speed of the processor, which may be shared: the same work took up to 2.8 times the CPU time from one
// hour to the next. So goals in ms of CPU are scaled to the speed at which they were set (docs/adr/0042-cpu-goals.md).
import { syntheticPod } from '../load/synthetic-pods.ts';

/** µs of CPU for parsing one event of a watch of pods, when the goals were set. */
export const USUAL_PARSE_US = 18;

/** µs of CPU for parsing the line of one event of a watch of pods: the mean of so many. */
export function parseEventUs(events: number): number {
  const lines = Array.from(
    { length: 1_000 },
    (_, i) =>
      `{"type":"MODIFIED","object":` +
        `${JSON.stringify(syntheticPod()).replaceAll('00000000', String(i).padStart(8, '0'))}}`,
  );
  const began = process.cpuUsage();
  let parsed = 0;
  for (let i = 0; i < events; i += 1) if (JSON.parse(lines[i % lines.length] ?? '') !== null) parsed += 1;
  const { user, system } = process.cpuUsage(began);
  return (user + system) / parsed;
}

/** CPU time in ms as it would have been at the usual speed; `parseUs` is what {@link parseEventUs} says now. */
export function atUsualSpeed(cpuMs: number, parseUs: number): number {
  return (cpuMs * USUAL_PARSE_US) / parseUs;
}
