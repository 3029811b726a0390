// Spans of this process on their way to a collector: OTLP over HTTP in JSON, configured by OpenTelemetry's environment variables. Telling never
// waits and never fails; what a collector does not take is dropped and counted. Without an endpoint nothing is recorded.
import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { Logger } from 'pino';
import { Counter } from 'prom-client';
import { toOtlp, type Span } from '../model/proxy/trace.ts';
import { messageOf } from './errors.ts';
import { METRICS } from './metrics.ts';

const exported = new Counter({ name: 'isthmus_trace_spans_total', help: 'Spans by what became of them.', labelNames: ['outcome'], registers: [METRICS] });

/** Where spans go. */
export interface TraceSettings {
  /** http or https, with its path. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Attributes of the resource, `service.name` among them. */
  readonly resource: Readonly<Record<string, string>>;
}

interface Collector extends TraceSettings {
  readonly agent: Agent;
}

/** Spans that wait at most, that are sent at once, and how often; how long a collector may take; how long the end of a process waits for it; in ms. */
const LIMITS = { waiting: 2_048, batch: 512, everyMs: 1_000, timeoutMs: 5_000, stopMs: 2_000 };

let waiting: Span[] | undefined;

/** Whether anybody wants spans: what they are made of need not be gathered otherwise. */
export function isTracing(): boolean {
  return waiting !== undefined;
}

/** 32 hex digits (W3C Trace Context §3.2.2.3). */
export function newTraceId(): string {
  return randomBytes(16).toString('hex');
}

/** 16 hex digits (W3C Trace Context §3.2.2.4). */
export function newSpanId(): string {
  return randomBytes(8).toString('hex');
}

/** Takes a finished span; returns at once and never throws. */
export function recordSpan(span: Span): void {
  if (waiting === undefined) return;
  if (waiting.length < LIMITS.waiting) waiting.push(span);
  else exported.inc({ outcome: 'dropped' });
}

/** Sends what is recorded from now on; the step sends the rest, and gives up what a collector does not take within two seconds. */
export function startTracing(settings: TraceSettings, logger: Logger): { readonly stop: () => Promise<void> } {
  waiting = [];
  const agent = new Agent({ connect: { timeout: LIMITS.timeoutMs }, headersTimeout: LIMITS.timeoutMs, bodyTimeout: LIMITS.timeoutMs });
  let sending: Promise<void> | undefined;
  const flush = (): Promise<void> => {
    sending ??= sendAll({ ...settings, agent }, logger).finally(() => (sending = undefined));
    return sending;
  };
  const timer = setInterval(() => void flush(), LIMITS.everyMs);
  timer.unref();
  const stop = async (): Promise<void> => {
    clearInterval(timer);
    const rest = Promise.resolve(sending).then(flush);
    await Promise.race([rest, setTimeout(LIMITS.stopMs, undefined, { ref: false })]);
    waiting = undefined;
    await agent.destroy();
    await rest;
  };
  return { stop };
}

async function sendAll(to: Collector, logger: Logger): Promise<void> {
  for (let batch = nextBatch(); batch.length > 0; batch = nextBatch()) {
    const problem = await send(to, batch);
    exported.inc({ outcome: problem === undefined ? 'sent' : 'failed' }, batch.length);
    if (problem !== undefined) return logger.debug({ problem, spans: batch.length }, 'spans were not taken');
  }
}

function nextBatch(): readonly Span[] {
  return waiting?.splice(0, LIMITS.batch) ?? [];
}

/** Why the collector did not take them. They are not sent again: a collector that is away must cost nothing. */
async function send({ endpoint, headers, resource, agent }: Collector, batch: readonly Span[]): Promise<string | undefined> {
  try {
    const { statusCode, body } = await request(endpoint, { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(toOtlp(batch, resource)), dispatcher: agent });
    await body.dump();
    return statusCode < 300 ? undefined : `status ${statusCode}`;
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * What OpenTelemetry's variables ask for (specification, "OTLP Exporter Configuration"); undefined where no endpoint is set or `OTEL_SDK_DISABLED`
 * is true. A variable of the traces alone goes before the general one; the latter gets the path `/v1/traces`.
 */
export function traceSettings(env: Readonly<Record<string, string>>): TraceSettings | undefined {
  const endpoint = endpointOf(env);
  if (endpoint === undefined || env['OTEL_SDK_DISABLED'] === 'true' || env['OTEL_TRACES_EXPORTER'] === 'none') return undefined;
  const headers = pairsOf(env['OTEL_EXPORTER_OTLP_TRACES_HEADERS'] ?? env['OTEL_EXPORTER_OTLP_HEADERS'] ?? '');
  const resource = { 'service.name': 'isthmus', ...pairsOf(env['OTEL_RESOURCE_ATTRIBUTES'] ?? ''), ...(env['OTEL_SERVICE_NAME'] && { 'service.name': env['OTEL_SERVICE_NAME'] }) };
  return { endpoint, headers, resource };
}

function endpointOf(env: Readonly<Record<string, string>>): string | undefined {
  const own = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] || undefined;
  const general = env['OTEL_EXPORTER_OTLP_ENDPOINT'] || undefined;
  const endpoint = own ?? (general && `${general.replace(/\/$/, '')}/v1/traces`);
  return endpoint !== undefined && /^https?:\/\//.test(endpoint) && URL.canParse(endpoint) ? endpoint : undefined;
}

/** `a=b,c=d`, values percent-encoded (W3C Baggage). */
function pairsOf(text: string): Readonly<Record<string, string>> {
  const pairs = text.split(',').map((pair) => pair.split('=')).filter(([key = '', ...value]) => key.trim() !== '' && value.length > 0);
  return Object.fromEntries(pairs.map(([key = '', ...value]) => [key.trim(), decoded(value.join('=').trim())]));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
