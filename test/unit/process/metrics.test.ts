import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import '../../../gateway/status/tunnel-metrics.ts'; // registers the metrics of the gateway
import '../../../virtual-node/kubelet/kubelet-metrics.ts'; // and those of the kubelet API
import '../../../process/tracing.ts'; // and that of traces
import type { Registry } from 'prom-client';
import {
  informerMetrics, METRICS, metricsText, observeApiCall, queueMetrics, serveAlso,
} from '../../../process/metrics.ts';
import {
  deleteTargetMetrics, observeBound, observeCandidate, observeDecision, observeRejection, observeShown,
  setTargetMetrics,
} from '../../../process/placement-metrics.ts';
import { AdmissionMetrics } from '../../../webhook/server/admission-metrics.ts';

/** Compiled tests are one folder deeper than their sources. */
const root = new URL('../../../../', import.meta.url);
const line = async (start: string) => (await METRICS.metrics()).split('\n').find((each) => each.startsWith(start));

/** Name, type and labels of every metric of ours. */
async function registered(): Promise<readonly string[]> {
  const described = async (registry: Registry): Promise<readonly string[]> => {
    const types = new Map((await registry.getMetricsAsJSON()).map(({ name, type }) => [name, String(type)]));
    return registry.getMetricsAsArray().map((metric) => {
      const { name, labelNames } =
        metric as unknown as { readonly name: string; readonly labelNames: readonly string[] };
      return `${name} ${types.get(name)} ${labelNames.join(', ')}`.trim();
    });
  };
  return [...(await described(METRICS)), ...(await described(new AdmissionMetrics().registry))];
}

