import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { pino } from 'pino';
import { pollUntil } from '../../../cli/clusters/poll-until.ts';
import type { Span } from '../../../model/proxy/trace.ts';
import { isTracing, newSpanId, newTraceId, recordSpan, startTracing, traceSettings } from '../../../process/tracing.ts';
import { SILENT } from '../../support/doubles/scripted-api-server.ts';
import { SpanCollector } from '../../support/doubles/span-collector.ts';

const span = (name: string): Span =>
  ({ name, traceId: newTraceId(), spanId: newSpanId(), startMs: 1, endMs: 2, attributes: { a: 'b' } });

describe('settings of traces', () => {
  const none: readonly (readonly [string, Record<string, string>])[] = [
    ['nothing is set', {}], ['the endpoint is empty', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
    ['the SDK is disabled', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_SDK_DISABLED: 'true' }],
    ['no exporter is wanted', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_TRACES_EXPORTER: 'none' }],
  ];
  for (const [when, env] of none) {
    it(`are none when ${when}`, () => assert.equal(traceSettings(env, SILENT), undefined));
  }

  for (const [endpoint, variable] of [
    ['collector:4318', 'OTEL_EXPORTER_OTLP_ENDPOINT'], ['grpc://collector:4317', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'],
  ] as const) {
    it(`are none where ${variable} is ${endpoint}, and the log says which variable to correct`, () => {
      const lines: string[] = [];
      const logger = pino({}, { write: (line: string) => void lines.push(line) });
      assert.equal(traceSettings({ [variable]: endpoint }, logger), undefined);
      const [told, ...more] = lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
      assert.deepEqual([told?.['level'], told?.['variable'], more], [40, variable, []]);
      assert.match(String(told?.['msg']), /^tracing is off: .* http:\/\/HOST:PORT or https:\/\/HOST:PORT$/);
      traceSettings({ [variable]: endpoint, OTEL_SDK_DISABLED: 'true' }, logger);
      assert.equal(lines.length, 1, 'who wants no traces is not told');
    });
  }

  it('are those of OpenTelemetry: a path for the general endpoint, the own one as it is, headers decoded', () => {
    assert.deepEqual(traceSettings(
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/', OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20x,b=c=d' },
      SILENT,
    ), {
      endpoint: 'http://c:4318/v1/traces',
      headers: { authorization: 'Bearer x', b: 'c=d' }, resource: { 'service.name': 'isthmus' },
    });
    const { endpoint, resource } = traceSettings({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://own/x', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c',
      OTEL_SERVICE_NAME: 's', OTEL_RESOURCE_ATTRIBUTES: 'k8s.cluster.name=%zz',
    }, SILENT) ?? {};
    assert.deepEqual([endpoint, resource], ['https://own/x', { 'service.name': 's', 'k8s.cluster.name': '%zz' }]);
  });
});

describe('spans', () => {
  it('are sent in batches, the rest when tracing stops, and none before or after', async () => {
    const collector = await SpanCollector.start();
    recordSpan(span('before'));
    assert.equal(isTracing(), false);
    const tracing =
      startTracing({ endpoint: `${collector.url}/v1/traces`, headers: { authorization: 'x' }, resource: {} }, SILENT);
    for (let index = 0; index < 600; index += 1) recordSpan(span(`s${index}`));
    await tracing.stop();
    recordSpan(span('after'));
    assert.deepEqual(
      [collector.spans.length, collector.requests, collector.headers['authorization'], collector.spans[0]?.attributes],
      [600, 2, 'x', { a: 'b' }],
    );
    await collector.stop();
  });

  it('that nobody takes cost nothing but themselves: too many are dropped, a collector that refuses or is away is no ' +
    'error', async () => {
    const collector = await SpanCollector.start();
    collector.status = 503;
    const tracing = startTracing({ endpoint: `${collector.url}/v1/traces`, headers: {}, resource: {} }, SILENT);
    for (let index = 0; index < 3_000; index += 1) recordSpan(span('s'));
    await tracing.stop();
    assert.equal(collector.requests, 1, 'what it refused is not sent again');
    await collector.stop();
    const away = startTracing({ endpoint: 'http://127.0.0.1:1/v1/traces', headers: {}, resource: {} }, SILENT);
    recordSpan(span('s'));
    await away.stop();
  });

  it('that a collector refuses are told of once', async () => {
    const lines: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
    const collector = await SpanCollector.start();
    collector.status = 415;
    const tracing = startTracing({ endpoint: `${collector.url}/v1/traces`, headers: {}, resource: {} }, logger);
    recordSpan(span('s'));
    const isRefused = async () => collector.requests === 1 || undefined;
    await pollUntil(isRefused, { forMs: 20_000, everyMs: 20 }, new AbortController().signal);
    recordSpan(span('s'));
    await tracing.stop();
    assert.deepEqual([collector.requests, lines.map((line) => (JSON.parse(line) as { problem: string }).problem)], [
      2, ['status 415'],
    ]);
    await collector.stop();
  });

  it('are given up soon after tracing stops where a collector takes connections and answers nothing',
    { timeout: 20_000 }, async () => {
    let asked = 0;
    const silent = createServer((socket) => void socket.on('error', () => undefined).once('data', () => (asked += 1)));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const tracing = startTracing(
      { endpoint: `http://127.0.0.1:${(silent.address() as AddressInfo).port}/v1/traces`, headers: {}, resource: {} },
      SILENT,
    );
    for (let index = 0; index < 2_000; index += 1) recordSpan(span('s'));
    await tracing.stop();
    assert.equal(asked, 1, 'the batches after the first one are given up');
    silent.close();
    await once(silent, 'close');
  });
});
