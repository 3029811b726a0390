import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import '../../../gateway/tunnel-metrics-client.ts'; // registers the metrics of the gateway
import '../../../virtual-node/kubelet-metrics-server.ts'; // and those of the kubelet API
import { informerMetrics, METRICS, observeApiCall, queueMetrics } from '../../../process/metrics.ts';

/** Compiled tests are one folder deeper than their sources. */
const root = new URL('../../../../', import.meta.url);
const line = async (start: string) => (await METRICS.metrics()).split('\n').find((each) => each.startsWith(start));

describe('metrics', () => {
  it('are all explained in docs/metrics.md with their type and labels, and no others', async () => {
    const text = await readFile(new URL('docs/metrics.md', root), 'utf8');
    const documented = [...text.matchAll(/^\| `(\w+)` \| (\w+) \| ([\w, ]+) \|/gm)].map(([, name, type, labels]) => `${name} ${type} ${labels}`);
    const registered = METRICS.getMetricsAsArray().map((metric) => {
      const { name, type, labelNames } = metric as unknown as { readonly name: string; readonly type: string; readonly labelNames: readonly string[] };
      return `${name} ${/_(seconds)$/.test(name) ? 'histogram' : type ?? (name.endsWith('_total') ? 'counter' : 'gauge')} ${labelNames.join(', ')}`;
    });
    assert.deepEqual(documented, registered.toSorted());
  });

  it('take the time of calls in seconds', async () => {
    observeApiCall({ verb: 'get', resource: 'of-metrics-test', code: '200' }, 250);
    assert.equal(await line('isthmus_api_request_duration_seconds_sum{verb="get",resource="of-metrics-test",code="200"}'), 'isthmus_api_request_duration_seconds_sum{verb="get",resource="of-metrics-test",code="200"} 0.25');
  });

  it('add up the informers of one resource, and forget those that ended', async () => {
    const [one, two] = [informerMetrics('tests', () => 3), informerMetrics('tests', () => 4)];
    assert.equal(await line('isthmus_informer_objects{resource="tests"}'), 'isthmus_informer_objects{resource="tests"} 7');
    one.listed();
    two.broke();
    one.ended();
    assert.equal(await line('isthmus_informer_objects{resource="tests"}'), 'isthmus_informer_objects{resource="tests"} 4');
    assert.equal(await line('isthmus_informer_lists_total{resource="tests"}'), 'isthmus_informer_lists_total{resource="tests"} 1');
    assert.equal(await line('isthmus_informer_watch_breaks_total{resource="tests"}'), 'isthmus_informer_watch_breaks_total{resource="tests"} 1');
  });

  it('count the runs of a queue, and those that failed apart', async () => {
    const queue = queueMetrics('queue-of-metrics-test', () => 2);
    queue.added();
    queue.started(500);
    queue.ended(1_500, 'failed');
    assert.equal(await line('isthmus_workqueue_retries_total{name="queue-of-metrics-test"}'), 'isthmus_workqueue_retries_total{name="queue-of-metrics-test"} 1');
    assert.equal(await line('isthmus_workqueue_depth{name="queue-of-metrics-test"}'), 'isthmus_workqueue_depth{name="queue-of-metrics-test"} 2');
    assert.equal(await line('isthmus_workqueue_work_duration_seconds_sum{name="queue-of-metrics-test"}'), 'isthmus_workqueue_work_duration_seconds_sum{name="queue-of-metrics-test"} 1.5');
  });
});