describe('metrics', () => {
  it('C2-37: are all explained in docs/metrics.md with their type and labels, and no others', async () => {
    const text = await readFile(new URL('docs/metrics.md', root), 'utf8');
    const documented = [...text.matchAll(/^\| `(\w+)` \| (\w+) \| ([\w, ]*) \|/gm)].map(
      ([, name, type, labels]) => `${name} ${type} ${labels}`.trim(),
    );
    assert.deepEqual(documented, (await registered()).toSorted());
  });

  it('are served with those of a server that has its own', async () => {
    const own = new AdmissionMetrics();
    serveAlso(own.registry);
    own.requestRejected('overload');
    const text = await metricsText();
    assert.ok(text.includes('isthmus_webhook_requests_rejected_total{cause="overload"} 1') && text.includes(
      '# TYPE isthmus_workqueue_adds_total counter',
    ));
  });

  it('tell of decisions and targets in base units, and forget a target that is gone', async () => {
    observeDecision('of-test', 5);
    observeBound(-3);
    observeRejection('ClusterTarget/test');
    observeCandidate('rejected', 1_500);
    observeShown(-3);
    setTargetMetrics('ClusterTarget/test', { isReady: true, rttMs: 4, free: { cpu: 1.5, pods: 7 } });
    assert.equal(
      await line('isthmus_scheduling_decision_duration_seconds_sum{outcome="of-test"}'),
      'isthmus_scheduling_decision_duration_seconds_sum{outcome="of-test"} 0.005',
    );
    assert.equal(
      await line('isthmus_scheduling_candidate_duration_seconds_sum{outcome="rejected"}'),
      'isthmus_scheduling_candidate_duration_seconds_sum{outcome="rejected"} 1.5',
    );
    assert.equal(
      await line('isthmus_delegation_pod_shown_duration_seconds_sum'),
      'isthmus_delegation_pod_shown_duration_seconds_sum 0',
    );
    assert.equal(
      await line('isthmus_target_round_trip_seconds'),
      'isthmus_target_round_trip_seconds{target="ClusterTarget/test"} 0.004',
    );
    assert.equal(
      await line('isthmus_target_free{target="ClusterTarget/test",resource="cpu"}'),
      'isthmus_target_free{target="ClusterTarget/test",resource="cpu"} 1.5',
    );
    setTargetMetrics('ClusterTarget/test', { isReady: false, rttMs: undefined, free: {} });
    for (const name of ['isthmus_target_round_trip_seconds{', 'isthmus_target_free{']) {
      assert.equal(await line(name), undefined, 'none is known any more');
    }
    setTargetMetrics('ClusterTarget/test', { isReady: true, rttMs: 4, free: { cpu: 1.5, pods: 7 } });
    const rejected = 'isthmus_scheduling_candidates_rejected_total{target="ClusterTarget/';
    assert.equal(await line(`${rejected}test"}`), `${rejected}test"} 1`);
    observeRejection('ClusterTarget/other');
    deleteTargetMetrics('ClusterTarget/test');
    for (const name of ['isthmus_target_ready{', 'isthmus_target_free{', 'isthmus_target_round_trip_seconds{',
      `${rejected}test`]) {
      assert.equal(await line(name), undefined);
    }
    assert.equal(await line(rejected), `${rejected}other"} 1`, 'that of others stays');
    deleteTargetMetrics('ClusterTarget/other');
  });

  it('take the time of calls in seconds', async () => {
    observeApiCall({ verb: 'get', resource: 'of-metrics-test', code: '200' }, 250);
    assert.equal(
      await line('isthmus_api_request_duration_seconds_sum{verb="get",resource="of-metrics-test",code="200"}'),
      'isthmus_api_request_duration_seconds_sum{verb="get",resource="of-metrics-test",code="200"} 0.25',
    );
  });

  it('add up the informers of one resource, and forget those that ended', async () => {
    const [one, two] = [informerMetrics('tests', () => 3), informerMetrics('tests', () => 4)];
    assert.equal(
      await line('isthmus_informer_objects{resource="tests"}'), 'isthmus_informer_objects{resource="tests"} 7',
    );
    one.listed();
    two.broke();
    one.ended();
    assert.equal(
      await line('isthmus_informer_objects{resource="tests"}'), 'isthmus_informer_objects{resource="tests"} 4',
    );
    assert.equal(
      await line('isthmus_informer_lists_total{resource="tests"}'), 'isthmus_informer_lists_total{resource="tests"} 1',
    );
    assert.equal(
      await line('isthmus_informer_watch_breaks_total{resource="tests"}'),
      'isthmus_informer_watch_breaks_total{resource="tests"} 1',
    );
  });

  it('add up the depths of queues of one name, while they are there', async () => {
    const [one, other] = [new AbortController(), new AbortController()];
    queueMetrics('queue-for-each-target', () => 3, one.signal);
    queueMetrics('queue-for-each-target', () => 4, other.signal);
    assert.equal(
      await line('isthmus_workqueue_depth{name="queue-for-each-target"}'),
      'isthmus_workqueue_depth{name="queue-for-each-target"} 7',
    );
    other.abort();
    assert.equal(
      await line('isthmus_workqueue_depth{name="queue-for-each-target"}'),
      'isthmus_workqueue_depth{name="queue-for-each-target"} 3',
    );
  });

  it('count the runs of a queue, and those that failed apart', async () => {
    const queue = queueMetrics('queue-of-metrics-test', () => 2, new AbortController().signal);
    queue.added();
    queue.started(500);
    queue.ended(1_500, 'failed');
    assert.equal(
      await line('isthmus_workqueue_retries_total{name="queue-of-metrics-test"}'),
      'isthmus_workqueue_retries_total{name="queue-of-metrics-test"} 1',
    );
    assert.equal(
      await line('isthmus_workqueue_depth{name="queue-of-metrics-test"}'),
      'isthmus_workqueue_depth{name="queue-of-metrics-test"} 2',
    );
    assert.equal(
      await line('isthmus_workqueue_work_duration_seconds_sum{name="queue-of-metrics-test"}'),
      'isthmus_workqueue_work_duration_seconds_sum{name="queue-of-metrics-test"} 1.5',
    );
  });
});
