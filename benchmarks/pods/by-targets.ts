// P1, P2 and P13 with 1, 3 and 10 real targets: the cost of a pod must not depend on their number. One sandbox per
// number, with audit logs, which make these figures a little slower than P1 and P13 alone.
import type { Benchmark, Measurement } from '../benchmark.ts';
import { withIsthmusUnderLoad } from '../load/isthmus-under-load.ts';
import { measureAlone } from './latency.ts';
import { measureWrites } from './requests.ts';
import { measureBursts, RAISED } from './throughput.ts';

const COUNTS = [1, 3, 10];
/** Nodes over all targets: room for two bursts. */
const NODES = 12;
const BURST = 200;

/** P1, P2 and P13 by the number of targets. */
export const BY_TARGETS: Benchmark = {
  id: 'PN',
  title: 'P1, P2 and P13 with several numbers of targets',
  async run(context, signal) {
    const measurements: Measurement[] = [];
    for (const targets of context.targets ?? COUNTS) {
      const shape = { targets, nodes: Math.max(2, Math.ceil(NODES / targets)), audit: true, clientQps: 2_000 };
      const measured = await withIsthmusUnderLoad(shape, context, async (under, stop) => [
        ...(await measureBursts(under, { ...context, limits: RAISED, mode: 'PodChaperon', size: BURST }, stop)),
        await measureWrites(under, { targets }, context, stop),
        ...(await measureAlone(under, context, stop)),
      ], signal);
      measurements.push(...measured.map((measurement) => withTargets(measurement, targets)));
    }
    return measurements;
  },
};

function withTargets(measurement: Measurement, targets: number): Measurement {
  return {
    ...measurement, variant: `${measurement.variant}-of-${targets}`,
    title: `${targets} ${targets === 1 ? 'target' : 'targets'}: ${measurement.title.replace(/, \d+ targets/, '')}`,
  };
}
