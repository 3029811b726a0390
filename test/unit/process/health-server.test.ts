import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, it } from 'node:test';
import { request } from 'undici';
import { startHealthServer, type HealthServer, type ReadyChecks } from '../../../process/health-server.ts';
import { leaseMetric, queueMetrics } from '../../../process/metrics.ts';

describe('the health server', () => {
  let server: HealthServer | undefined;
  afterEach(() => server?.close());
  const get = async (path: string, checks: ReadyChecks = {}) => {
    server ??= await startHealthServer({ host: '127.0.0.1', port: 0, checks });
    const { statusCode, body } = await request(`http://127.0.0.1:${server.port}${path}`);
    return { status: statusCode, text: await body.text() };
  };
  afterEach(() => {
    server = undefined;
  });

  it('is alive while it answers, whatever is not ready', async () => {
    assert.deepEqual(await get('/healthz', { cache: () => false }), { status: 200, text: 'ok\n' });
  });

  it('is ready when every check holds, asked anew each time', async () => {
    let filled = false;
    const checks = { pods: () => filled, targets: () => true };
    assert.deepEqual(
      await get('/readyz', checks), { status: 503, text: '[-] pods not ready\n[+] targets ok\nnot ready\n' },
    );
    filled = true;
    assert.deepEqual(await get('/readyz'), { status: 200, text: '[+] pods ok\n[+] targets ok\nready\n' });
  });

  it('serves metrics of queues and leases', async () => {
    const metrics = queueMetrics('test-queue', () => 3, new AbortController().signal);
    metrics.added();
    metrics.started(20);
    metrics.ended(2_000, 'failed');
    leaseMetric('test-lease', () => true);
    const { text } = await get('/metrics');
    for (const line of [
      'isthmus_workqueue_depth{name="test-queue"} 3',
      'isthmus_workqueue_adds_total{name="test-queue"} 1',
      'isthmus_workqueue_retries_total{name="test-queue"} 1',
      'isthmus_workqueue_queue_duration_seconds_sum{name="test-queue"} 0.02',
      'isthmus_workqueue_work_duration_seconds_sum{name="test-queue"} 2',
      'isthmus_leading{lease="test-lease"} 1',
    ]) assert(text.split('\n').includes(line), `${line}\n${text}`);
  });

  it('waits for nobody who opened a connection and says nothing', { timeout: 10_000 }, async () => {
    const closing = await startHealthServer({ host: '127.0.0.1', port: 0, checks: {} });
    const silent = connect(closing.port, '127.0.0.1');
    silent.resume();
    await once(silent, 'connect');
    await request(`http://127.0.0.1:${closing.port}/healthz`).then(({ body }) => body.dump());
    await Promise.all([closing.close(), once(silent, 'close')]);
  });
});
