// Exports spans of this process to a collector: OTLP over HTTP in JSON, configured by OpenTelemetry's environment
// variables. Recording never blocks and never fails; what the collector rejects is dropped and counted. Without an
// endpoint nothing is recorded.
import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { Logger } from 'pino';
import { toOtlp, type Span } from '../model/proxy/trace.ts';
import { messageOf } from './errors.ts';
import { counter } from './metrics.ts';

const exported = counter('isthmus_trace_spans_total', 'Spans by outcome.', ['outcome']);

/** The exporter's destination. */
export interface TraceSettings {
  /** http or https, with its path. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Resource attributes, `service.name` among them. */
  readonly resource: Readonly<Record<string, string>>;
}

interface Collector extends TraceSettings {
  readonly agent: Agent;
}

/** Queue length, batch size and export interval; export timeout; flush timeout at process exit. Times in ms. */
const LIMITS = { waiting: 2_048, batch: 512, everyMs: 1_000, timeoutMs: 5_000, stopMs: 2_000 };

let waiting: Span[] | undefined;

/** Whether spans are exported; if not, their attributes need not be computed. */
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

/** Queues a finished span; returns at once and never throws. */
export function recordSpan(span: Span): void {
  if (waiting === undefined) return;
  if (waiting.length < LIMITS.waiting) waiting.push(span);
  else exported.inc({ outcome: 'dropped' });
}

/** Starts exporting. The returned step flushes the queue at shutdown, for two seconds at most. */
export function startTracing(settings: TraceSettings, logger: Logger): { readonly stop: () => Promise<void> } {
  waiting = [];
  const agent = new Agent(
    { connect: { timeout: LIMITS.timeoutMs }, headersTimeout: LIMITS.timeoutMs, bodyTimeout: LIMITS.timeoutMs },
  );
  let sending: Promise<void> | undefined;
  let problem: string | undefined;
  const told = (now: string | undefined): void => {
    if (now !== undefined && now !== problem) logger.warn({ problem: now }, 'the collector takes no spans');
    problem = now;
  };
  const flush = (): Promise<void> => {
    sending ??= sendAll({ ...settings, agent }, told).finally(() => (sending = undefined));
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

/** `told` what came of each batch, which is a problem or none. */
async function sendAll(to: Collector, told: (problem: string | undefined) => void): Promise<void> {
  for (let batch = nextBatch(); batch.length > 0; batch = nextBatch()) {
    const problem = await send(to, batch);
    exported.inc({ outcome: problem === undefined ? 'sent' : 'failed' }, batch.length);
    told(problem);
    if (problem !== undefined) return;
  }
}

function nextBatch(): readonly Span[] {
  return waiting?.splice(0, LIMITS.batch) ?? [];
}

/** Why the collector rejected them. They are not retried: a missing collector must cost nothing. */
async function send(
  { endpoint, headers, resource, agent }: Collector, batch: readonly Span[],
): Promise<string | undefined> {
  try {
    const { statusCode, body } = await request(endpoint, {
      method: 'POST', headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(toOtlp(batch, resource)), dispatcher: agent,
    });
    await body.dump();
    return statusCode < 300 ? undefined : `status ${statusCode}`;
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * Settings from OpenTelemetry's variables (specification, "OTLP Exporter Configuration"); undefined when no endpoint is
 * set or `OTEL_SDK_DISABLED` is true, and, with a warning, when the endpoint cannot be one. A trace-specific variable
 * overrides the general one; the latter's path is extended by `/v1/traces`.
 */
export function traceSettings(
  env: Readonly<Record<string, string>>, logger: Logger,
): TraceSettings | undefined {
  if (env['OTEL_SDK_DISABLED'] === 'true' || env['OTEL_TRACES_EXPORTER'] === 'none') return undefined;
  const endpoint = endpointOf(env, logger);
  if (endpoint === undefined) return undefined;
  const headers = pairsOf(env['OTEL_EXPORTER_OTLP_TRACES_HEADERS'] ?? env['OTEL_EXPORTER_OTLP_HEADERS'] ?? '');
  const resource = {
    'service.name': 'isthmus', ...pairsOf(env['OTEL_RESOURCE_ATTRIBUTES'] ?? ''),
    ...(env['OTEL_SERVICE_NAME'] && { 'service.name': env['OTEL_SERVICE_NAME'] }),
  };
  return { endpoint, headers, resource };
}

function endpointOf(env: Readonly<Record<string, string>>, logger: Logger): string | undefined {
  const own = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] || undefined;
  const general = env['OTEL_EXPORTER_OTLP_ENDPOINT'] || undefined;
  const endpoint = own ?? (general && `${general.replace(/\/$/, '')}/v1/traces`);
  if (endpoint === undefined || (/^https?:\/\//.test(endpoint) && URL.canParse(endpoint))) return endpoint;
  const variable = own === undefined ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT';
  logger.warn({ variable }, 'tracing is off: this variable must be http://HOST:PORT or https://HOST:PORT');
  return undefined;
}

/** `a=b,c=d`, values percent-encoded (W3C Baggage). */
function pairsOf(text: string): Readonly<Record<string, string>> {
  const pairs = text.split(',').map((pair) => pair.split('=')).filter(
    ([key = '', ...value]) => key.trim() !== '' && value.length > 0,
  );
  return Object.fromEntries(pairs.map(([key = '', ...value]) => [key.trim(), decoded(value.join('=').trim())]));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
