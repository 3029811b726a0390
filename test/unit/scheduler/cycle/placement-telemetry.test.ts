// What is measured of placement. A wrong figure is not seen by anybody until an alert is built on it.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { METRICS } from '../../../../process/metrics.ts';
import { PodState } from '../../../../scheduler/cycle/pod-state.ts';
import { recordBound, recordCandidate } from '../../../../scheduler/cycle/placement-telemetry.ts';
import { aProxyRecord, withMetadata } from '../../../support/objects/builders.ts';

const BOUND = 'isthmus_scheduling_pod_bound_duration_seconds';
const CANDIDATE = 'isthmus_scheduling_candidate_duration_seconds';
const NOW = Date.parse('2026-01-01T00:01:00Z');

/** Count and sum of a histogram, for one outcome or for all. */
async function measured(name: string, outcome?: string): Promise<readonly [count: number, sum: number]> {
  const { values = [] } = await METRICS.getSingleMetric(name)?.get() ?? {};
  const of = (suffix: string) => values.filter((value) => 'metricName' in value && value.metricName === name + suffix)
    .filter(({ labels }) => outcome === undefined || labels['outcome'] === outcome)
    .reduce((sum, { value }) => sum + value, 0);
  return [of('_count'), of('_sum')];
}

/** What an action adds to a histogram. */
async function added(t: TestContext, name: string, act: () => void, outcome?: string) {
  const [count, sum] = await measured(name, outcome);
  const { mock: clock } = t.mock.method(Date, 'now', () => NOW);
  act();
  clock.restore(); // two that replace one another are not restored in order
  const [after, total] = await measured(name, outcome);
  return [after - count, Math.round((total - sum) * 1e6) / 1e6];
}

const madeAgo = (ms: number) =>
  aProxyRecord(withMetadata({ creationTimestamp: new Date(NOW - ms).toISOString() }));
const sentAgo = (ms: number | undefined): PodState => {
  const podState = new PodState('u');
  podState.candidateSince = ms === undefined ? undefined : NOW - ms;
  return podState;
};

describe('placement is measured', () => {
  it('from the creation of a pod to its bind', async (t) => assert.deepEqual(
    await added(t, BOUND, () => recordBound(madeAgo(3_000), sentAgo(500), 'a')), [1, 3],
  ));
  it('never as less than nothing, where the clock of the API server is ahead', async (t) => assert.deepEqual(
    await added(t, BOUND, () => recordBound(madeAgo(-9_000), sentAgo(500), 'a')), [1, 0],
  ));
  it('from the create of a candidate to its bind', async (t) => assert.deepEqual(
    await added(t, CANDIDATE, () => recordBound(madeAgo(3_000), sentAgo(500), 'a'), 'bound'), [1, 0.5],
  ));
  it('from the create of a candidate to the no of its target', async (t) => assert.deepEqual(
    await added(t, CANDIDATE, () => recordCandidate(madeAgo(0), sentAgo(2_000), { target: 'a', error: 'no' }),
      'rejected'),
    [1, 2],
  ));
  it('apart for both', async (t) => assert.deepEqual(
    await added(t, CANDIDATE, () => recordCandidate(madeAgo(0), sentAgo(2_000), { target: 'a', error: '' }), 'bound'),
    [0, 0],
  ));
  it('not for a candidate that an earlier process has sent: its start is unknown', async (t) => {
    assert.deepEqual(
      await added(t, CANDIDATE, () => recordBound(madeAgo(3_000), sentAgo(undefined), 'a')), [0, 0],
    );
    assert.deepEqual(await added(t, BOUND, () => recordBound(madeAgo(3_000), sentAgo(undefined), 'a')), [1, 3]);
  });
});
