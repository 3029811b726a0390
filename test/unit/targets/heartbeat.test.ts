import assert from 'node:assert/strict';
import { beforeEach, describe, it, type TestContext } from 'node:test';
import type { ClusterSummary } from '../../../api/kinds/cluster-summary.ts';
import { Heartbeat, HEARTBEAT_TIMEOUT_MS } from '../../../targets/heartbeat.ts';

const NOW = Date.parse('2026-11-22T10:00:00Z');
const summary = (agoMs: number): ClusterSummary =>
  ({ metadata: {}, observed: { podsResourceVersion: '1', time: new Date(NOW - agoMs).toISOString() } });

describe('the heartbeat of a target', () => {
  let told: string[];
  let heartbeat: Heartbeat;
  const begin = (t: TestContext) => t.mock.timers.enable({ apis: ['setTimeout'] });
  beforeEach(() => {
    told = [];
    heartbeat = new Heartbeat(() => told.push(heartbeat.state));
    heartbeat.pause(); // before anything was heard it changes nothing
  });

  it('is there at once when the summary is fresh, and goes on with each new one', (t) => {
    begin(t);
    heartbeat.listen();
    heartbeat.observe(summary(50_000), NOW);
    for (let ago = -10_000; ago > -500_000; ago -= 60_000) {
      t.mock.timers.tick(60_000);
      heartbeat.observe(summary(ago), NOW - ago);
    }
    assert.deepEqual(told, ['alive']);
  });

  it('ends when nothing new comes, and begins again', (t) => {
    begin(t);
    heartbeat.listen();
    heartbeat.observe(summary(0), NOW);
    t.mock.timers.tick(HEARTBEAT_TIMEOUT_MS - 1);
    heartbeat.observe(summary(0), NOW + HEARTBEAT_TIMEOUT_MS); // the same once more: only the labels changed, say
    assert.deepEqual(told, ['alive']);
    t.mock.timers.tick(1);
    assert.deepEqual(told, ['alive', 'silent']);
    heartbeat.observe(summary(-HEARTBEAT_TIMEOUT_MS), NOW + HEARTBEAT_TIMEOUT_MS);
    assert.deepEqual(told, ['alive', 'silent', 'alive']);
  });

  it('is not known of an old summary until it was renewed, by whatever clock', (t) => {
    begin(t);
    heartbeat.listen();
    heartbeat.observe(summary(3_600_000), NOW);
    t.mock.timers.tick(60_000);
    assert.equal(heartbeat.state, 'unknown');
    heartbeat.observe(summary(3_540_000), NOW + 60_000); // its clock is an hour behind
    assert.deepEqual(told, ['alive']);
  });

  it('is not there when an old summary stays as it is, or there is none', (t) => {
    begin(t);
    heartbeat.listen();
    heartbeat.observe(summary(3_600_000), NOW);
    t.mock.timers.tick(HEARTBEAT_TIMEOUT_MS);
    assert.deepEqual(told, ['silent']);
    const other = new Heartbeat(() => told.push('other'));
    other.listen();
    t.mock.timers.tick(HEARTBEAT_TIMEOUT_MS);
    assert.equal(other.state, 'silent');
  });

  it('is not missed while nothing could be heard, nor right after that', (t) => {
    begin(t);
    heartbeat.listen();
    heartbeat.observe(summary(0), NOW);
    heartbeat.pause();
    t.mock.timers.tick(3_600_000);
    heartbeat.listen();
    t.mock.timers.tick(HEARTBEAT_TIMEOUT_MS - 1);
    assert.deepEqual(told, ['alive']);
  });

  it('is not that of ours where a controller tells no time, as Admiralty does, and is again once one of ours is heard',
    (t) => {
    begin(t);
    heartbeat.listen();
    heartbeat.observe({ metadata: {} }, NOW);
    t.mock.timers.tick(10 * HEARTBEAT_TIMEOUT_MS);
    heartbeat.observe(summary(0), NOW);
    heartbeat.observe({ metadata: {} }, NOW);
    assert.deepEqual(told, ['admiralty', 'alive', 'admiralty']);
  });
});
